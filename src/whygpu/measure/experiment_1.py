"""Experiment 1: three nested Python loops against BLAS. NumPy and the standard library only."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from whygpu.engine.backends.python import multiply
from whygpu.engine.basis import Basis
from whygpu.engine.progress import Progress, silent
from whygpu.measure.article import article
from whygpu.measure.timing import Timing, time_call

__all__ = ["Experiment1", "Loop", "Size", "experiment_1"]

SIDES = (64, 256, 1024, 4096)


@dataclass(frozen=True, slots=True)
class Loop:
    """The triple loop: measured at one side, extrapolated by the cube of the side."""

    side: int
    timing: Timing

    @property
    def flop(self) -> int:
        """2 FLOP a multiply-add."""
        return 2 * self.side**3

    def seconds(self, side: int) -> float:
        """At ``side`` by (side / measured side) cubed; at the measured side the measured time itself."""
        return self.timing.median * (side / self.side) ** 3

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "side": self.side,
            "timing": self.timing.as_dict(),
            "ms": self.timing.median * 1e3,
            "gflops": self.flop / self.timing.median / 1e9,
            "basis": str(Basis.MEASURED),
        }


@dataclass(frozen=True, slots=True)
class Size:
    """One library at one side: its time, its rate, and how many times faster than the loop."""

    library: str
    side: int
    timing: Timing
    loop_seconds: float
    loop_basis: Basis
    """Measured at the loop's own side, derived (extrapolated) elsewhere."""
    article_ms: float | None
    article_speedup: float | None

    @property
    def gflops(self) -> float:
        """GFLOP/s."""
        return 2 * self.side**3 / self.timing.median / 1e9

    @property
    def speedup(self) -> float:
        """The loop's time over this one's."""
        return self.loop_seconds / self.timing.median

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "library": self.library,
            "side": self.side,
            "timing": self.timing.as_dict(),
            "ms": self.timing.median * 1e3,
            "basis": str(Basis.MEASURED),
            "flop": 2 * self.side**3,
            "gflops": self.gflops,
            "loop_ms": self.loop_seconds * 1e3,
            "loop_basis": str(self.loop_basis),
            "speedup": self.speedup,
            "article": {
                "ms": self.article_ms,
                "speedup": self.article_speedup,
                "basis": str(Basis.PUBLISHED),
            },
        }


@dataclass(frozen=True, slots=True)
class Experiment1:
    """The loop, every size of every library, and what was left out."""

    loop: Loop
    sizes: tuple[Size, ...]
    libraries: tuple[str, ...]
    """Name and version, NumPy first."""
    extrapolated_side: int
    skipped: tuple[str, ...]

    @property
    def extrapolated_minutes(self) -> float:
        """Minutes that the loop would take at ``extrapolated_side``."""
        return self.loop.seconds(self.extrapolated_side) / 60

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        theirs = article()["experiment_1"]
        return {
            "loop": {
                **self.loop.as_dict(),
                "extrapolated_side": self.extrapolated_side,
                "extrapolated_minutes": self.extrapolated_minutes,
                "extrapolated_basis": str(Basis.DERIVED),
                "formula": f"loop time x ({self.extrapolated_side} / {self.loop.side})^3",
                "article": {
                    "ms": theirs["loop_ms"],
                    "extrapolated_minutes": theirs["extrapolated_minutes"],
                    "basis": str(Basis.PUBLISHED),
                },
            },
            "libraries": list(self.libraries),
            "sizes": [size.as_dict() for size in self.sizes],
            "skipped": list(self.skipped),
        }


def experiment_1(
    *, quick: bool = False, torch: bool | None = None, progress: Progress = silent
) -> Experiment1:
    """Time the loop at 64 and float32 products by NumPy (and PyTorch) at 64, 256, 1024 and 4096.

    ``torch``: None asks PyTorch where it is installed (``quick``: only where it is loaded already, since
    loading takes seconds). ``quick`` leaves 4096 out.
    """
    theirs = article()["experiment_1"]
    progress("measure.experiment", 0.0, number=1, step="loop")
    loop = _time_loop(theirs["loop_side"], 0.3 if quick else 1.0)
    sides = SIDES[:-1] if quick else SIDES
    skipped = [f"{SIDES[-1]} x {SIDES[-1]} (quick)"] if quick else []
    libraries = [f"NumPy {np.__version__}"]
    multipliers: list[tuple[str, Callable[[int], Callable[[], object]]]] = [("numpy", _numpy_product)]
    module = _torch(torch, quick, skipped)
    if module is not None:
        libraries.append(f"PyTorch {module.__version__}")
        multipliers.append(("torch", lambda side: _torch_product(module, side)))
    sizes: list[Size] = []
    for library, prepare in multipliers:
        for side in sides:
            progress("measure.experiment", len(sizes) / len(sides) / len(multipliers), number=1, step=library)
            timing = time_call(
                prepare(side), seconds=0.15 if quick else 0.5, least=2 if side == SIDES[-1] else 3
            )
            sizes.append(_size(library, side, timing, loop))
    return Experiment1(loop, tuple(sizes), tuple(libraries), theirs["extrapolated_side"], tuple(skipped))


def _time_loop(side: int, seconds: float) -> Loop:
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((side, side), dtype=np.float32).tolist() for _ in range(2))
    return Loop(side, time_call(lambda: multiply(a, b), seconds=seconds))


def _size(library: str, side: int, timing: Timing, loop: Loop) -> Size:
    theirs = article()["experiment_1"]
    place = theirs["sides"].index(side) if side in theirs["sides"] else None
    return Size(
        library,
        side,
        timing,
        loop.seconds(side),
        Basis.MEASURED if side == loop.side else Basis.DERIVED,
        None if place is None else theirs["blas_ms"][place],
        None if place is None else theirs["speedup"][place],
    )


def _numpy_product(side: int) -> Callable[[], object]:
    random = np.random.default_rng(side)
    a, b = (random.standard_normal((side, side), dtype=np.float32) for _ in range(2))
    out = np.empty((side, side), np.float32)
    return lambda: np.matmul(a, b, out=out)


def _torch_product(torch: Any, side: int) -> Callable[[], object]:
    random = np.random.default_rng(side)
    a, b = (torch.from_numpy(random.standard_normal((side, side), dtype=np.float32)) for _ in range(2))
    out = torch.empty((side, side))

    def product() -> object:
        with torch.inference_mode():
            return torch.matmul(a, b, out=out)

    return product


def _torch(wanted: bool | None, quick: bool, skipped: list[str]) -> Any:
    """The PyTorch module, or None with the reason noted."""
    if wanted is False:
        return None
    if importlib.util.find_spec("torch") is None:
        skipped.append("PyTorch (not installed)")
        return None
    if wanted is None and quick and "torch" not in sys.modules:
        skipped.append("PyTorch (quick)")
        return None
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError) as error:  # installed, but its libraries do not load
        skipped.append(f"PyTorch ({str(error).splitlines()[0]})")
        return None
