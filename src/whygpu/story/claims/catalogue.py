"""Reads ``claims.toml``; whatever is missing or misspelt in it is an error that says where."""

import difflib
import functools
import tomllib
from importlib import resources
from math import inf
from typing import Any

from whygpu.engine import UserError
from whygpu.story.claims.claim import UNITS, Case, Claim, Evidence, Fact, Given
from whygpu.story.claims.formula import names_in

__all__ = ["CHAPTERS", "claims", "facts", "find", "read_claims"]

CHAPTERS = (
    "drawing",
    "processors",
    "embedding",
    "block",
    "cost",
    "experiments",
    "bandwidth",
    "history",
    "ecosystem",
)
"""In the article's order."""

SAYS = ("for", "against", "hearsay")
KEYS = {
    "id",
    "chapter",
    "given",
    "word",
    "text",
    "about",
    "unit",
    "formula",
    "inputs",
    "cases",
    "evidence",
    "stopwatch",
    "sources",
}


@functools.cache
def _file() -> dict[str, Any]:
    text = resources.files("whygpu.story.claims").joinpath("claims.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@functools.cache
def facts() -> dict[str, Fact]:
    """The published numbers that formulae use, by name."""
    return {name: Fact(name=name, **values) for name, values in _file()["facts"].items()}


@functools.cache
def claims() -> dict[str, Claim]:
    """Every claim by its id, in the article's order."""
    return read_claims(_file(), "claims.toml")


def find(wanted: str) -> list[Claim]:
    """The claim with that id, or all claims of that chapter.

    Raises
    ------
    UserError
        For neither; the line names near ones.
    """
    key = wanted.lower()
    if key in CHAPTERS:
        return [claim for claim in claims().values() if claim.chapter == key]
    if key in claims():
        return [claims()[key]]
    known = [*CHAPTERS, *claims()]
    near = difflib.get_close_matches(key, known, n=3, cutoff=0.5)
    near = near or [name for name in known if key and key in name][:3]
    hint = f"did you mean {' or '.join(near)}?" if near else f"chapters: {', '.join(CHAPTERS)}"
    raise UserError(f"claim {wanted[:60]!r} is unknown; {hint}")


def read_claims(table: dict[str, Any], where: str) -> dict[str, Claim]:
    """The claims of a parsed file by id.

    Raises
    ------
    UserError
        For a key, unit, chapter or formula that is not as it must be; the line says which claim.
    """
    found: dict[str, Claim] = {}
    for entry in table["claim"]:
        name = f"{where}, {entry.get('id', 'a claim without id')}"
        unknown = set(entry) - KEYS
        if unknown or "id" not in entry or entry["id"] in found:
            raise UserError(f"{name}: {sorted(unknown) or 'its id is missing or stands twice'}")
        found[entry["id"]] = _claim(entry, table["words"], name)
    order = {chapter: place for place, chapter in enumerate(CHAPTERS)}
    return dict(sorted(found.items(), key=lambda pair: order[pair[1].chapter]))


def _claim(entry: dict[str, Any], words: dict[str, list[float]], where: str) -> Claim:
    unit = entry.get("unit", "")
    if entry.get("chapter") not in CHAPTERS or unit not in UNITS:
        raise UserError(f"{where}: chapter {entry.get('chapter')!r} or unit {unit!r} is unknown")
    cases = tuple(_case(case, where) for case in _cases(entry))
    evidence = tuple(Evidence(**each) for each in entry.get("evidence", ()))
    if any(each.says not in SAYS for each in evidence) or bool(cases) == bool(evidence):
        raise UserError(f"{where}: either cases with formulae or evidence ({', '.join(SAYS)}) is needed")
    sources = tuple(entry.get("sources", ()))
    given = _given(entry, words, where) if cases else None
    return Claim(
        entry["id"], entry["chapter"], given, unit, cases, evidence, entry.get("stopwatch", False), sources
    )


def _cases(entry: dict[str, Any]) -> list[dict[str, Any]]:
    if "formula" in entry:
        return [{"name": "value", "formula": entry["formula"], "inputs": entry.get("inputs", {})}]
    shared = entry.get("inputs", {})
    return [{**case, "inputs": {**shared, **case.get("inputs", {})}} for case in entry.get("cases", [])]


def _case(entry: dict[str, Any], where: str) -> Case:
    try:
        needed = names_in(entry["formula"])
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error
    missing = needed - set(entry["inputs"])
    if missing:
        raise UserError(f"{where}: the formula's {', '.join(sorted(missing))} is not among the inputs")
    inputs = {name: reference for name, reference in entry["inputs"].items() if name in needed}
    return Case(entry["name"], entry["formula"], inputs)


def _given(entry: dict[str, Any], words: dict[str, list[float]], where: str) -> Given:
    about = entry.get("about", False)
    if "text" in entry:
        return Given(text=entry["text"])
    if "word" in entry:
        low, high = words[entry["word"]]
        return Given(low, high or inf, about=about, word=entry["word"])
    given = entry.get("given")
    if isinstance(given, list):
        low, high = (float(end) for end in given)
        return Given(low, high, about=about)
    if not isinstance(given, str):
        raise UserError(f'{where}: given must be written as printed, "4.75" say, for its digits count')
    return Given(float(given), float(given), _digits(given), about)


def _digits(printed: str) -> int:
    """Significant digits; the zeros at the end of a whole number do not count (680 has two)."""
    figures = printed.lstrip("-").partition("e")[0]
    if "." not in figures:
        figures = figures.rstrip("0")
    return max(1, len(figures.replace(".", "").lstrip("0")))
