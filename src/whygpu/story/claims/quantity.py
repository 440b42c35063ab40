"""One number that goes into a formula, and where it comes from."""

from dataclasses import dataclass

from whygpu.engine import Basis, UserError
from whygpu.story.numbers import duration
from whygpu.story.text import Texts, texts

__all__ = ["Missing", "Quantity"]

PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))
EXACT_BELOW = 1e7
"""Whole numbers below this are shown digit by digit."""


class Missing(UserError):
    """A number that cannot be had here: not measured, or no model on this disk.

    ``key`` names the sentence that says so, ``claims.missing.KEY``, in every language.
    """

    def __init__(self, key: str, **values: object) -> None:
        self.key = f"claims.missing.{key}"
        self.values = values
        super().__init__(self.text(texts("en")))

    def text(self, language: Texts) -> str:
        """What is missing, and how to get it."""
        return language(self.key, **self.values)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in SI units, or a word."""

    value: float | str
    unit: str
    """``FLOP``, ``FLOP/s``, ``B``, ``B/s``, ``s``, ``W``, ``Hz`` or nothing."""
    basis: Basis
    source: str
    who: str = ""
    """Who says so, where nobody else can check it."""
    runners: str = ""
    """Of a word: those that came next, each with its score."""

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return self.runners or self.value
        if self.unit == "s":
            return duration(self.value)
        if self.unit == "year":
            return f"{self.value:.0f}"
        if not self.unit and float(self.value).is_integer() and abs(self.value) < EXACT_BELOW:
            return f"{self.value:,.0f}"
        for scale, prefix in PREFIXES:
            if abs(self.value) >= scale:
                return f"{self.value / scale:.4g} {prefix}{self.unit}".rstrip()
        return f"{self.value:.4g} {self.unit}".rstrip()
