"""A prompt becomes text: prefill once, then one token at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal, NamedTuple

import numpy as np

from whygpu import engine, models
from whygpu.engine import UserError
from whygpu.models import PREFILL_CHUNK
from whygpu.think.cache import Cache
from whygpu.think.chat import Message, conversation, prompt_text
from whygpu.think.model import Model
from whygpu.think.sampling import Sampler
from whygpu.think.streaming import TextStream
from whygpu.think.transformer import forward

__all__ = ["Generation", "Statistics", "Token", "decode_one_token", "generate", "logits", "prefill"]

FLOAT = 4
"""Bytes of a float32: what weights and cache are held in."""

Finish = Literal["stop", "length", "context"]


def prefill(model: Model, ids: Sequence[int], cache: Cache) -> Any:
    """Push a whole prompt through, many tokens at once: bound by arithmetic.

    Returns (vocab,) NumPy scores of the token after it.
    """
    backend = engine.current()
    with engine.scope("think", "prefill"):
        for start in range(0, len(ids), PREFILL_CHUNK):
            part = backend.asarray([list(ids[start : start + PREFILL_CHUNK])], dtype="int64")  # (1, T)
            last = start + PREFILL_CHUNK >= len(ids)
            scores = forward(model, part, cache, logits="last" if last else "none")
        return backend.to_numpy(scores[0, :])


def decode_one_token(model: Model, token: int, cache: Cache) -> Any:
    """Push one token through, reading every weight for it: bound by memory.

    Returns (vocab,) NumPy scores of the token after it.
    """
    backend = engine.current()
    with engine.scope("think", "decode"):
        scores = forward(model, backend.asarray([[token]], dtype="int64"), cache)  # (1, vocab)
        return backend.to_numpy(scores[0, :])


def logits(model: Model, ids: Sequence[int]) -> Any:
    """The scores of every next token after each of ``ids``: (T, vocab) float32 NumPy.

    Raises
    ------
    UserError
        For no ids, ids outside the vocabulary, or more than the model's context.
    """
    _check_ids(model, ids, model.architecture.context + 1)
    with engine.using(model.backend) as backend, engine.scope("think", "prefill"):
        cache = Cache(model.architecture, len(ids))
        parts = []
        for start in range(0, len(ids), PREFILL_CHUNK):
            part = backend.asarray([list(ids[start : start + PREFILL_CHUNK])], dtype="int64")
            parts.append(backend.to_numpy(forward(model, part, cache, logits="all")[0, :, :]))
        return np.concatenate(parts, axis=0)


class Token(NamedTuple):
    """One step of an answer."""

    id: int
    text: str
    """What can be shown now; empty while a character or a stop string is incomplete."""
    probability: float
    """That the model itself gives this token, before temperature and filters."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What an answer took; complete once the iteration has ended."""

    prompt_tokens: int
    generated_tokens: int = 0
    decode_steps: int = 0
    """Passes of one token; the first generated token comes from the prefill."""
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    """Of the decode steps, sampling included."""
    bytes_read_per_token: float = 0.0
    """Weights and K/V cache that a decode step reads, as executed, on average."""
    finish: Finish | None = None
    """Why it ended: the model's end token or a stop string, ``max_tokens``, or a full context."""

    @property
    def prefill_tokens_per_second(self) -> float:
        """Prompt tokens over the prefill's time."""
        return self.prompt_tokens / self.prefill_seconds if self.prefill_seconds else 0.0

    @property
    def decode_tokens_per_second(self) -> float:
        """Decode steps over their time."""
        return self.decode_steps / self.decode_seconds if self.decode_seconds else 0.0


