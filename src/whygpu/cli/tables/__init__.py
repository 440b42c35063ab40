"""Results as Rich tables that fit 100 columns, one file a kind of result."""

from collections.abc import Callable
from typing import Any

from rich.console import RenderableType

from whygpu.cli.tables.drawing import drawing_tables
from whygpu.cli.tables.elsewhere import elsewhere_tables
from whygpu.cli.tables.engine import engine_tables
from whygpu.cli.tables.experiments import experiment_1_tables, experiment_2_tables, experiment_3_tables
from whygpu.cli.tables.machine import machine_tables
from whygpu.cli.tables.thinking import thinking_tables
from whygpu.story.text import Texts

__all__ = [
    "machine_tables",
    "step_tables",
]

_STEPS: dict[str, Callable[[Texts, Any], list[RenderableType]]] = {
    "machine": machine_tables,
    "experiment_1": experiment_1_tables,
    "experiment_2": experiment_2_tables,
    "experiment_3": experiment_3_tables,
    "draw": drawing_tables,
    "think": thinking_tables,
    "engine": engine_tables,
    "elsewhere": elsewhere_tables,
}


def step_tables(step: str, texts: Texts, value: Any) -> list[RenderableType]:
    """The tables of one step of the main job."""
    return _STEPS[step](texts, value)
