"""What the article claims, and how it is checked: one entry of ``claims.toml``."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

__all__ = ["UNITS", "Case", "Claim", "Evidence", "Fact", "Given"]

UNITS = {
    "": 1.0,
    "x": 1.0,
    "year": 1.0,
    "tokens/s": 1.0,
    "W": 1.0,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "GHz": 1e9,
    "GB": 1e9,
    "GB/s": 1e9,
    "FLOP": 1.0,
    "GFLOP": 1e9,
    "GFLOP/s": 1e9,
    "TFLOP/s": 1e12,
    "PFLOP/s": 1e15,
    "vertices/s": 1.0,
    "%": 0.01,
}
"""The units that claims are given in, in SI units: formulae compute in those."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the article prints: a figure, a range, a word of quantity, or a word."""

    low: float = 0.0
    high: float = inf
    digits: int = 1
    """Significant digits as printed."""
    about: bool = False
    """Whether the article itself says that it is approximate."""
    word: str | None = None
    """``tens``, ``thousands`` ...: the range is that of the word."""
    text: str | None = None
    """A word that is an answer, ``queen`` say."""

    @property
    def is_range(self) -> bool:
        """Whether it is no single figure."""
        return self.low != self.high


@dataclass(frozen=True, slots=True)
class Fact:
    """A number that somebody published."""

    name: str
    value: float
    unit: str
    source: str
    who: str = ""
    """Who says so, where nobody else can check it."""

    @property
    def hearsay(self) -> bool:
        """Whether it is only somebody's word."""
        return bool(self.who)


@dataclass(frozen=True, slots=True)
class Case:
    """One way to compute the figure."""

    name: str
    formula: str
    inputs: Mapping[str, str]
    """What each name of the formula means: a reference as in ``inputs.py``."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a source says of a statement that is no number: it supports it, refutes it, or only repeats it."""

    says: str
    """``for``, ``against`` or ``hearsay``."""
    who: str
    source: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One figure or statement of the article."""

    id: str
    chapter: str
    given: Given | None
    """None: a statement in words."""
    unit: str
    cases: tuple[Case, ...]
    """The first is the one that is right."""
    evidence: tuple[Evidence, ...]
    stopwatch: bool
    """Whether it is a time or a rate of the article's own machine."""
    sources: tuple[str, ...]
