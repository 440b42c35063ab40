"""The article's three experiments. Importing this loads NumPy and the standard library, nothing else."""

from collections.abc import Callable
from typing import Any

from whygpu.engine.errors import UserError
from whygpu.engine.progress import Progress, silent
from whygpu.measure.article import article
from whygpu.measure.experiment_1 import Experiment1, experiment_1
from whygpu.measure.experiment_2 import Experiment2, Layer, Step, experiment_2
from whygpu.measure.experiment_3 import Experiment3, experiment_3

__all__ = [
    "NUMBERS",
    "Experiment1",
    "Experiment2",
    "Experiment3",
    "Layer",
    "Step",
    "article",
    "experiment_1",
    "experiment_2",
    "experiment_3",
    "run",
]

NUMBERS = (1, 2, 3)


def run(
    number: int, *, quick: bool = False, progress: Progress = silent
) -> Experiment1 | Experiment2 | Experiment3:
    """Run experiment 1, 2 or 3. Each result has ``as_dict()``.

    Raises
    ------
    UserError
        For any other number.
    """
    experiments: dict[int, Callable[..., Any]] = {1: experiment_1, 2: experiment_2, 3: experiment_3}
    if number not in experiments:
        raise UserError(f"experiment {number!r} is unknown; known: 1, 2, 3")
    result: Experiment1 | Experiment2 | Experiment3 = experiments[number](quick=quick, progress=progress)
    return result
