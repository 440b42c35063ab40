"""The experiments on a device beside the CPU."""

from rich.console import RenderableType
from rich.text import Text

from whygpu.cli.tables.build import new_table
from whygpu.engine import Backend
from whygpu.measure.side_by_side import Row
from whygpu.story.numbers import duration, ratio, si
from whygpu.story.text import Texts

__all__ = ["side_by_side_tables"]


def side_by_side_tables(
    texts: Texts, here: list[Row], there: list[Row], device: Backend
) -> list[RenderableType]:
    """``here`` on NumPy, ``there`` on ``device``: the same work in the same order."""
    headings = [
        texts("side.work"),
        texts("side.flop"),
        "NumPy",
        device.name,
        texts("side.rate"),
        texts("side.faster"),
    ]
    table = new_table(texts("side.title", device=device.name, card=device.card), *headings)
    for at, (ours, theirs) in enumerate(zip(here, there, strict=True)):
        if at and here[at - 1].experiment != ours.experiment:
            table.add_section()
        table.add_row(
            texts(f"side.{ours.experiment}", name=ours.name),
            si(ours.flop, ""),
            duration(ours.timing.minimum),
            duration(theirs.timing.minimum),
            si(theirs.flop / theirs.timing.minimum, "FLOP/s"),
            ratio(ours.timing.minimum / theirs.timing.minimum),
        )
    note = texts("device.no-gpu", device=device.card) if device.name in ("torch:cpu", "jax:cpu") else ""
    return [table, *([Text(note, style="yellow")] if note else [])]
