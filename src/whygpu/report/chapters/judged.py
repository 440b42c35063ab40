"""The article's claims: how many hold, and each with its verdict and why."""

from whygpu.engine.basis import Basis
from whygpu.report.book import Book
from whygpu.report.chapters.guesses import guess, whole_percent
from whygpu.report.view import Cell, Chapter, Column, Headline, Table, Value
from whygpu.story import numbers
from whygpu.story.claims.schema import ClaimJson

__all__ = ["judged"]

VERDICTS = ("exact", "rounded", "conditional", "wrong", "unverifiable")
HOLD = ("exact", "rounded")
WORST_FIRST = ("wrong", "conditional", "unverifiable", "exact", "rounded")
LOOK = {"exact": "✓", "rounded": "≈", "conditional": "◐", "wrong": "✗", "unverifiable": "?"}


def judged(book: Book) -> Chapter | None:
    """The view of the chapter; None where nothing was judged."""
    claims = book.results.claims
    if not claims:
        return None
    tables = {verdict: [c for c in claims if c.verdict == verdict] for verdict in VERDICTS}
    hold = sum(len(tables[verdict]) for verdict in HOLD)
    counted = book.derived("report.how.verdicts")
    value = Value(book.t("report.claims.hold", n=hold, total=len(claims)), counted)
    question = guess(book, "claims", hold / len(claims), value, (0.1, 0.5, 0.75, 0.98), whole_percent)
    parts = {
        "headlines": [
            Headline(
                Value(numbers.count(len(found)), counted),
                title(book, verdict),
                book.t(f"report.claims.means.{verdict}"),
            )
            for verdict, found in tables.items()
        ],
        "tables": [table(book, verdict, tables[verdict]) for verdict in WORST_FIRST if tables[verdict]],
    }
    return Chapter("claims", parts, guess=question)


def title(book: Book, verdict: str) -> str:
    """A verdict's symbol and name."""
    return book.t("report.claims.verdict", mark=LOOK[verdict], verdict=book.t(f"claims.verdict.{verdict}"))


def table(book: Book, verdict: str, claims: list[ClaimJson]) -> Table:
    """One verdict's claims, in the article's order."""
    t = book.t
    columns = [
        Column(t("report.claims.what"), numeric=False),
        Column(t("claims.column.given"), book.published("report.how.article"), numeric=False),
        Column(t("claims.column.computed"), numeric=False),
        Column(t("report.claims.why"), book.derived("report.how.why"), numeric=False),
    ]
    caption = t("report.claims.table", verdict=title(book, verdict), n=len(claims))
    return Table(caption, columns, [row(book, claim) for claim in claims], wide=True)


def row(book: Book, claim: ClaimJson) -> list[Cell]:
    """One claim; the basis of what is right is its formula with the numbers put in, or its sources."""
    language = book.t.language
    how = claim.formula
    if claim.with_numbers:
        how = f"{claim.formula}: {claim.with_numbers}"
    how = "; ".join([part for part in (how, *claim.sources[:2]) if part])
    basis = next((kind for kind in Basis if str(kind) == claim.basis), Basis.DERIVED)
    return [
        Cell(claim.what[language], note=book.t(f"claims.chapter.{claim.chapter}")),
        Cell(claim.given_text[language]),
        Cell(claim.computed_text[language], book.tag(basis, how or claim.id, foreign=True), mark="strong"),
        Cell(claim.why[language]),
    ]
