"""The models: those that are known by name, and those on this disk."""

from typing import Any

from rich.console import RenderableType

from whygpu.cli.tables.build import new_table
from whygpu.story.numbers import count, si, size
from whygpu.story.text import Texts

__all__ = ["models_tables"]


def models_tables(texts: Texts, known: list[tuple[Any, Any]], here: list[Any]) -> list[RenderableType]:
    """The catalogue with what is here of it, then what is on the disk and takes room there."""
    keys = ("name", "family", "layers", "width", "heads", "parameters", "context", "file")
    table = new_table(texts("models.title"), *(texts(f"models.{key}") for key in keys), text_columns=2)
    names = {model.name for model in here if model.whole}
    for a, file in known:
        heads = str(a.heads) if a.heads == a.kv_heads else f"{a.heads} / {a.kv_heads}"
        if a.name in names:
            state = texts("models.file.here")
        elif file is not None:
            state = texts("models.file.fetch", size=size(file.size))
        else:
            state = texts("models.file.none")
        shape = (str(a.layers), count(a.d_model), heads, si(a.parameters, ""), count(a.context), state)
        table.add_row(a.name, a.family, *shape, style="bold" if a.name in names else "")
    return [table, _disk_table(texts, here) if here else texts("models.none-here")]


def _disk_table(texts: Texts, here: list[Any]) -> RenderableType:
    keys = ("name", "size", "cache", "path")
    table = new_table(texts("models.here"), *(texts(f"models.{key}") for key in keys))
    for column, justify in zip(table.columns, ("left", "right", "left", "left"), strict=True):
        column.justify = justify  # type: ignore[assignment]
    for model in here:
        place = "Hugging Face" if model.shared else "whygpu"
        name = model.name if model.whole else texts("models.broken-off", name=model.name)
        table.add_row(name, size(model.size), place, str(model.path))
    return table
