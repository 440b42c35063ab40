"""One claim recomputed: each case's number, and the verdict that follows by rule."""

from collections.abc import Mapping
from dataclasses import dataclass

from whygpu.engine import Basis
from whygpu.story.claims.claim import UNITS, Case, Claim
from whygpu.story.claims.formula import compute, shown, with_numbers
from whygpu.story.claims.here import Here
from whygpu.story.claims.inputs import resolve
from whygpu.story.claims.quantity import Missing, Quantity
from whygpu.story.claims.verdict import Outcome, Verdict, combined, factor_off, judged

__all__ = ["CaseResult", "Judged", "judge"]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The figure in one case."""

    name: str
    formula: str
    numbers: str
    """The formula with its numbers put in; empty where one is missing."""
    value: float | str | None
    """In the claim's unit; None where a number is missing."""
    outcome: Outcome
    off: float | None
    """How many times too large or too small the figure given is; None for words."""
    basis: Basis
    sources: tuple[str, ...]
    missing: Missing | None = None
    """What could not be had, and how to get it."""
    who: str = ""
    """Who says so, where nobody else can check it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with its verdict."""

    claim: Claim
    cases: tuple[CaseResult, ...]
    verdict: Verdict

    @property
    def main(self) -> CaseResult | None:
        """The first case that could be computed: the right one. None for a statement in words."""
        known = [case for case in self.cases if case.value is not None]
        return known[0] if known else next(iter(self.cases), None)

    @property
    def basis(self) -> Basis:
        """Of the right figure; sources' words for a statement."""
        return Basis.PUBLISHED if self.main is None else self.main.basis

    @property
    def who(self) -> str:
        """Who says what nobody else can check."""
        said = [case.who for case in self.cases] + [
            each.who for each in self.claim.evidence if each.says == "hearsay"
        ]
        return "; ".join(dict.fromkeys(name for name in said if name))

    @property
    def sources(self) -> tuple[str, ...]:
        """Of everything that went in."""
        found = [source for case in self.cases for source in case.sources]
        found += [f"{each.who}: {each.source}" for each in self.claim.evidence]
        return tuple(dict.fromkeys((*found, *self.claim.sources)))


def judge(claim: Claim, here: Here) -> Judged:
    """Compute a claim's figure in each case and judge it."""
    if claim.evidence:
        return Judged(claim, (), _weighed(claim))
    cases = tuple(_result(claim, case, here) for case in claim.cases)
    assert claim.given is not None  # only statements have none
    values = [case.value for case in cases if isinstance(case.value, float)]
    bracketed = bool(values) and not claim.given.is_range and min(values) < claim.given.low < max(values)
    outcomes = [case.outcome for case in cases]
    return Judged(claim, cases, combined(outcomes, stopwatch=claim.stopwatch, bracketed=bracketed))


def _weighed(claim: Claim) -> Verdict:
    """The verdict on a statement: by what its sources say. Hearsay neither supports nor refutes."""
    outcomes = {"for": Outcome.EXACT, "against": Outcome.FAILS, "hearsay": Outcome.HEARSAY}
    return combined(outcomes[each.says] for each in claim.evidence)


def _result(claim: Claim, case: Case, here: Here) -> CaseResult:
    assert claim.given is not None  # only statements have none, and they have no cases
    formula = shown(case.formula)
    try:
        values = {name: resolve(reference, here) for name, reference in case.inputs.items()}
    except Missing as error:
        return CaseResult(case.name, formula, "", None, Outcome.MISSING, None, Basis.MEASURED, (), error)
    raw = compute(case.formula, values)
    value = raw if isinstance(raw, str) else float(raw) / UNITS[claim.unit]
    who = "; ".join(dict.fromkeys(quantity.who for quantity in values.values() if quantity.who))
    outcome = Outcome.HEARSAY if who else judged(claim.given, value, claim.unit)
    return CaseResult(
        case.name,
        formula,
        with_numbers(case.formula, values),
        value,
        outcome,
        None if isinstance(value, str) else factor_off(claim.given, value),
        _basis(case, values),
        tuple(dict.fromkeys(quantity.source for quantity in values.values())),
        who=who,
    )


def _basis(case: Case, values: Mapping[str, Quantity]) -> Basis:
    """One name: that number's own basis; else measured where a measurement went in, else derived."""
    bases = {quantity.basis for quantity in values.values()}
    if case.formula in values:
        return values[case.formula].basis
    return Basis.MEASURED if Basis.MEASURED in bases else Basis.DERIVED
