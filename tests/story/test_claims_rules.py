"""Verdicts follow from rules, formulae are plain arithmetic, and a wrong entry of the file is named."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whygpu.engine import Basis, UserError
from whygpu.story import claims as story
from whygpu.story.claims import Given, Outcome, Quantity, Verdict
from whygpu.story.claims.catalogue import read_claims
from whygpu.story.claims.formula import compute, names_in, shown, with_numbers
from whygpu.story.claims.verdict import combined, factor_off, judged


def figure(printed: float, digits: int, about: bool = False) -> Given:
    return Given(printed, printed, digits, about)


@pytest.mark.parametrize(
    ("given_", "computed", "unit", "expected"),
    [
        (figure(24, 2), 24.0, "", Outcome.EXACT),
        (figure(680, 2), 682.67, "x", Outcome.ROUNDED),
        (figure(0.6, 1), 0.5595, "s", Outcome.ROUNDED),  # 7 % off, but 0.56 with one digit is 0.6
        (figure(175, 3), 171.2, "ms", Outcome.ROUNDED),  # 2 %: rounded inputs
        (figure(175, 3), 160.0, "ms", Outcome.FAILS),
        (figure(24000, 2, about=True), 22272.0, "x", Outcome.ROUNDED),
        (figure(24000, 2), 22272.0, "x", Outcome.FAILS),
        (figure(1, 1), 1.43, "TFLOP/s", Outcome.FAILS),  # a single digit is no licence
        (figure(2018, 4), 2017.0, "year", Outcome.FAILS),
        (figure(2017, 4), 2017.0, "year", Outcome.EXACT),
        (figure(301989888, 9), 603979776.0, "FLOP", Outcome.FAILS),
        (Given(10, 100), 32.0, "x", Outcome.ROUNDED),
        (Given(10, 100), 121.0, "x", Outcome.FAILS),
        (Given(text="queen"), "queen", "", Outcome.EXACT),
        (Given(text="queen"), "king", "", Outcome.FAILS),
    ],
)
def test_one_case(given_: Given, computed: Any, unit: str, expected: Outcome) -> None:
    assert judged(given_, computed, unit) is expected


E, R, F, H, M = Outcome.EXACT, Outcome.ROUNDED, Outcome.FAILS, Outcome.HEARSAY, Outcome.MISSING


@pytest.mark.parametrize(
    ("outcomes", "how", "expected"),
    [
        ([E], {}, Verdict.EXACT),
        ([E, R], {}, Verdict.ROUNDED),
        ([E, F], {}, Verdict.CONDITIONAL),
        ([F, F], {}, Verdict.WRONG),
        ([F, F], {"bracketed": True}, Verdict.CONDITIONAL),
        ([F], {"stopwatch": True}, Verdict.CONDITIONAL),
        ([H], {}, Verdict.UNVERIFIABLE),
        ([M], {"stopwatch": True}, Verdict.UNVERIFIABLE),
        ([M, E], {}, Verdict.EXACT),
        ([H, E, F], {}, Verdict.CONDITIONAL),
        ([], {}, Verdict.UNVERIFIABLE),
    ],
)
def test_all_cases(outcomes: list[Outcome], how: dict[str, bool], expected: Verdict) -> None:
    assert combined(outcomes, **how) is expected


@given(st.floats(1e-6, 1e12), st.floats(1e-6, 1e12))
def test_off_is_a_factor_and_has_no_side(one: float, other: float) -> None:
    off = factor_off(figure(one, 3), other)
    assert off >= 1
    assert off == pytest.approx(factor_off(figure(other, 3), one))
    assert off * min(one, other) == pytest.approx(max(one, other))


def quantity(value: float, unit: str = "") -> Quantity:
    return Quantity(value, unit, Basis.ASSUMED, "a test")


def test_formulae() -> None:
    values = {"a": quantity(12.0), "b": quantity(2.039e12, "B/s"), "c": quantity(349.2e9, "B")}
    assert compute("2 * a ** 2 - a / 4", values) == 285
    assert compute("max(a, 13) + ceil(1 / 3) + min(a, 2)", values) == 16
    assert compute("c / b", values) == pytest.approx(0.17126, rel=1e-4)
    assert shown("c/b * a**2 - 1") == "c / b × a^2 − 1"
    assert with_numbers("c / b", values) == "349.2 GB / (2.039 TB/s)"
    assert with_numbers("1000000 * a", values) == "1,000,000 × 12"
    assert names_in("max(a, b) / c") == {"a", "b", "c"}


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os')",
        "a.b",
        "a[0]",
        "a if b else c",
        "lambda: 1",
        "'text'",
        "a @ b",
        "f(a)",
        "max(*a)",
        "True and a",
    ],
)
def test_a_formula_is_arithmetic_and_nothing_else(formula: str) -> None:
    with pytest.raises(ValueError, match=r"a formula has names"):
        names_in(formula)


@settings(max_examples=100)
@given(st.text(max_size=30))
def test_any_text_is_a_formula_or_a_value_error(text: str) -> None:
    try:
        names_in(text)
    except ValueError:
        return


GOOD = {"id": "x", "chapter": "cost", "given": "3", "formula": "a", "inputs": {"a": "fact y"}}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"chapter": "cooking"}, "x: chapter 'cooking'"),
        ({"unit": "furlong"}, "unit 'furlong' is unknown"),
        ({"formula": "a + b"}, "the formula's b is not among the inputs"),
        ({"given": 3}, "as printed"),
        ({"verdict": "exact"}, r"\['verdict'\]"),
        ({"evidence": [{"says": "for", "who": "a", "source": "b"}]}, "either cases"),
    ],
)
def test_a_wrong_entry_is_named(change: dict[str, Any], line: str) -> None:
    with pytest.raises(UserError, match=line):
        read_claims({"words": {}, "claim": [{**GOOD, **change}]}, "claims.toml")
    with pytest.raises(UserError, match="stands twice"):
        read_claims({"words": {}, "claim": [GOOD, GOOD]}, "claims.toml")


def test_find() -> None:
    assert [claim.id for claim in story.find("tpu-cloud")] == ["tpu-cloud"]
    assert {claim.chapter for claim in story.find("HISTORY")} == {"history"}
    with pytest.raises(UserError, match=r"did you mean .*gpt3-h100"):
        story.find("gpt3-h10")
    with pytest.raises(UserError, match="chapters: drawing"):
        story.find("zzzzzz")
