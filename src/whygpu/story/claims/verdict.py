"""Verdicts are rules: nobody writes one down.

A claim is judged in one case or in several (arithmetic alone or memory too, with this processor or with that
one). Each case holds or does not:

- a figure holds *exactly* where it equals the computed one;
- it holds *rounded* where both differ by at most 5 % (the article's inputs are rounded too), or by at most
  10 % where it says "about" or where the computed one, written with as many digits, is the figure given;
- a range, or a word of quantity ("tens"), holds (rounded, since it is vague) where the computed one is in it;
- a year holds exactly or not at all.

All cases hold: ``exact`` or ``rounded``. Some: ``conditional``. None: ``wrong``, with two exceptions that are
``conditional``: the stopwatch of another machine cannot be refuted by this one, and a figure that lies
between those of two cases depends on what is counted. What nobody outside can check, or what could not be
computed here: ``unverifiable``.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import floor, log10

from whygpu.story.claims.claim import Given

__all__ = ["ABOUT", "ROUNDING", "Outcome", "Verdict", "combined", "factor_off", "judged"]

ROUNDING = 1.05
"""By at most this factor may a rounded figure be off."""
ABOUT = 1.10
"""The same of a figure that the article itself calls approximate, or that has few digits."""
EQUAL = 1e-9


class Verdict(StrEnum):
    """What is said of a claim."""

    EXACT = "exact"
    ROUNDED = "rounded"
    CONDITIONAL = "conditional"
    WRONG = "wrong"
    UNVERIFIABLE = "unverifiable"


class Outcome(StrEnum):
    """What is said of a claim in one case."""

    EXACT = "exact"
    ROUNDED = "rounded"
    FAILS = "fails"
    HEARSAY = "hearsay"
    """It depends on what somebody says and nobody else can check."""
    MISSING = "missing"
    """It could not be computed here."""


def judged(given: Given, computed: float | str, unit: str) -> Outcome:
    """Whether the claim holds; ``computed`` in the claim's own unit."""
    if isinstance(computed, str) or given.text is not None:
        return Outcome.EXACT if computed == given.text else Outcome.FAILS
    if given.is_range:
        return Outcome.ROUNDED if given.low <= computed <= given.high else Outcome.FAILS
    if abs(computed - given.low) <= EQUAL * abs(given.low):
        return Outcome.EXACT
    if unit == "year":
        return Outcome.FAILS
    coarse = given.about or _rounds_to(computed, given)
    near = factor_off(given, computed) <= (ABOUT if coarse else ROUNDING)
    return Outcome.ROUNDED if near else Outcome.FAILS


def _rounds_to(computed: float, given: Given) -> bool:
    if not computed:
        return not given.low
    places = given.digits - 1 - floor(log10(abs(computed)))
    return abs(round(computed, places) - given.low) <= EQUAL * abs(given.low)


def factor_off(given: Given, computed: float) -> float:
    """How many times too large or too small the figure given is; 1 within a range."""
    target = min(max(computed, given.low), given.high)
    if target == computed:
        return 1.0
    low, high = sorted((abs(computed), abs(target)))
    return high / low if low else float("inf")


def combined(outcomes: Iterable[Outcome], *, stopwatch: bool = False, bracketed: bool = False) -> Verdict:
    """The verdict from the outcome of each case.

    Parameters
    ----------
    stopwatch
        Whether it is a time or a rate of the article's own machine.
    bracketed
        Whether one case is above the figure given and another below.
    """
    known: Sequence[Outcome] = [o for o in outcomes if o not in (Outcome.MISSING, Outcome.HEARSAY)]
    if not known:
        return Verdict.UNVERIFIABLE
    if Outcome.FAILS not in known:
        return Verdict.EXACT if set(known) == {Outcome.EXACT} else Verdict.ROUNDED
    if stopwatch or bracketed or set(known) != {Outcome.FAILS}:
        return Verdict.CONDITIONAL
    return Verdict.WRONG
