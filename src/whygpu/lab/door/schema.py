"""What requests of the OpenAI format may say. A field that is not listed is refused by its name.

Source: OpenAI's API reference (platform.openai.com/docs/api-reference), of which this is the part that one
text model serves. Beyond it: ``top_k``, ``min_p`` and ``repeat_penalty``, as ``think.Sampler`` explains them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ChatRequest", "CompletionRequest", "EmbeddingRequest", "Part", "Turn"]

Texts = Annotated[list[str], Field(max_length=4)]


class Strict(BaseModel):
    """Unknown fields are an error, not a silence."""

    model_config = ConfigDict(extra="forbid")


class Part(Strict):
    """A piece of a message."""

    type: Literal["text"]
    text: str


class Turn(Strict):
    """A message of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[Part]
    name: str | None = Field(None, description="Accepted, not used.")

    @property
    def words(self) -> str:
        """The content as one text."""
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class StreamOptions(Strict):
    """What a stream carries beside the text."""

    include_usage: bool = False
    include_obfuscation: bool | None = Field(None, description="Accepted, not used.")


class ResponseFormat(Strict):
    """Text alone."""

    type: Literal["text"]


class Choosing(Strict):
    """What completions and chats have in common."""

    model: str
    temperature: float | None = Field(1.0, ge=0, le=100, description="0: the likeliest token.")
    top_p: float | None = Field(1.0, gt=0, le=1)
    top_k: int | None = Field(0, ge=0, description="0: all. Not in OpenAI's format.")
    min_p: float | None = Field(0.0, ge=0, le=1, description="Not in OpenAI's format.")
    repeat_penalty: float | None = Field(1.0, gt=0, le=100, description="1: none. Not in OpenAI's format.")
    seed: int | None = Field(
        None, description="The same seed gives the same answer; none: a new one each time."
    )
    stop: str | Texts | None = Field(None, description="Up to four texts that end the answer.")
    max_tokens: int | None = Field(None, ge=1)
    n: Literal[1] | None = 1
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    presence_penalty: float | None = Field(0.0, ge=0, le=0, description="Only 0; use repeat_penalty.")
    frequency_penalty: float | None = Field(0.0, ge=0, le=0, description="Only 0; use repeat_penalty.")
    user: str | None = Field(None, description="Accepted, not used.")

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts that end the answer."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())


class CompletionRequest(Choosing):
    """``POST /v1/completions``: continue a text."""

    prompt: str | list[str] | list[int] | None = Field(None, description="One text, or its token ids.")
    logprobs: int | None = Field(None, ge=0, le=5)
    echo: Literal[False] | None = False
    best_of: Literal[1] | None = 1
    suffix: None = None


class ChatRequest(Choosing):
    """``POST /v1/chat/completions``: answer the last message."""

    messages: list[Turn] = Field(min_length=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    logprobs: bool | None = False
    top_logprobs: int | None = Field(None, ge=0, le=20)
    response_format: ResponseFormat | None = None
    metadata: dict[str, Any] | None = Field(None, description="Accepted, not used.")
    store: Literal[False] | None = None


class EmbeddingRequest(Strict):
    """``POST /v1/embeddings``: texts as vectors."""

    model: str
    input: str | list[str] | list[int] | list[list[int]]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(None, description="Only the model's own.")
    user: str | None = Field(None, description="Accepted, not used.")
