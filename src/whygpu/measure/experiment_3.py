"""Experiment 3: a matrix product against an elementwise one. NumPy and the standard library only."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from whygpu.engine.basis import Basis
from whygpu.engine.progress import Progress, silent
from whygpu.measure.article import article
from whygpu.measure.timing import Timing, first_and_warm

__all__ = ["Experiment3", "Operation", "experiment_3"]

ITEM = 4
"""Bytes of a float32."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on two (n, n) matrices: its FLOP, the bytes of its operands and result, its time."""

    name: str
    side: int
    flop: int
    """By the convention 2mnk (matmul) or one a number (elementwise)."""
    exact_flop: int
    """Multiplications and additions that the definition needs: a sum of n products has n - 1 additions."""
    bytes: int
    first_seconds: float
    """Of the first call, whose result lies in memory that the system must hand out page by page."""
    timing: Timing
    """Of the warm calls, which write into the memory that the call before gave back."""

    @property
    def gflops(self) -> float:
        """GFLOP/s."""
        return self.flop / self.timing.median / 1e9

    @property
    def gbs(self) -> float:
        """GB/s, if each byte moved once."""
        return self.bytes / self.timing.median / 1e9

    @property
    def intensity(self) -> float:
        """FLOP a byte."""
        return self.flop / self.bytes

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "name": self.name,
            "side": self.side,
            "flop": self.flop,
            "exact_flop": self.exact_flop,
            "bytes": self.bytes,
            "flop_per_byte": self.intensity,
            "timing": self.timing.as_dict(),
            "ms": self.timing.median * 1e3,
            "first_ms": self.first_seconds * 1e3,
            "gflops": self.gflops,
            "gbs": self.gbs,
            "basis": str(Basis.MEASURED),
        }


@dataclass(frozen=True, slots=True)
class Experiment3:
    """Both operations and their ratios."""

    matmul: Operation
    elementwise: Operation

    @property
    def operations_ratio(self) -> float:
        """At 2mnk."""
        return self.matmul.flop / self.elementwise.flop

    @property
    def exact_operations_ratio(self) -> float:
        """With additions counted as the definition needs them."""
        return self.matmul.exact_flop / self.elementwise.exact_flop

    @property
    def time_ratio(self) -> float:
        """How many times longer the matrix product takes."""
        return self.matmul.timing.median / self.elementwise.timing.median

    @property
    def first_time_ratio(self) -> float:
        """The same of the two first calls."""
        return self.matmul.first_seconds / self.elementwise.first_seconds

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "matmul": self.matmul.as_dict(),
            "elementwise": self.elementwise.as_dict(),
            "operations_ratio": self.operations_ratio,
            "exact_operations_ratio": self.exact_operations_ratio,
            "time_ratio": self.time_ratio,
            "first_time_ratio": self.first_time_ratio,
            "article": {**article()["experiment_3"], "basis": str(Basis.PUBLISHED)},
        }


def experiment_3(*, quick: bool = False, progress: Progress = silent) -> Experiment3:
    """Time ``a @ b`` and ``a * b`` on float32 (1024, 1024), each as people write it (a new result a call)."""
    n = int(article()["experiment_3"]["side"])
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((n, n), dtype=np.float32) for _ in range(2))
    moved = 3 * n * n * ITEM
    seconds = 0.25 if quick else 1.0
    progress("measure.experiment", 0.0, number=3, step="matmul")
    first_matmul, matmul = first_and_warm(lambda: a @ b, seconds=seconds)
    progress("measure.experiment", 0.5, number=3, step="elementwise")
    first_elementwise, elementwise = first_and_warm(lambda: a * b, seconds=seconds)
    return Experiment3(
        Operation("matmul", n, 2 * n**3, n * n * (2 * n - 1), moved, first_matmul, matmul),
        Operation("elementwise", n, n * n, n * n, moved, first_elementwise, elementwise),
    )
