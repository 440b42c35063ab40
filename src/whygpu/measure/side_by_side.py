"""The article's experiments and the vertex race as portable code: any device beside the CPU.

``experiments`` measures the CPU as people write NumPy; here one function measures every device alike, by the
device's own clock, its arrays already in its memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from whygpu.engine import Backend, using
from whygpu.engine.basis import Basis
from whygpu.engine.progress import Progress, silent
from whygpu.measure.article import article
from whygpu.measure.device import time_on
from whygpu.measure.timing import Timing

__all__ = ["HEADS", "VERTICES", "Row", "rows"]

SIDES = (64, 256, 1024, 4096)
HEADS = 12
VERTICES = 1_000_000
ITEM = 4
"""Bytes of a float32."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured piece of work on one device."""

    experiment: str
    """``1``, ``2``, ``3``, or ``vertices``."""
    name: str
    shape: tuple[int, ...]
    """(batch, m, n, k) of a product, else the array's."""
    flop: int
    bytes: int
    timing: Timing

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "experiment": self.experiment,
            "name": self.name,
            "shape": list(self.shape),
            "flop": self.flop,
            "bytes": self.bytes,
            "timing": self.timing.as_dict(),
            "gflops": self.flop / self.timing.median / 1e9,
            "gbs": self.bytes / self.timing.median / 1e9,
            "basis": str(Basis.MEASURED),
        }


def rows(
    backend: Backend,
    *,
    numbers: tuple[int, ...] = (1, 2, 3),
    quick: bool = False,
    progress: Progress = silent,
) -> list[Row]:
    """Run the experiments of these numbers (3 brings the vertex race) on a device, in float32."""
    bench = _Bench(backend, 0.05 if quick else 0.2)
    with using(backend):
        if 1 in numbers:
            progress("measure.experiment", 0.0, number=1, step=backend.name)
            for side in SIDES[: 3 if quick else 4]:
                a, b = bench.random(side, side), bench.random(side, side)
                bench.product("1", f"{side} x {side}", a, b)
        if 2 in numbers:
            progress("measure.experiment", 0.3, number=2, step=backend.name)
            _layer(bench)
        if 3 in numbers:
            progress("measure.experiment", 0.8, number=3, step=backend.name)
            side = int(article()["experiment_3"]["side"])
            a, b = bench.random(side, side), bench.random(side, side)
            bench.product("3", "matmul", a, b)
            bench.other("3", "elementwise", lambda: a * b, (side, side), 1, 3)
            bench.product("vertices", "vertex race", bench.random(VERTICES, 4), bench.random(4, 4))
    return bench.rows


def _layer(bench: "_Bench") -> None:
    """One GPT-2-small layer, 512 tokens, 12 heads of 64: its products, then everything else."""
    theirs = article()["experiment_2"]
    length, width, d_ff = theirs["sequence"], theirs["d_model"], theirs["d_ff"]
    xp = bench.backend.xp
    x = bench.random(length, width)
    for name in ("Q", "K", "V"):
        bench.product("2", name, x, bench.random(width, width))
    q, k, v = (bench.random(HEADS, length, width // HEADS) for _ in range(3))
    bench.product("2", "scores", q, k.mT)
    scores = bench.random(HEADS, length, length)
    bench.product("2", "attention x V", scores, v)
    bench.product("2", "out", x, bench.random(width, width))
    bench.product("2", "FFN up", x, bench.random(width, d_ff))
    hidden = bench.random(length, d_ff)
    bench.product("2", "FFN down", hidden, bench.random(d_ff, width))

    def norm() -> Any:
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        return centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)

    def softmax() -> Any:
        raised = xp.exp(scores * 0.125 - xp.max(scores * 0.125, axis=-1, keepdims=True))
        return raised / xp.sum(raised, axis=-1, keepdims=True)

    def gelu() -> Any:
        return 0.5 * hidden * (1.0 + xp.tanh(0.7978845608 * (hidden + 0.044715 * hidden * hidden * hidden)))

    bench.other("2", "LayerNorm", norm, (length, width), 7, 2)
    bench.other("2", "scale and softmax", softmax, (HEADS, length, length), 6, 2)
    bench.other("2", "GELU", gelu, (length, d_ff), 9, 2)
    bench.other("2", "residual add", lambda: x + x, (length, width), 1, 3)


class _Bench:
    """Times pieces of work on one device."""

    def __init__(self, backend: Backend, seconds: float) -> None:
        self.backend, self.seconds = backend, seconds
        self.rows: list[Row] = []
        self._random = np.random.default_rng(0)
        self._last: Any = None

    def random(self, *shape: int) -> Any:
        """Standard normal float32 on the device."""
        return self.backend.asarray(self._random.standard_normal(shape, dtype=np.float32))

    def product(self, experiment: str, name: str, a: Any, b: Any) -> None:
        """Time ``a @ b``."""
        m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
        batch = prod(a.shape[:-2])
        moved = ITEM * (prod(a.shape) + prod(b.shape) + batch * m * n)
        timing = self._time(lambda: self.backend.matmul(a, b), 2 * batch * m * n * k)
        self.rows.append(Row(experiment, name, (batch, m, n, k), 2 * batch * m * n * k, moved, timing))

    def other(
        self,
        experiment: str,
        name: str,
        call: Callable[[], Any],
        shape: tuple[int, ...],
        flop: int,
        arrays: int,
    ) -> None:
        """Time a step that is no product: ``flop`` a number, ``arrays`` of its shape read and written."""
        values = prod(shape)
        timing = self._time(call, flop * values)
        self.rows.append(Row(experiment, name, shape, flop * values, arrays * ITEM * values, timing))

    def _time(self, call: Callable[[], Any], flop: int) -> Timing:
        def keep() -> None:
            self._last = call()

        # short work is timed several at once: a clock, or an event, costs microseconds itself
        return time_on(self.backend, keep, self.seconds, inner=max(1, min(50, 20_000_000 // max(flop, 1))))
