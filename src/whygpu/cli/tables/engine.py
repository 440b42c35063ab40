"""Step 5's tables: the ledger of both workloads."""

from rich.console import RenderableType
from rich.text import Text

from whygpu.cli.tables.build import new_table
from whygpu.story.numbers import count, duration, percent, si, significant
from whygpu.story.results import LedgerResult
from whygpu.story.text import Texts

__all__ = ["engine_tables"]

_SUMS = ("products", "flop", "bytes", "intensity", "seconds", "share")


def engine_tables(texts: Texts, accounts: LedgerResult) -> list[RenderableType]:
    """Totals, the largest products, and one sentence a workload."""
    title = texts("engine.title", frames=accounts.frames, tokens=accounts.tokens)
    headings = (texts("engine.who"), texts("engine.what"), *(texts(f"engine.{key}") for key in _SUMS))
    totals = new_table(title, *headings, text_columns=2)
    for row in accounts.totals:
        totals.add_row(
            texts(f"engine.{row.workload}"),
            texts("engine.is_product" if row.is_product else "engine.not_product"),
            count(row.products) if row.is_product else "",
            si(row.flop, ""),
            si(row.bytes, "B"),
            significant(row.flop_per_byte),
            duration(row.seconds),
            percent(row.share),
        )
    keys = ("who", "product", "shape", "count", "flop", "seconds")
    largest = new_table(texts("engine.largest"), *(texts(f"engine.{key}") for key in keys), text_columns=3)
    for shape in accounts.largest:
        largest.add_row(
            texts(f"engine.{shape.workload}"),
            shape.name,
            " x ".join(count(side) for side in (shape.batch, shape.m, shape.k, shape.n)),
            count(shape.count),
            si(shape.flop, ""),
            duration(shape.seconds),
        )
    verdicts = [
        texts(
            f"engine.verdict.{workload}",
            flop=percent(accounts.product_flop_share[workload]),
            time=percent(accounts.product_time_share[workload]),
        )
        for workload in accounts.product_time_share
    ]
    warning = [Text(texts("think.warning"), style="bold yellow")] if accounts.invented else []
    return [totals, largest, *verdicts, *warning]
