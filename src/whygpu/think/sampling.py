"""From the scores of every token to the one that is said next."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whygpu.engine import UserError

__all__ = ["Sampler"]


@dataclass(slots=True)
class Sampler:
    """How to choose. Temperature 0 takes the likeliest token; the same seed chooses the same tokens.

    Scores pass, in this order: repeat penalty (Keskar et al. 2019), temperature, top-k (Fan et al. 2018),
    top-p (Holtzman et al. 2020), min-p (Nguyen et al. 2024). 1.0, 1.0, 0, 1.0 and 0.0 leave them alone.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repeat_penalty: float = 1.0
    seed: int = 0
    _random: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        limits = (
            ("temperature", self.temperature >= 0, "0 or more"),
            ("top_k", self.top_k >= 0, "0 (all) or more"),
            ("top_p", 0 < self.top_p <= 1, "above 0, up to 1"),
            ("min_p", 0 <= self.min_p <= 1, "from 0 to 1"),
            ("repeat_penalty", self.repeat_penalty > 0, "above 0 (1: none)"),
            ("seed", self.seed >= 0, "0 or more"),
        )
        for name, good, right in limits:
            if not good:
                raise UserError(f"{name}: {getattr(self, name)} is not possible; it must be {right}")
        self._random = np.random.default_rng(self.seed)

    def choose(self, scores: Any, history: list[int]) -> tuple[int, float]:
        """The next token and the probability that the model itself gives it.

        ``scores`` (vocab,) float32 NumPy; ``history``: the ids so far, for the repeat penalty.
        """
        scores = scores.astype(np.float64)
        own = probabilities(scores)
        if self.repeat_penalty != 1.0 and history:
            scores = _penalise(scores, history, self.repeat_penalty)
        if self.temperature == 0.0:
            token = int(np.argmax(scores))
        else:
            kept = self.filtered(scores / self.temperature)
            token = int(self._random.choice(len(kept), p=probabilities(kept)))
        return token, float(own[token])

    def filtered(self, scores: Any) -> Any:
        """Scores (vocab,) with all tokens that may not be chosen at minus infinity."""
        if 0 < self.top_k < len(scores):
            least = np.partition(scores, -self.top_k)[-self.top_k]
            scores = np.where(scores < least, -np.inf, scores)
        if self.top_p < 1.0:
            order = np.argsort(-scores, kind="stable")
            likely = probabilities(scores)[order]
            before = np.cumsum(likely) - likely  # what the likelier tokens have together
            scores = scores.copy()
            scores[order[before >= self.top_p]] = -np.inf
        if self.min_p > 0.0:
            likely = probabilities(scores)
            scores = np.where(likely < self.min_p * likely.max(), -np.inf, scores)
        return scores


def probabilities(scores: Any) -> Any:
    """Softmax in float64: (vocab,) -> (vocab,)."""
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


def _penalise(scores: Any, history: list[int], penalty: float) -> Any:
    scores = scores.copy()
    said = np.unique(np.asarray([token for token in history if token < len(scores)], dtype=np.int64))
    scores[said] = np.where(scores[said] > 0, scores[said] / penalty, scores[said] * penalty)
    return scores
