"""Step 3's table."""

from typing import Any

from rich.console import RenderableType

from whygpu.cli.tables.build import new_table
from whygpu.story.numbers import count, duration, si, significant
from whygpu.story.results import Drawing
from whygpu.story.text import Texts

__all__ = ["drawing_line", "drawing_tables"]


def drawing_tables(texts: Texts, drawings: list[Drawing]) -> list[RenderableType]:
    """Each scene by each path: triangles, time, rates."""
    if not drawings:
        return []
    keys = ("scene", "path", "triangles", "vertices", "ms", "fps", "vertex_rate", "first")
    title = texts("draw.title", width=drawings[0].width, height=drawings[0].height)
    table = new_table(title, *(texts(f"draw.{key}") for key in keys), text_columns=2)
    for drawing in drawings:
        table.add_row(
            drawing.scene,
            drawing.path,
            count(drawing.triangles),
            count(drawing.vertices),
            significant(drawing.seconds * 1e3),
            significant(drawing.frames_per_second),
            si(drawing.vertices_per_second, ""),
            duration(drawing.first_seconds),
        )
    return [table]


def drawing_line(texts: Texts, scene: str, statistics: Any, file: str | None) -> str:
    """One line about one frame."""
    values = {
        "scene": scene,
        "triangles": count(statistics.triangles),
        "lit": count(statistics.pixels_lit),
        "time": duration(sum(statistics.seconds.values())),
    }
    return texts("draw.line.file", file=file, **values) if file else texts("draw.line", **values)
