"""A prompt becomes an answer: checks, the prompt's ids, and what to keep when the context is full."""

from collections.abc import Sequence

from whygpu.engine import UserError
from whygpu.think.chat import Message, conversation, prompt_text
from whygpu.think.generation import Generation, Rules
from whygpu.think.model import Model
from whygpu.think.prefix import common
from whygpu.think.sampling import Sampler

__all__ = ["as_chat", "generate", "kept", "prompt_ids", "rules_for"]

SINKS = 4
"""First tokens that a sliding raw text keeps: attention leans on them (Xiao et al. 2023, StreamingLLM)."""


def generate(
    model: Model,
    prompt: str | Sequence[Message],
    *,
    max_tokens: int = 64,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repeat_penalty: float = 1.0,
    seed: int = 0,
    chat: bool | None = None,
    system: str | None = None,
    stop: Sequence[str] = (),
    context: int | None = None,
    slide: bool = False,
    candidates: int = 0,
) -> Generation:
    """Answer a prompt, token by token.

    Parameters
    ----------
    prompt
        The user's words, or the turns of a conversation so far.
    temperature, top_k, top_p, min_p, repeat_penalty, seed
        As ``Sampler`` explains them; temperature 0 is greedy.
    chat
        True: put the prompt into the file's chat template; False: continue the raw text; None: the first
        where the file has a template, else the second.
    system
        The system message of the conversation; needs a chat template.
    stop
        Texts that end the answer; they are not part of it.
    context
        The most tokens, prompt and answer together; None: as many as the model was made for.
    slide
        What to do when the context is full: False ends the answer; True drops the older half of the tokens
        but for the first ones (up to the first user's words in a chat, four in a raw text), computes the rest
        anew and goes on.
    candidates
        How many of the likeliest next tokens each step shows with their probabilities.

    Raises
    ------
    UserError
        Before anything is computed: an empty prompt, one longer than the context, an impossible value.
    """
    sampler = Sampler(temperature, top_k, top_p, min_p, repeat_penalty, seed)
    rules = rules_for(
        model, max_tokens=max_tokens, stop=stop, context=context, slide=slide, candidates=candidates,
        keep=kept(model, prompt, chat, system) if slide else 0,
    )  # fmt: skip
    return Generation(model, prompt_ids(model, prompt, chat, system), sampler, rules)


def rules_for(
    model: Model,
    *,
    max_tokens: int = 64,
    stop: Sequence[str] = (),
    context: int | None = None,
    slide: bool = False,
    candidates: int = 0,
    keep: int = 0,
) -> Rules:
    """The rules of an answer of this model, as ``generate`` explains them.

    Raises
    ------
    UserError
        For a context that the model has not, or another impossible value.
    """
    own = model.architecture.context
    limit = own if context is None else context
    if not 1 <= limit <= own:
        raise UserError(
            f"context: {limit} is not possible; {model.architecture.name} has room for 1 to {own}"
        )
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    return Rules(max_tokens, limit, stops, slide, keep, candidates)


def prompt_ids(
    model: Model, prompt: str | Sequence[Message], chat: bool | None, system: str | None
) -> list[int]:
    """The token ids that the model is to continue.

    Raises
    ------
    UserError
        For nothing to say, text that is not Unicode, or a chat with a model that has no template.
    """
    if isinstance(prompt, str) and not prompt.strip():
        raise UserError("the prompt is empty; give the model something to answer")
    if not isinstance(prompt, str) and not prompt:
        raise UserError("the conversation is empty; give it at least one turn")
    for text in (system or "", *([prompt] if isinstance(prompt, str) else [m["content"] for m in prompt])):
        _check_text(text)
    if as_chat(model, prompt, chat, system):
        return model.tokenizer.encode(prompt_text(model, conversation(prompt, system)), bos=False)
    if system is not None or not isinstance(prompt, str):
        raise UserError("system messages and conversations need the chat template; drop chat=False (--raw)")
    return model.tokenizer.encode(prompt)


def as_chat(model: Model, prompt: str | Sequence[Message], chat: bool | None, system: str | None) -> bool:
    """Whether the prompt goes into the chat template, which must then be there."""
    if chat is None:
        return model.chat_template is not None or system is not None or not isinstance(prompt, str)
    return chat


def _check_text(text: str) -> None:
    """Text from a terminal may carry bytes that are no UTF-8, as lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(f"the prompt is not UTF-8 text (character {error.start + 1})") from error


def kept(model: Model, prompt: str | Sequence[Message], chat: bool | None, system: str | None) -> int:
    """How many tokens come before the first user's words: the system message and the template's own."""
    if not as_chat(model, prompt, chat, system):
        return SINKS
    turns = conversation(prompt, system)
    before = [turn for turn in turns[:1] if turn["role"] == "system"]
    forms = [
        model.tokenizer.encode(prompt_text(model, [*before, {"role": "user", "content": words}]), bos=False)
        for words in ("a", "b")
    ]
    return common(*forms)
