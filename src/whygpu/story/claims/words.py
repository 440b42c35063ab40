"""The sentences of a claim: what the article says, what is right, why. Numbers are put in, never written."""

from whygpu.story.claims.judge import CaseResult, Judged
from whygpu.story.numbers import si, significant
from whygpu.story.text import Texts

__all__ = ["case_words", "computed_words", "figure", "given_words", "what", "why"]


def what(texts: Texts, judged: Judged) -> str:
    """What the article claims, in our words."""
    return texts(f"claims.{judged.claim.id}.what")


def why(texts: Texts, judged: Judged) -> str:
    """One sentence: why the verdict is what it is. ``{case}`` stands for that case's figure."""
    if judged.main is not None and judged.main.missing is not None:
        return judged.main.missing.text(texts)
    figures = {case.name: _value(texts, case, judged) for case in judged.cases}
    return texts(f"claims.{judged.claim.id}.why", who=judged.who, **figures)


def given_words(texts: Texts, judged: Judged) -> str:
    """What the article gives, as it prints it."""
    given, unit = judged.claim.given, judged.claim.unit
    if given is None:
        return texts("claims.statement")
    if given.text is not None:
        return given.text
    if given.word is not None:
        return texts(f"claims.word.{given.word}")
    low = figure(texts, given.low, unit, given.digits)
    if not given.is_range:
        return f"≈ {low}" if given.about else low
    return f"{figure(texts, given.low, '')} – {figure(texts, given.high, unit)}"


def computed_words(texts: Texts, judged: Judged) -> str:
    """What is right: the figure of the right case, or the words of a statement."""
    if judged.main is None:
        return texts(f"claims.{judged.claim.id}.right")
    return _value(texts, judged.main, judged)


def case_words(texts: Texts, judged: Judged, case: CaseResult) -> str:
    """What a case assumes."""
    own = f"claims.{judged.claim.id}.{case.name}"
    return texts(own) if texts.has(own) else texts(f"claims.case.{case.name}")


def _value(texts: Texts, case: CaseResult, judged: Judged) -> str:
    if case.value is None:
        return texts("claims.unmeasured")
    if isinstance(case.value, str):
        return case.value
    given = judged.claim.given
    digits = 3 if given is None or given.is_range else max(3, min(given.digits, 4))
    return figure(texts, case.value, judged.claim.unit, digits)


def figure(texts: Texts, value: float, unit: str, digits: int = 3) -> str:
    """A figure in a claim's unit: years and whole numbers as they are, the rest by significant digits."""
    if unit == "year":
        return f"{value:.0f}"
    known = texts(f"claims.unit.{unit}") if texts.has(f"claims.unit.{unit}") else unit
    space = "" if unit == "x" else " "
    if unit in ("", "x", "FLOP") and float(value).is_integer() and value < 1e12:
        number = f"{value:,.0f}"
    elif value >= 1e6:
        number = si(value, "")
    else:
        number = significant(value, digits)
    return f"{number}{space}{known}".rstrip()
