"""What ``whygpu claims --json`` prints, documented in ``docs/claims.schema.json``.

Keys, verdicts and bases are English whatever the language; sentences stand there in both. Figures are in the
unit that stands beside them.
"""

from typing import Any

from whygpu.story.claims.claim import Given
from whygpu.story.claims.judge import CaseResult, Judged
from whygpu.story.claims.words import case_words, computed_words, given_words, what, why
from whygpu.story.schema import Documented
from whygpu.story.text import LANGUAGES, texts

__all__ = ["Claims", "document", "schema"]


class CaseJson(Documented):
    """The figure under one assumption."""

    name: str
    """The case."""
    means: dict[str, str]
    """What it assumes, by language."""
    formula: str
    """In SI units."""
    with_numbers: str
    """The formula with its numbers put in; empty where one is missing."""
    value: float | str | None
    """In the claim's unit; null where a number is missing here."""
    outcome: str
    """exact, rounded, fails, hearsay (only somebody's word), missing (could not be computed here)."""
    off: float | None
    """How many times too large or too small the figure given is; null for words."""
    basis: str
    """measured here, datasheet, derived, published."""
    missing: str
    """What could not be had, and how to get it."""


class EvidenceJson(Documented):
    """What a source says of a statement."""

    says: str
    """for, against, or hearsay: it repeats what nobody else can check."""
    who: str
    source: str


class ClaimJson(Documented):
    """One figure or statement of the article."""

    id: str
    chapter: str
    what: dict[str, str]
    """What the article claims, in our words, by language."""
    given: float | list[float | None] | str | None
    """As the article gives it: a figure, a range (null: no upper end), a word; null: a statement."""
    given_text: dict[str, str]
    """The same as text, by language."""
    about: bool
    """Whether the article itself calls it approximate."""
    computed: float | str | None
    """The right figure: the first case that could be computed; null: a statement, or nothing could."""
    computed_text: dict[str, str]
    """The same as text, by language."""
    unit: str
    formula: str
    """Of the computed figure, in SI units; empty for a statement."""
    with_numbers: str
    basis: str
    """measured here, datasheet, derived, published."""
    verdict: str
    """exact, rounded, conditional, wrong, unverifiable."""
    why: dict[str, str]
    """One sentence, by language."""
    who: str
    """Who says what nobody else can check."""
    cases: list[CaseJson]
    """Every way in which the figure was computed."""
    evidence: list[EvidenceJson]
    """What a statement was judged by."""
    sources: list[str]


class Claims(Documented):
    """The claims that were asked for, in the article's order."""

    claims: list[ClaimJson]


def document(judged: list[Judged]) -> Claims:
    """The claims as they are written."""
    return Claims(claims=[_claim(each) for each in judged])


def schema() -> dict[str, Any]:
    """JSON Schema of ``whygpu claims --json``."""
    return Claims.model_json_schema(mode="serialization")


def _claim(judged: Judged) -> ClaimJson:
    claim, main = judged.claim, judged.main
    return ClaimJson(
        id=claim.id,
        chapter=claim.chapter,
        what={each: what(texts(each), judged) for each in LANGUAGES},
        given=_given(claim.given),
        given_text={each: given_words(texts(each), judged) for each in LANGUAGES},
        about=claim.given is not None and claim.given.about,
        computed=None if main is None else main.value,
        computed_text={each: computed_words(texts(each), judged) for each in LANGUAGES},
        unit=claim.unit,
        formula="" if main is None else main.formula,
        with_numbers="" if main is None else main.numbers,
        basis=str(judged.basis),
        verdict=str(judged.verdict),
        why={each: why(texts(each), judged) for each in LANGUAGES},
        who=judged.who,
        cases=[_case(judged, case) for case in judged.cases],
        evidence=[EvidenceJson(says=e.says, who=e.who, source=e.source) for e in claim.evidence],
        sources=list(judged.sources),
    )


def _given(given: Given | None) -> float | list[float | None] | str | None:
    if given is None:
        return None
    if given.text is not None:
        return given.text
    if not given.is_range:
        return given.low
    return [given.low, None if given.high == float("inf") else given.high]


def _case(judged: Judged, case: CaseResult) -> CaseJson:
    return CaseJson(
        name=case.name,
        means={each: case_words(texts(each), judged, case) for each in LANGUAGES},
        formula=case.formula,
        with_numbers=case.numbers,
        value=case.value,
        outcome=str(case.outcome),
        off=case.off,
        basis=str(case.basis),
        missing="" if case.missing is None else str(case.missing),
    )
