"""From the scores of every token to the one that is said next."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from whygpu.engine import UserError

__all__ = ["Choice", "Odds", "Sampler"]

BLOCK = 128
"""Scores that are looked at together before they are looked at alone."""


class Odds(NamedTuple):
    """What speaks for one token."""

    id: int
    probability: float
    """That the model itself gives it."""
    chance: float
    """Of being drawn, after penalty, temperature and filters; 0 where they rule it out."""


class Choice(NamedTuple):
    """The token to say, and the likeliest ones that it was chosen among."""

    token: int
    probability: float
    """That the model itself gives it, before penalty, temperature and filters."""
    candidates: tuple[Odds, ...] = ()
    """In falling order of probability; as many as were asked for."""


@dataclass(slots=True)
class Sampler:
    """How to choose. Temperature 0 takes the likeliest token; the same seed chooses the same tokens.

    Scores pass through, in this order (that of Hugging Face's transformers):

    1. ``repeat_penalty`` r (Keskar et al. 2019, CTRL, section 4.1): the score of each token that is in the
       context already, prompt included, is divided by r; a negative one is multiplied, else it would rise.
    2. ``temperature`` t (Ackley et al. 1985): scores are divided by t. At 0 the highest score is taken
       (the lowest id of equal ones) and the filters below change nothing.
    3. ``top_k`` k (Fan et al. 2018): only the k highest scores stay, and any that equal the k-th; 0: all.
    4. ``top_p`` p (Holtzman et al. 2019, nucleus sampling): of what is left, the fewest likeliest tokens that
       have p of its probability together, the one that reaches p included; of equal ones the lower ids first.
    5. ``min_p`` m (Nguyen et al. 2024): only tokens with at least m times the probability of the likeliest.

    One number u, uniform in [0, 1), then draws from what is left: the tokens lie side by side in the order of
    their ids, each as wide as its probability, and the one that u falls on is said. u comes from NumPy's
    PCG64 with ``seed``, one a token. The defaults leave scores alone.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repeat_penalty: float = 1.0
    seed: int = 0
    _random: np.random.Generator = field(init=False, repr=False)
    _kept: tuple[Any, Any] | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        limits = (
            ("temperature", 0 <= self.temperature < np.inf, "0 or more"),
            ("top_k", self.top_k >= 0, "0 (all) or more"),
            ("top_p", 0 < self.top_p <= 1, "above 0, up to 1"),
            ("min_p", 0 <= self.min_p <= 1, "from 0 to 1"),
            ("repeat_penalty", 0 < self.repeat_penalty < np.inf, "above 0 (1: none)"),
            ("seed", self.seed >= 0, "0 or more"),
        )
        for name, good, right in limits:
            if not good:
                raise UserError(f"{name}: {getattr(self, name)} is not possible; it must be {right}")
        self._random = np.random.Generator(np.random.PCG64(self.seed))

    def choose(self, scores: Any, history: Sequence[int], candidates: int = 0) -> Choice:
        """The next token, its own probability, and ``candidates`` of the likeliest.

        ``scores`` (vocab,) float32 NumPy; ``history``: the ids in the context, for the repeat penalty.

        Raises
        ------
        UserError
            For scores that are not numbers: the weights are broken, or their arithmetic overflowed.
        """
        highest = scores.max()
        if not np.isfinite(highest):
            raise UserError("the model's scores are not numbers: its weights are damaged, or they overflow")
        with np.errstate(over="ignore"):  # minus infinity is what it means
            own = np.exp(scores - highest)  # (vocab,) float32, not yet divided by its sum
        whole = float(own.sum(dtype=np.float64))
        if self.repeat_penalty != 1.0 and history:
            scores = penalised(scores, history, self.repeat_penalty)
        if self.temperature == 0.0:
            ids, chances = np.array([np.argmax(scores)]), np.array([1.0])
        else:
            ids, chances = self.distribution(scores)
        token = int(ids[0]) if self.temperature == 0.0 else self._draw(ids, chances)
        return Choice(token, float(own[token]) / whole, _likeliest(own, whole, ids, chances, candidates))

    def distribution(self, scores: Any) -> tuple[Any, Any]:
        """Temperature and filters: what may be said, as ascending ids and their probabilities (float64).

        ``scores`` (vocab,) after the repeat penalty; the temperature must be above 0. What is returned may be
        overwritten by the next call.
        """
        ids, scores = self._copied(scores)
        scores -= scores.max()  # before dividing: a small temperature must not overflow
        with np.errstate(over="ignore"):
            scores /= self.temperature
        if 0 < self.top_k < len(scores):
            ids = np.flatnonzero(scores >= _kth_highest(scores, self.top_k))
            scores = scores[ids]
        chances = np.exp(scores, out=scores)
        chances /= chances.sum()
        if self.top_p < 1.0:
            stays = _nucleus(chances, self.top_p)
            ids, chances = ids[stays], chances[stays]
        if self.min_p > 0.0:
            stays = chances >= self.min_p * chances.max()
            ids, chances = ids[stays], chances[stays]
        chances /= chances.sum()
        return ids, chances

    def _copied(self, scores: Any) -> tuple[Any, Any]:
        """All ids, and the scores in float64, in memory that is kept: new memory costs more than the work."""
        if self._kept is None or len(self._kept[0]) != len(scores):
            self._kept = np.arange(len(scores)), np.empty(len(scores))
        self._kept[1][:] = scores
        return self._kept

    def _draw(self, ids: Any, chances: Any) -> int:
        """The id on which u falls: first its block, then its place there; a cumulative sum of all is slow."""
        u = self._random.random() * chances.sum()
        starts = np.arange(0, len(chances), BLOCK)
        block_ends = np.cumsum(np.add.reduceat(chances, starts))
        block = min(int(np.searchsorted(block_ends, u, side="right")), len(starts) - 1)
        before = block_ends[block - 1] if block else 0.0
        ends = before + np.cumsum(chances[starts[block] : starts[block] + BLOCK])
        at = min(int(np.searchsorted(ends, u, side="right")), len(ends) - 1)
        return int(ids[starts[block] + at])


def penalised(scores: Any, history: Sequence[int], penalty: float) -> Any:
    """Scores (vocab,) in float64 with those of the tokens in ``history`` lowered."""
    said = np.unique(np.asarray(history, dtype=np.int64))
    said = said[said < len(scores)]
    scores = scores.astype(np.float64)
    scores[said] = np.where(scores[said] > 0, scores[said] / penalty, scores[said] * penalty)
    return scores


def _kth_highest(scores: Any, k: int) -> float:
    """The k-th highest of scores (n,).

    The k highest maxima of blocks are k scores, so the k-th of them is no higher than what is looked for:
    only what reaches it must be sorted, not a whole vocabulary.
    """
    maxima = np.maximum.reduceat(scores, np.arange(0, len(scores), BLOCK))
    if k <= len(maxima):
        scores = scores[scores >= np.partition(maxima, -k)[-k]]
    return float(np.partition(scores, -k)[-k])


def _nucleus(chances: Any, top_p: float) -> Any:
    """Places of the fewest likeliest tokens that have ``top_p`` together, ascending.

    A token with less than (1 - p) / n cannot be among them, unless it is the likeliest (all such together
    have less than 1 - p), so only the others are sorted; by value, which is faster than with their places.
    """
    falling = np.sort(chances[chances >= 0.999 * (1 - top_p) / len(chances)])[::-1]
    before = np.cumsum(falling) - falling  # what the likelier tokens have together
    count = int(np.count_nonzero(before < top_p))
    least = falling[count - 1]
    above = np.flatnonzero(chances > least)
    equal = np.flatnonzero(chances == least)[: count - len(above)]
    return np.sort(np.concatenate([above, equal]))


def _likeliest(own: Any, whole: float, ids: Any, chances: Any, count: int) -> tuple[Odds, ...]:
    if not count:
        return ()
    count = min(count, len(own))
    best = np.flatnonzero(own >= _kth_highest(own, count))
    best = best[np.lexsort((best, -own[best]))][:count]
    found = np.searchsorted(ids, best)
    return tuple(
        Odds(
            int(token),
            float(own[token]) / whole,
            float(chances[at]) if at < len(ids) and ids[at] == token else 0.0,
        )
        for token, at in zip(best, found, strict=True)
    )
