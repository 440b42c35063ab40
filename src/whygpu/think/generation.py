"""An answer as it comes: prefill once, then one token at a time, until something ends it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal, NamedTuple

from whygpu import engine
from whygpu.engine import UserError
from whygpu.think.model import Model
from whygpu.think.passes import FLOAT, bytes_read, check_ids
from whygpu.think.prefix import PrefixCache
from whygpu.think.sampling import Odds, Sampler
from whygpu.think.streaming import TextStream

__all__ = ["Candidate", "Generation", "Rules", "Statistics", "Token"]

Finish = Literal["stop", "length", "context", "interrupted"]


class Candidate(NamedTuple):
    """A token that could have come next."""

    id: int
    text: str
    """Control tokens are written out; bytes that are no whole character are U+FFFD."""
    probability: float
    """That the model itself gives it."""
    chance: float
    """Of being drawn, after penalty, temperature and filters."""


class Token(NamedTuple):
    """One step of an answer."""

    id: int
    text: str
    """What can be shown now; empty while a character or a stop string is incomplete."""
    probability: float
    """That the model itself gives this token, before temperature and filters."""
    candidates: tuple[Candidate, ...] = ()
    """The likeliest tokens of this step, likeliest first, where they were asked for."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What an answer took; complete once the iteration has ended."""

    prompt_tokens: int
    generated_tokens: int = 0
    """Tokens of the answer, without the one that ends it."""
    reused_tokens: int = 0
    """Of the prompt: their keys and values were in the cache already."""
    prefill_tokens: int = 0
    """Pushed through many at once: the rest of the prompt, and what a slide made new."""
    decode_steps: int = 0
    """Passes of one token; the first generated token comes from the prefill."""
    slides: int = 0
    """How often the context was full and its oldest tokens were dropped."""
    prefill_seconds: float = 0.0
    """Choosing the token after it included."""
    decode_seconds: float = 0.0
    """Of the decode steps, sampling included."""
    bytes_read_per_token: float = 0.0
    """Weights and K/V cache that a decode step reads, as executed, at the mean length of the cache."""
    finish: Finish | None = None
    """Why it ended: the model's end token or a stop string, ``max_tokens``, a full context, or ``stop()``."""

    @property
    def prefill_tokens_per_second(self) -> float:
        """Tokens pushed through in prefills over their time."""
        return self.prefill_tokens / self.prefill_seconds if self.prefill_seconds else 0.0

    @property
    def decode_tokens_per_second(self) -> float:
        """Decode steps over their time."""
        return self.decode_steps / self.decode_seconds if self.decode_seconds else 0.0


@dataclass(frozen=True, slots=True)
class Rules:
    """When an answer ends, and what it tells of itself.

    Raises ``UserError`` for what is not possible.
    """

    max_tokens: int
    context: int
    """The most tokens in the cache, prompt and answer together."""
    stop: tuple[str, ...] = ()
    slide: bool = False
    keep: int = 0
    """Tokens at the beginning that a slide never drops."""
    candidates: int = 0

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise UserError(f"max_tokens: {self.max_tokens} is not possible; it must be 1 or more")
        if any(not text for text in self.stop):
            raise UserError("stop: an empty text would stop everything; give one or more characters")
        if self.candidates < 0:
            raise UserError(f"candidates: {self.candidates} is not possible; it must be 0 (none) or more")
        if self.slide and self.context < 8:
            raise UserError(f"context: {self.context} is too small to slide; give 8 or more")


class _Stopped(Exception):
    """Somebody asked for the end before the prompt was through."""


