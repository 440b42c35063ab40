"""What was drawn: step 3's table, a line a picture, the ledger of drawing; and what there is to draw."""

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from whygpu.cli.tables.build import new_table
from whygpu.story.numbers import count, duration, percent, si, significant, size
from whygpu.story.results import Drawing
from whygpu.story.text import Texts

__all__ = ["drawing_tables", "formats_table", "ledger_tables", "picture_line", "scenes_table"]


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


def picture_line(texts: Texts, picture: Any) -> Text:
    """One line about one file."""
    values = {
        "scene": picture.scene,
        "triangles": count(picture.triangles),
        "lit": count(picture.pixels_lit / picture.frames),
        "time": duration(picture.draw_seconds / picture.frames),
        "frames": count(picture.frames),
        "seconds": duration(picture.frames / picture.fps),
    }
    line = texts("drawing.line.film" if picture.frames > 1 else "drawing.line.still", **values)
    if picture.bytes is not None:
        line += texts("drawing.line.file", file=picture.file, size=size(picture.bytes))
    return Text(line)


def ledger_tables(texts: Texts, lines: Sequence[Any]) -> list[RenderableType]:
    """Stage by stage: the products, then what is not one; then what that means."""
    keys = ("products", "flop", "bytes", "intensity", "seconds", "share")
    headings = (texts("ledger.stage"), texts("ledger.name"), *(texts(f"engine.{key}") for key in keys))
    table = new_table(texts("drawing.ledger"), *headings, text_columns=2)
    for stage in dict.fromkeys(line.stage for line in lines):
        table.add_section()
        rows = [line for line in lines if line.stage == stage]
        for place, line in enumerate(rows):
            key = f"drawing.step.{line.name}"
            table.add_row(
                _named(texts, f"drawing.stage.{stage}", stage) if not place else "",
                texts(key) if texts.has(key) else line.name,
                count(line.products) if line.is_product else "",
                si(line.flop, "") if line.flop else "",
                si(line.bytes, "B") if line.bytes else "",
                significant(line.flop_per_byte) if line.bytes and line.flop else "",
                duration(line.seconds),
                percent(line.share),
                style="" if line.is_product else "dim",
            )
    return [table, _verdict(texts, lines)]


def _named(texts: Texts, key: str, name: str) -> str:
    return texts(key) if texts.has(key) else name


def _verdict(texts: Texts, lines: Sequence[Any]) -> Text:
    flop = sum(line.flop for line in lines) or 1
    values = {
        "flop": percent(sum(line.flop for line in lines if line.is_product) / flop),
        "time": percent(sum(line.share for line in lines if line.is_product)),
    }
    return Text(texts("drawing.verdict", **values))


def scenes_table(texts: Texts, names: Sequence[str]) -> RenderableType:
    """The built-in scenes."""
    table = new_table(
        texts("drawing.list.scenes"), texts("draw.scene"), texts("drawing.list.what"), text_columns=2
    )
    for name in names:
        table.add_row(name, _named(texts, f"drawing.scene.{name}", ""))
    return table


def formats_table(texts: Texts, formats: Sequence[Any]) -> RenderableType:
    """The types of file, and what each can hold."""
    keys = ("file", "holds", "transparency", "loss", "here")
    table = new_table(
        texts("drawing.list.formats"), *(texts(f"drawing.list.{key}") for key in keys), text_columns=5
    )
    for kind in formats:
        holds = "still" if not kind.moves else "both" if kind.still else "film"
        if kind.suffix in (".npy", ".npz"):
            holds = kind.suffix[1:]
        here = texts("drawing.yes") if kind.installed else f"pip install 'whygpu[{kind.extra}]'"
        table.add_row(
            kind.suffix,
            texts(f"drawing.holds.{holds}"),
            texts(f"drawing.alpha.{kind.alpha}"),
            texts(f"drawing.lossless.{kind.lossless}"),
            here,
        )
    return table
