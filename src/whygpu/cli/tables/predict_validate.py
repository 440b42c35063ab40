"""The tables of ``whygpu predict --validate``."""

from itertools import groupby

from rich.console import RenderableType

from whygpu.cli.tables.build import new_table
from whygpu.predict.validate import Validation
from whygpu.story.text import Texts

__all__ = ["validation_tables"]


def validation_tables(texts: Texts, result: Validation) -> list[RenderableType]:
    """Errors by group, a section a target; then what could not be resolved, and what beats its bound."""
    keys = ("by", "rows", "signed", "median", "p90", "coverage")
    table = new_table(texts("predict.validate.title"), *(texts(f"predict.validate.{key}") for key in keys))
    for target, groups in groupby(result.groups, lambda group: group.target):
        table.add_section()
        table.add_row(f"[bold]{target}[/bold]")
        for g in groups:
            table.add_row(
                f"  {g.by}",
                str(g.rows),
                f"{g.signed_median:+.1f} %",
                f"{g.median_abs:.1f} %",
                f"{g.p90_abs:.1f} %",
                f"{g.coverage:.0f} %",
            )
    shown: list[RenderableType] = [table]
    for title, rows in (("unresolved", result.unresolved), ("impossible", result.impossible)):
        if rows:
            listing = new_table(
                texts(f"predict.validate.{title}", rows=len(rows)),
                "id",
                texts("predict.validate.why"),
                text_columns=2,
            )
            for name, why in rows:
                listing.add_row(name, why)
            shown.append(listing)
    return [*shown, texts("predict.validate.note")]
