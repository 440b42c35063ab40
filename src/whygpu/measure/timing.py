"""How long a call takes: warmed up until it is steady, then its spread. NumPy is not even needed."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import quantiles
from time import perf_counter
from typing import Any

__all__ = ["Timing", "first_and_warm", "summary", "time_call"]

STEADY = 5
"""So many timings in a row must agree before the warm-up ends ..."""
TOLERANCE = 0.03
"""... within this fraction of the smallest of them."""
WARM_SHARE = 0.4
"""The warm-up takes at most this share of the time allowed."""
SHORTEST = 50e-6
"""A shorter call is timed several at once (seconds): the clock itself takes about 50 ns."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds a call: median, quartiles, extremes, how many samples, and whether the warm-up settled."""

    median: float
    q1: float
    q3: float
    minimum: float
    maximum: float
    count: int
    steady: bool

    @property
    def spread(self) -> float:
        """The interquartile range as a fraction of the median."""
        return (self.q3 - self.q1) / self.median if self.median else 0.0

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Timing":
        """From ``as_dict``. Raises ``ValueError`` where the numbers contradict each other."""
        timing = cls(**values)
        ordered = (timing.minimum, timing.q1, timing.median, timing.q3, timing.maximum)
        if list(ordered) != sorted(ordered) or not all(math.isfinite(x) and x > 0 for x in ordered):
            raise ValueError("a timing whose quantiles are not in order")
        return timing


def summary(samples: list[float], *, steady: bool = True) -> Timing:
    """Median, quartiles and extremes of at least one sample (seconds)."""
    low, high = min(samples), max(samples)
    if len(samples) > 1:
        q1, middle, q3 = quantiles(samples, n=4, method="inclusive")
    else:
        q1 = middle = q3 = samples[0]
    # quantiles interpolates, and may leave [min, max] or each other's order by one rounding
    middle = min(max(middle, low), high)
    return Timing(
        middle, min(max(q1, low), middle), max(min(q3, high), middle), low, high, len(samples), steady
    )


def time_call(
    call: Callable[[], object],
    *,
    seconds: float = 0.5,
    least: int = 3,
    most: int = 1000,
    warm: bool = True,
) -> Timing:
    """Time ``call()``.

    Parameters
    ----------
    seconds
        How long to go on, warm-up included. One call of the warm-up and ``least`` samples are always
        taken, so a call that takes longer than ``seconds`` takes ``1 + least`` times its length.
    least, most
        How many samples.
    warm
        Whether to warm up at all.
    """
    began = perf_counter()
    steady, inner = _warm_up(call, seconds * WARM_SHARE) if warm else (False, 1)
    samples: list[float] = []
    while len(samples) < least or (perf_counter() - began < seconds and len(samples) < most):
        started = perf_counter()
        for _ in range(inner):
            call()
        samples.append((perf_counter() - started) / inner)
    return summary(samples, steady=steady)


def _warm_up(call: Callable[[], object], seconds: float) -> tuple[bool, int]:
    """Call until steady or until the time is over; returns (steady, calls that make one sample)."""
    ends = perf_counter() + seconds
    inner = 1
    recent: list[float] = []
    while True:
        started = perf_counter()
        for _ in range(inner):
            call()
        spent = perf_counter() - started
        recent.append(spent / inner)
        if spent < SHORTEST:
            inner = max(inner + 1, math.ceil(inner * SHORTEST / max(spent, 1e-9)))
            recent.clear()
        last = recent[-STEADY:]
        if len(last) == STEADY and max(last) <= (1 + TOLERANCE) * min(last):
            return True, inner
        if perf_counter() >= ends:
            return False, inner


def first_and_warm(call: Callable[[], object], *, seconds: float = 0.2) -> tuple[float, Timing]:
    """The very first call in seconds, by itself, and then the warm ones."""
    started = perf_counter()
    call()
    first = perf_counter() - started
    return first, time_call(call, seconds=seconds)