class Generation(Iterator[Token]):
    """An answer as it comes: iterate over its tokens, then read ``text`` and ``statistics``."""

    def __init__(
        self,
        model: Model,
        ids: list[int],
        sampler: Sampler,
        *,
        max_tokens: int,
        stop: Sequence[str],
        limit: int,
    ) -> None:
        self.model = model
        self.prompt_ids = tuple(ids)
        self.ids: list[int] = []
        """Generated so far, the end token included."""
        self.text = ""
        self.statistics = Statistics(prompt_tokens=len(ids))
        self._sampler, self._stream = sampler, TextStream(stop)
        self._max_tokens, self._limit = max_tokens, limit
        self._cache: Cache | None = None
        self._bytes_read = 0.0

    def __iter__(self) -> "Generation":
        return self

    def __next__(self) -> Token:
        if self.statistics.finish is not None:
            raise StopIteration
        with engine.using(self.model.backend):
            token, probability = self._step()
        self.ids.append(token)
        if token in self.model.tokenizer.ends:
            return self._last(token, self._stream.flush(), probability, "stop")
        text = self._stream.push(self.model.tokenizer.bytes_of(token))
        self.statistics = replace(self.statistics, generated_tokens=len(self.ids))
        if self._stream.stopped:
            return self._last(token, text, probability, "stop")
        if len(self.ids) >= self._max_tokens:
            return self._last(token, text + self._stream.flush(), probability, "length")
        if len(self.prompt_ids) + len(self.ids) >= self._limit:
            return self._last(token, text + self._stream.flush(), probability, "context")
        self.text += text
        return Token(token, text, probability)

    def _last(self, token: int, text: str, probability: float, finish: Finish) -> Token:
        self.statistics = replace(self.statistics, finish=finish)
        self._cache = None  # its memory is not needed any more
        self.text += text
        return Token(token, text, probability)

    def _step(self) -> tuple[int, float]:
        """Prefill or decode, then choose; keeps the books."""
        started = perf_counter()
        before = self.statistics
        if self._cache is None:
            capacity = min(self._limit, len(self.prompt_ids) + self._max_tokens)
            self._cache = Cache(self.model.architecture, capacity)
            token, probability = self._choose(prefill(self.model, self.prompt_ids, self._cache), "prefill")
            self.statistics = replace(
                before, prefill_seconds=perf_counter() - started, bytes_read_per_token=self._bytes()
            )
            return token, probability
        token, probability = self._choose(decode_one_token(self.model, self.ids[-1], self._cache), "decode")
        steps = before.decode_steps + 1
        self._bytes_read += self._bytes()
        self.statistics = replace(
            before,
            decode_steps=steps,
            decode_seconds=before.decode_seconds + perf_counter() - started,
            bytes_read_per_token=self._bytes_read / steps,
        )
        return token, probability

    def _choose(self, scores: Any, stage: str) -> tuple[int, float]:
        real = scores[
            : len(self.model.tokenizer)
        ]  # an embedding table may have more rows than there are tokens
        with engine.scope("think", stage), engine.other("sampling", size=FLOAT * len(real)):
            return self._sampler.choose(real, [*self.prompt_ids, *self.ids])

    def _bytes(self) -> float:
        """What a decode step that ends with this cache reads."""
        past = self._cache.length if self._cache is not None else 0
        return models.bytes_per_token(
            self.model.architecture, past=past, bits_per_weight=8 * FLOAT, bytes_per_value=FLOAT
        )


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
    chat: bool = True,
    system: str | None = None,
    stop: Sequence[str] = (),
    context: int | None = None,
) -> Generation:
    """Answer a prompt, token by token.

    Parameters
    ----------
    prompt
        The user's words, or the turns of a conversation so far.
    temperature, top_k, top_p, min_p, repeat_penalty, seed
        As ``Sampler`` explains them; temperature 0 is greedy.
    chat
        Put the prompt into the file's chat template. A model without one continues the raw text.
    system
        The system message of the conversation; needs a chat template.
    stop
        Texts that end the answer; they are not part of it.
    context
        The most tokens, prompt and answer together; None: as many as the model was made for.

    Raises
    ------
    UserError
        Before anything is computed: an empty prompt, one longer than the context, an impossible value.
    """
    sampler = Sampler(temperature, top_k, top_p, min_p, repeat_penalty, seed)
    if max_tokens < 1:
        raise UserError(f"max_tokens: {max_tokens} is not possible; it must be 1 or more")
    if any(not text for text in stop):
        raise UserError("stop: an empty text would stop everything; give one or more characters")
    own = model.architecture.context
    limit = own if context is None else context
    if not 1 <= limit <= own:
        raise UserError(
            f"context: {limit} is not possible; {model.architecture.name} has room for 1 to {own}"
        )
    ids = _prompt_ids(model, prompt, chat, system)
    _check_ids(model, ids, limit)
    return Generation(model, ids, sampler, max_tokens=max_tokens, stop=stop, limit=limit)


def _prompt_ids(model: Model, prompt: str | Sequence[Message], chat: bool, system: str | None) -> list[int]:
    if isinstance(prompt, str) and not prompt.strip():
        raise UserError("the prompt is empty; give the model something to answer")
    if not isinstance(prompt, str) and not prompt:
        raise UserError("the conversation is empty; give it at least one turn")
    if chat and (model.chat_template is not None or system is not None or not isinstance(prompt, str)):
        text = prompt_text(model, conversation(prompt, system))
        return model.tokenizer.encode(text, bos=False)  # the template writes it where it belongs
    if system is not None or not isinstance(prompt, str):
        raise UserError("system messages and conversations need the chat template; drop chat=False (--raw)")
    return model.tokenizer.encode(prompt)


def _check_ids(model: Model, ids: Sequence[int], limit: int) -> None:
    """There must be some, in the vocabulary, and room for one more."""
    if not ids:
        raise UserError("the prompt has no tokens; give the model something to answer")
    if len(ids) >= limit:
        raise UserError(f"the prompt has {len(ids)} tokens; a context of {limit} has room for {limit - 1}")
    outside = [token for token in ids if not 0 <= token < model.architecture.vocab]
    if outside:
        raise UserError(f"token {outside[0]} is outside the vocabulary of {model.architecture.vocab}")
