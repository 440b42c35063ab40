"""Step 6's tables: one a model, this machine first."""

from itertools import groupby

from rich.console import RenderableType

from whygpu import predict
from whygpu.cli.tables.build import new_table
from whygpu.predict import Bound
from whygpu.story.numbers import duration
from whygpu.story.text import Texts

__all__ = ["band", "elsewhere_tables"]


def elsewhere_tables(texts: Texts, bounds: list[Bound]) -> list[RenderableType]:
    """Time per token: the floor, what to expect with its band, which roof sets the floor, whether it fits."""
    keys = ("machine", "floor", "token", "band", "binds", "fits")
    table = new_table(texts("elsewhere.title"), *(texts(f"elsewhere.{key}") for key in keys))
    labels = predict.labels()
    for model, rows in groupby(
        sorted(bounds, key=lambda bound: list(labels).index(bound.model)), lambda b: b.model
    ):
        table.add_section()
        table.add_row(f"[bold]{model}[/bold] ({labels[model]})")
        for bound in rows:
            fits = {True: "yes", False: "no", None: "unknown"}[bound.fits]
            table.add_row(
                f"  {bound.machine.name}",
                duration(bound.seconds),
                duration(bound.likely),
                band(bound),
                texts(f"elsewhere.binds.{bound.binds}"),
                texts(fits),
            )
    return [table, texts("elsewhere.note")]


def band(bound: Bound) -> str:
    """p10 to p90, or a dash."""
    e = bound.expected
    return "–" if e is None else f"{duration(e.low)} – {duration(e.high)}"
