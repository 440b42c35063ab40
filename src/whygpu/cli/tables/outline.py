"""What one model costs, as a table."""

from typing import Any

from rich.console import RenderableType

from whygpu.cli.tables.build import new_table
from whygpu.models.lookup import published
from whygpu.models.outline import Outline
from whygpu.story.numbers import count, si, size
from whygpu.story.text import Texts

__all__ = ["outline_entry", "outline_table"]


def outline_entry(shape: Outline) -> dict[str, Any]:
    """As plain values, for JSON."""
    stated, active = published(shape.name)
    return {
        "name": shape.name,
        "parameters": shape.parameters,
        "active": shape.active,
        "layers": shape.layers,
        "d_model": shape.d_model,
        "vocab": shape.vocab,
        "context": shape.context,
        "tied_head": shape.tied,
        "mixture": shape.is_mixture,
        "cached_values_per_token": shape.cached(2) - shape.cached(1),
        "published_parameters": stated,
        "published_active": active,
        "source": shape.source,
    }


def outline_table(texts: Texts, shape: Outline) -> RenderableType:
    """One line a figure."""
    stated, active = published(shape.name)
    table = new_table(shape.name, texts("predict.what"), texts("predict.value"))
    table.add_row(texts("models.parameters"), si(shape.parameters, ""))
    if stated is not None:
        table.add_row(f"  {texts('models.published')}", si(stated, ""))
    table.add_row(texts("models.active"), si(shape.active, ""))
    if active is not None:
        table.add_row(f"  {texts('models.published')}", si(active, ""))
    table.add_row(texts("models.layers"), count(shape.layers))
    table.add_row("d_model", count(shape.d_model))
    table.add_row(texts("models.vocab"), count(shape.vocab))
    table.add_row(texts("models.context"), count(shape.context))
    table.add_row(texts("models.kv"), f"{size(2 * (shape.cached(2) - shape.cached(1)))} (F16)")
    table.add_row(texts("predict.source"), shape.source)
    return table
