"""The article's claims by chapter, and one claim in full."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from whygpu.cli.tables.build import new_table
from whygpu.cli.tables.wrap import wrapped
from whygpu.story.claims import CHAPTERS, Judged, Verdict
from whygpu.story.claims.words import case_words, computed_words, figure, given_words, what, why
from whygpu.story.numbers import significant
from whygpu.story.text import Texts

__all__ = ["claim_tables", "claims_tables"]

LOOK = {
    Verdict.EXACT: ("✓", "green"),
    Verdict.ROUNDED: ("≈", "green"),
    Verdict.CONDITIONAL: ("◐", "yellow"),
    Verdict.WRONG: ("✗", "red"),
    Verdict.UNVERIFIABLE: ("?", "magenta"),
}
"""Symbol and colour: a reader who sees no colour sees the symbol."""
WIDTHS = (44, 16, 15, 15)
"""Columns of what and why, given, right, verdict."""


def claims_tables(texts: Texts, judged: list[Judged], *, disturbed: bool = False) -> list[RenderableType]:
    """One table a chapter, and a line that counts the verdicts; ``disturbed``: measured beside other work."""
    if not judged:
        return [texts("claims.none")]
    tables: list[RenderableType] = []
    for chapter in CHAPTERS:
        rows = [each for each in judged if each.claim.chapter == chapter]
        if rows:
            tables.append(_chapter(texts, chapter, rows))
    counts = {str(v): sum(each.verdict is v for each in judged) for v in Verdict}
    tables.append(texts("claims.summary", total=len(judged), **counts))
    if disturbed:
        tables.append(texts("claims.disturbed"))
    tables.append(texts("claims.more", id=judged[0].claim.id))
    return tables


def _chapter(texts: Texts, chapter: str, rows: list[Judged]) -> Table:
    title = texts("claims.title", chapter=texts(f"claims.chapter.{chapter}"), count=len(rows))
    table = new_table(title, *(texts(f"claims.column.{key}") for key in ("claim", "given", "computed")))
    table.add_column(texts("claims.column.verdict"))
    for column, width in zip(table.columns, WIDTHS, strict=True):
        column.width = width
        column.overflow = "fold"
    for each in rows:
        reason = wrapped(why(texts, each), WIDTHS[0])
        said = Text.assemble(
            (what(texts, each), "bold"), "  ", (each.claim.id, "cyan"), "\n", (reason, "dim")
        )
        right = computed_words(texts, each)
        table.add_row(said, given_words(texts, each), right, _verdict(texts, each.verdict))
    return table


def _verdict(texts: Texts, verdict: Verdict) -> Text:
    symbol, colour = LOOK[verdict]
    return Text(f"{symbol} {texts(f'claims.verdict.{verdict}')}", style=colour)


def claim_tables(texts: Texts, judged: Judged) -> list[RenderableType]:
    """One claim: verdict, formula with its numbers put in, every case, the sources."""
    table = new_table(what(texts, judged), "", "", text_columns=2)
    table.show_header = False
    main = judged.main
    right = computed_words(texts, judged)
    numbers = "" if main is None or not main.numbers else f"{main.numbers} = {right}"
    rows: dict[str, RenderableType] = {
        "id": judged.claim.id,
        "chapter": texts(f"claims.chapter.{judged.claim.chapter}"),
        "given": given_words(texts, judged),
        "computed": right,
        "verdict": _verdict(texts, judged.verdict),
        "why": why(texts, judged),
        "formula": "" if main is None else main.formula,
        "numbers": numbers,
        "basis": texts(f"claims.basis.{judged.basis.name.lower()}"),
        "who": judged.who,
    }
    for key, value in rows.items():
        if value:
            table.add_row(Text(texts(f"claims.field.{key}"), style="dim"), value)
    for number, source in enumerate(judged.sources):
        table.add_row(Text("" if number else texts("claims.field.sources"), style="dim"), Text(source))
    tables: list[RenderableType] = [table]
    if len(judged.cases) > 1:
        tables.append(_cases(texts, judged))
    if judged.claim.evidence:
        tables.append(_evidence(texts, judged))
    return tables


def _cases(texts: Texts, judged: Judged) -> Table:
    keys = ("case", "numbers", "value", "off", "outcome")
    table = new_table("", *(texts(f"claims.field.{key}") for key in keys), text_columns=2)
    for case in judged.cases:
        if isinstance(case.value, float):
            value = figure(texts, case.value, judged.claim.unit)
        else:
            value = case.value or texts("claims.unmeasured")
        table.add_row(
            case_words(texts, judged, case),
            Text(case.numbers if case.missing is None else case.missing.text(texts)),
            value,
            "" if case.off is None or case.off == 1 else f"{significant(case.off, 2)}x",
            texts(f"claims.outcome.{case.outcome}"),
        )
    return table


def _evidence(texts: Texts, judged: Judged) -> Table:
    keys = ("says", "who", "source")
    table = new_table("", *(texts(f"claims.field.{key}") for key in keys), text_columns=3)
    for each in judged.claim.evidence:
        table.add_row(texts(f"claims.says.{each.says}"), each.who, Text(each.source))
    return table