class Generation(Iterator[Token]):
    """Iterate over its tokens, then read ``text`` and ``statistics``. ``generate`` and ``Chat`` make it."""

    def __init__(
        self,
        model: Model,
        ids: Sequence[int],
        sampler: Sampler,
        rules: Rules,
        memory: PrefixCache | None = None,
    ) -> None:
        check_ids(model, ids, rules.context)
        self.model, self.rules, self.sampler = model, rules, sampler
        self.prompt_ids = tuple(ids)
        self.ids: list[int] = []
        """Generated so far, the end token included."""
        self.text = ""
        self.statistics = Statistics(prompt_tokens=len(ids))
        self._stream = TextStream(rules.stop)
        self._memory: PrefixCache | None = memory or PrefixCache(
            model, min(rules.context, len(ids) + rules.max_tokens)
        )
        self._window = list(ids)  # what the model sees: prompt and answer, less what slides dropped
        self._fresh = True  # whether the window, not just its last token, is to be pushed through
        self._asked_to_stop = False
        self._lengths = 0  # of the cache, summed over all decode steps

    def __iter__(self) -> "Generation":
        return self

    def __next__(self) -> Token:
        if self.statistics.finish is None and self._asked_to_stop:
            self._end("interrupted")
        if self.statistics.finish is not None:
            raise StopIteration
        try:
            with engine.using(self.model.backend):
                token, probability, candidates = self._step()
        except _Stopped:
            self._end("interrupted")
            raise StopIteration from None
        self.ids.append(token)
        self._window.append(token)
        text, finish = self._heard(token)
        self.text += text
        if finish is not None:
            text += self._end(finish)
        elif len(self._window) >= self.rules.context:
            self._slide()
        return Token(token, text, probability, candidates)

    def stop(self) -> None:
        """End the answer before the next token (or, in a long prompt, chunk), from a signal handler say.

        What was said stays; ``finish`` becomes ``interrupted``.
        """
        self._asked_to_stop = True

    def _heard(self, token: int) -> tuple[str, Finish | None]:
        """What can be shown now that this token was said, and whether it is the last."""
        if token in self.model.tokenizer.ends:
            return "", "stop"
        text = self._stream.push(self.model.tokenizer.bytes_of(token))
        self.statistics = replace(self.statistics, generated_tokens=self.statistics.generated_tokens + 1)
        if self._stream.stopped:
            return text, "stop"
        if len(self.ids) >= self.rules.max_tokens:
            return text, "length"
        if len(self._window) >= self.rules.context and not self.rules.slide:
            return text, "context"
        return text, None

    def _end(self, finish: Finish) -> str:
        """Note why, let go of the cache, and give out what was held back."""
        steps = self.statistics.decode_steps
        if steps:
            read = bytes_read(self.model, self._lengths / steps)
            self.statistics = replace(self.statistics, bytes_read_per_token=read)
        self.statistics = replace(self.statistics, finish=finish)
        self._memory = None  # a chat keeps it; else it is not needed any more
        rest = self._stream.flush()
        self.text += rest
        return rest

    def _slide(self) -> None:
        """Drop the older half of what follows the kept beginning; the rest is computed at new positions."""
        keep = min(self.rules.keep, self.rules.context // 2)
        rest = (len(self._window) - keep) // 2
        self._window = [*self._window[:keep], *self._window[-rest:]]
        self._fresh = True
        self.statistics = replace(self.statistics, slides=self.statistics.slides + 1)

    def _step(self) -> tuple[int, float, tuple[Candidate, ...]]:
        """Push through what is new, then choose; keeps the books."""
        started, before, memory = perf_counter(), self.statistics, self._memory
        assert memory is not None
        if self._fresh:
            known = memory.known(self._window)
            chosen = self._choose(memory.prefill(self._window, self._check), "prefill")
            self._fresh = False
            self.statistics = replace(
                before,
                reused_tokens=known if not before.slides else before.reused_tokens,
                prefill_tokens=before.prefill_tokens + len(self._window) - known,
                prefill_seconds=before.prefill_seconds + perf_counter() - started,
                bytes_read_per_token=before.bytes_read_per_token or bytes_read(self.model, memory.length),
            )
            return chosen
        chosen = self._choose(memory.decode(self._window[-1]), "decode")
        self._lengths += memory.length
        self.statistics = replace(
            before,
            decode_steps=before.decode_steps + 1,
            decode_seconds=before.decode_seconds + perf_counter() - started,
        )
        return chosen

    def _check(self) -> None:
        if self._asked_to_stop:
            raise _Stopped

    def _choose(self, scores: Any, stage: str) -> tuple[int, float, tuple[Candidate, ...]]:
        # an embedding table may have more rows than there are tokens
        real = scores[: len(self.model.tokenizer)]
        with engine.scope("think", stage), engine.other("sampling", size=FLOAT * len(real)):
            choice = self.sampler.choose(real, self._window, self.rules.candidates)
        return choice.token, choice.probability, tuple(map(self._named, choice.candidates))

    def _named(self, odds: Odds) -> Candidate:
        raw = self.model.tokenizer.bytes_of(odds.id, control=True)
        return Candidate(odds.id, raw.decode("utf-8", "replace"), odds.probability, odds.chance)
