"""One answer among several: its tokens so far, how it chooses, when it ends."""

import math
from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from whygpu.think.generation import Rules
from whygpu.think.model import Model
from whygpu.think.passes import check_ids
from whygpu.think.prefix import PrefixCache
from whygpu.think.sampling import Sampler
from whygpu.think.streaming import TextStream

__all__ = ["Odd", "Sequence", "Step"]

Finish = Literal["stop", "length"]


class Odd(NamedTuple):
    """A token that could have come."""

    id: int
    raw: bytes
    logprob: float


@dataclass(slots=True)
class Step:
    """One token of an answer."""

    text: str
    """What can be shown now, perhaps nothing."""
    finish: Finish | None = None
    token: Odd | None = None
    """Where probabilities were asked for."""
    candidates: tuple[Odd, ...] = ()
    ends: bool = False
    """Whether the token is the model's end token, which is no part of the text."""


class Sequence:
    """What the thinker knows of one answer.

    ``odds``: how many candidates each step tells; None: no probabilities at all, which is faster.

    Raises ``UserError`` for a prompt that is empty or does not fit.
    """

    def __init__(
        self, model: Model, ids: Many[int], sampler: Sampler, rules: Rules, odds: int | None = None
    ) -> None:
        check_ids(model, ids, rules.context)
        self.model, self.sampler, self.rules, self.odds = model, sampler, rules, odds
        self.prompt = len(ids)
        self.ids = list(ids)
        """Prompt and answer."""
        self.reused = 0
        """Tokens of the prompt that a cache held already."""
        self.slot: PrefixCache | None = None
        self._stream = TextStream(rules.stop)

    @property
    def generated(self) -> int:
        """Tokens of the answer, the end token included."""
        return len(self.ids) - self.prompt

    def hear(self, scores: Any) -> Step:
        """Choose the next token from (vocab,) scores, and say what can be shown of it."""
        tokenizer = self.model.tokenizer
        real = scores[: len(tokenizer)]
        step = Step("")
        plain = self.odds is None and self.sampler.temperature == 0 and self.sampler.repeat_penalty == 1
        if plain and math.isfinite(real[token := int(real.argmax())]):
            pass  # the likeliest, without the work that probabilities are
        else:
            choice = self.sampler.choose(real, self.ids, self.odds or 0)
            token = choice.token
            if self.odds is not None:
                step.token = self._odd(token, choice.probability)
                step.candidates = tuple(self._odd(odds.id, odds.probability) for odds in choice.candidates)
        self.ids.append(token)
        if token in tokenizer.ends:
            step.ends, step.finish = True, "stop"
        else:
            step.text = self._stream.push(tokenizer.bytes_of(token))
            if self._stream.stopped:
                step.finish = "stop"
            elif self.generated >= self.rules.max_tokens or len(self.ids) >= self.rules.context:
                step.finish = "length"
        if step.finish is not None:
            step.text += self._stream.flush()
        return step

    def _odd(self, token: int, probability: float) -> Odd:
        logprob = math.log(probability) if probability > 0 else -9999.0
        return Odd(token, self.model.tokenizer.bytes_of(token, control=True), logprob)
