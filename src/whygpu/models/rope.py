"""Rotary positions: by which angle each pair of a head's numbers turns from one token to the next.

Su et al. 2021. A model that was stretched to longer texts than it was trained on turns more slowly; the
ways to do that have names of their own ("rope types"). They end in one frequency a pair and one magnitude.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, log, pi, sqrt
from typing import Any, Literal

import numpy as np

__all__ = [
    "ROPE_TYPES",
    "Rope",
    "RopeScaling",
    "longrope_magnitude",
    "rope_frequencies",
    "yarn_magnitude",
]

Kind = Literal["linear", "llama3", "yarn", "longrope", "divisors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RopeScaling:
    """How the frequencies differ from the plain ones; only the fields of its ``kind`` count."""

    kind: Kind
    factor: float = 1.0
    """How many times longer the text may be (linear, llama3, yarn)."""
    original_context: int = 0
    """Tokens that the model was first trained on (llama3, yarn, longrope)."""
    low_frequency_factor: float = 1.0
    high_frequency_factor: float = 4.0
    """Llama 3.1: waves longer than context / low are stretched, those shorter than context / high are not."""
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    """YaRN: pairs that turn more often than ``beta_fast`` over the context stay, those below ``beta_slow``
    are stretched."""
    divisors: tuple[float, ...] = ()
    """One a pair, as the file gives them (divisors; longrope up to the original context)."""
    long_divisors: tuple[float, ...] = ()
    """Those of longrope beyond the original context."""
    magnitude: float = 1.0
    """By which cosines and sines are multiplied (yarn, longrope)."""


@dataclass(frozen=True, slots=True)
class Rope:
    """The rotary positions of one layer."""

    theta: float
    """Base of the frequencies."""
    dims: int
    """Numbers of each head that turn; those after them pass as they are."""
    scaling: RopeScaling | None = None

    def is_long(self, tokens: int) -> bool:
        """Whether a sequence of up to ``tokens`` needs the long set of divisors (longrope alone has one)."""
        s = self.scaling
        return s is not None and s.kind == "longrope" and tokens > s.original_context

    @property
    def magnitude(self) -> float:
        """By which cosines and sines are multiplied."""
        return 1.0 if self.scaling is None else self.scaling.magnitude


def rope_frequencies(rope: Rope, *, long: bool = False) -> Any:
    """Radians a token for each pair: (dims / 2,) float64 NumPy; ``long`` as ``Rope.is_long`` says."""
    plain = rope.theta ** (-np.arange(0, rope.dims, 2, dtype=np.float64) / rope.dims)
    s = rope.scaling
    if s is None:
        return plain
    if s.kind == "longrope" and long:
        return plain / np.asarray(s.long_divisors, dtype=np.float64)
    return _SCALED[s.kind](plain, rope, s)


def _linear(plain: Any, rope: Rope, s: RopeScaling) -> Any:
    """Positions are squeezed (Chen et al. 2023, arXiv 2306.15595)."""
    return plain / s.factor


def _llama3(plain: Any, rope: Rope, s: RopeScaling) -> Any:
    """Long waves are stretched, short ones kept, a ramp between (Llama 3.1's reference code)."""
    waves = s.original_context * plain / (2 * pi)  # turns over the original context
    ramp = (waves - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor)
    keep = np.clip(ramp, 0.0, 1.0)
    return plain * (keep + (1 - keep) / s.factor)


def _yarn(plain: Any, rope: Rope, s: RopeScaling) -> Any:
    """The same idea with a ramp over the pairs' numbers (Peng et al. 2023, arXiv 2309.00071, section 3.2)."""

    def pair(turns: float) -> float:
        """The pair that turns so many times over the original context."""
        return rope.dims * log(s.original_context / (turns * 2 * pi)) / (2 * log(rope.theta))

    low, high = max(floor(pair(s.beta_fast)), 0), min(ceil(pair(s.beta_slow)), rope.dims - 1)
    ramp = (np.arange(rope.dims // 2) - low) / max(high - low, 1e-3)
    keep = 1 - np.clip(ramp, 0.0, 1.0)
    return plain * (keep + (1 - keep) / s.factor)


def _divisors(plain: Any, rope: Rope, s: RopeScaling) -> Any:
    """As the file says."""
    return plain / np.asarray(s.divisors, dtype=np.float64)


_SCALED: dict[str, Callable[[Any, Rope, RopeScaling], Any]] = {
    "linear": _linear,
    "llama3": _llama3,
    "yarn": _yarn,
    "longrope": _divisors,  # Ding et al. 2024, arXiv 2402.13753
    "divisors": _divisors,
}

ROPE_TYPES = ("linear", "llama3", "yarn", "longrope")
"""What a checkpoint may call its scaling."""


def yarn_magnitude(factor: float, scale: float = 1.0) -> float:
    """The magnitude that YaRN gives a model stretched ``factor`` times (its equation 22)."""
    return 1.0 if factor <= 1 else 0.1 * scale * log(factor) + 1.0


def longrope_magnitude(factor: float, original_context: int) -> float:
    """The magnitude that LongRoPE gives a model stretched ``factor`` times."""
    return 1.0 if factor <= 1 else sqrt(1 + log(factor) / log(original_context))
