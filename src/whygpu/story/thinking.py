"""Step 4: a real language model answers the question, token by token."""

from collections.abc import Callable

from whygpu import think
from whygpu.engine import Backend, Progress, UserError
from whygpu.story.results import Thinking

__all__ = ["QUESTION", "answer", "load_model", "warm_up"]

QUESTION = "Why do LLMs need GPUs?"


def load_model(name: str | None, backend: Backend, progress: Progress, dtype: str = "float32") -> think.Model:
    """The model asked for; without a name the default, or, where none can be had, an invented one.

    Raises
    ------
    UserError
        When a model was named and cannot be had, or the backend cannot think in bearable time.
    """
    if backend.name == "python":
        raise UserError(
            "--device python multiplies one number at a time: a token takes minutes; add --no-think"
        )
    if name is not None:
        return think.load(name, backend=backend, progress=progress, dtype=dtype)
    return think.load_or_invent(backend=backend, progress=progress, dtype=dtype)


def warm_up(model: think.Model) -> None:
    """Think two tokens that nobody hears, so that loading or compiling kernels is not counted as thinking."""
    for _ in think.generate(model, QUESTION, max_tokens=2):
        pass


def answer(
    model: think.Model,
    *,
    prompt: str,
    max_tokens: int,
    bandwidth: float,
    load_seconds: float,
    tell: Callable[[str], None],
) -> Thinking:
    """Generate greedily, telling each piece of text as it comes.

    ``bandwidth`` is the measured read bandwidth in bytes/s, for the share that decoding reaches.
    """
    generation = think.generate(model, prompt, max_tokens=max_tokens, temperature=0.0)
    for token in generation:
        tell(token.text)
    statistics = generation.statistics
    decode_rate = statistics.decode_tokens_per_second
    bytes_per_token = statistics.bytes_read_per_token
    return Thinking(
        model=model.architecture.name,
        source=model.source,
        invented=model.invented,
        parameters=model.architecture.parameters,
        prompt=prompt,
        text=generation.text.strip(),
        prompt_tokens=statistics.prompt_tokens,
        generated_tokens=statistics.generated_tokens,
        load_seconds=load_seconds,
        prefill_seconds=statistics.prefill_seconds,
        decode_seconds=statistics.decode_seconds,
        prefill_tokens_per_second=statistics.prefill_tokens_per_second,
        decode_tokens_per_second=decode_rate,
        bytes_per_token=bytes_per_token,
        bandwidth_share=bytes_per_token * decode_rate / bandwidth,
        ended=statistics.finish or "length",
    )
