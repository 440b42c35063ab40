"""Why would scores take longer than attention x V, which has the same FLOP? Each suspect is timed apart.

The first matrix multiply of a process, and a thread count that holds from the start, need a process of
their own: ``python -m whygpu.measure.layouts`` is that process. NumPy and the standard library only.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whygpu.engine.basis import Basis
from whygpu.engine.threads import available_threads
from whygpu.measure.timing import Timing, first_and_warm, time_call

__all__ = ["Layouts", "Run", "Suspect", "examine"]

PATIENCE = 30.0
"""Seconds that one child process may take."""

THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True, slots=True)
class Run:
    """One fresh process: seconds of the first call and the warm ones, by operation.

    ``view``: Q @ K.T; ``contiguous``: Q @ (K.T copied); ``copy``: making that copy; ``values``: A @ V;
    ``softmax``: Q @ K.T, scaled, softmax; ``float64``: Q @ K.T in float64.
    """

    threads: int
    order: str
    """Which product was the process's first."""
    crowded: bool
    """Whether another process kept one core busy meanwhile."""
    first: dict[str, float]
    warm: dict[str, Timing]

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "threads": self.threads,
            "order": self.order,
            "crowded": self.crowded,
            "first_ms": {name: seconds * 1e3 for name, seconds in self.first.items()},
            "warm": {name: timing.as_dict() for name, timing in self.warm.items()},
        }


@dataclass(frozen=True, slots=True)
class Suspect:
    """One thing that could make scores slower than attention x V, and by how much it did here."""

    code: str
    text: str
    ratio: float
    gap: float
    """The article's ratio."""
    basis: Basis = Basis.MEASURED

    @property
    def verdict(self) -> str:
        """``explains`` from three quarters of the article's gap on, ``partly`` from 1.5x on, else ``no``."""
        if self.ratio >= 0.75 * self.gap:
            return "explains"
        return "partly" if self.ratio >= 1.5 else "no"

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "code": self.code,
            "text": self.text,
            "ratio": self.ratio,
            "article_ratio": self.gap,
            "verdict": self.verdict,
            "basis": str(self.basis),
        }


@dataclass(frozen=True, slots=True)
class Layouts:
    """All runs, the suspects in order of their ratio, and what could not be run."""

    runs: tuple[Run, ...]
    suspects: tuple[Suspect, ...]
    skipped: tuple[str, ...]

    @property
    def disturbed(self) -> bool:
        """Whether one thread beat all: other processes held the cores, and the ratios say little."""
        best = {run.threads: run.warm["values"].minimum for run in reversed(self.runs) if not run.crowded}
        return len(best) > 1 and best[1] < best[max(best)]

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "runs": [run.as_dict() for run in self.runs],
            "disturbed": self.disturbed,
            "suspects": [suspect.as_dict() for suspect in self.suspects],
            "skipped": list(self.skipped),
        }


def examine(sequence: int, d_model: int, gap: float, cores: int, *, quick: bool = False) -> Layouts:
    """Run the child processes; weigh the suspects against ``gap``, the article's ratio on ``cores``."""
    threads = available_threads()
    plan = [(threads, "view", False), (threads, "values", False)]
    plan += [(1, "view", False), (threads, "view", True)] if threads > 1 else []
    plan += [] if quick else [(threads, "contiguous", False)]
    runs, skipped = [], []
    for count, order, crowded in plan:
        run = _child(count, order, crowded, [str(sequence), str(d_model), str(0.04 if quick else 0.12)])
        if isinstance(run, Run):
            runs.append(run)
        else:
            skipped.append(f"{order} first on {count} threads: {run}")
    suspects = sorted(_suspects(runs, threads, gap, cores), key=lambda suspect: -suspect.ratio)
    return Layouts(tuple(runs), tuple(suspects), tuple(skipped))


def _child(threads: int, order: str, crowded: bool, sizes: list[str]) -> Run | str:
    """The run, or why there is none."""
    if not sys.executable:
        return "this program has no Python interpreter to start"
    source = os.fspath(Path(__file__).parents[2])
    path = os.pathsep.join(part for part in (source, os.environ.get("PYTHONPATH", "")) if part)
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads)) | {"PYTHONPATH": path}
    command = [sys.executable, "-m", __name__, order, *sizes]
    try:
        with _busy_core() if crowded else contextlib.nullcontext():
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True
            )
        values = json.loads(done.stdout)
        warm = {name: Timing.from_dict(timing) for name, timing in values["warm"].items()}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        return type(error).__name__
    return Run(threads, order, crowded, values["first"], warm)


@contextlib.contextmanager
def _busy_core() -> Iterator[None]:
    """Another process that computes without pause; it ends by itself if nobody ends it."""
    code = f"from time import monotonic as now\nend = now() + {PATIENCE}\nwhile now() < end: pass"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _suspects(runs: list[Run], threads: int, gap: float, cores: int) -> list[Suspect]:
    """Ratios of a time of scores to the warm time of attention x V on as many threads.

    Warm times are minima, which other processes disturb least; only where a busy core is the suspect
    itself, the median counts.
    """
    found: list[Suspect] = []
    by_plan = {(run.threads, run.order, run.crowded): run for run in runs}
    full = by_plan.get((threads, "view", False))
    if full is None:
        return found
    warm = {name: timing.minimum for name, timing in full.warm.items()}
    base = warm["values"]

    def add(code: str, text: str, seconds: float, against: float = base) -> None:
        found.append(Suspect(code, text, seconds / against, gap))

    add("view", "the transposed operand as a view, warm", warm["view"])
    add("contiguous", "the transposed operand copied before, warm", warm["contiguous"])
    add("copy", "copying the transposed operand inside the step", warm["contiguous"] + warm["copy"])
    add("first", "scores is the first matrix multiply of the process", full.first["view"])
    add("softmax", "scaling and softmax counted into the step", warm["softmax"])
    add("float64", "scores in float64, attention x V in float32", warm["float64"])
    later = by_plan.get((threads, "values", False))
    if later is not None:
        add("first-of-shape", "first call of scores, but not of the process", later.first["view"])
    single = by_plan.get((1, "view", False))
    if single is not None and threads > 1:
        alone = single.warm["view"].minimum
        add("one-thread", "both on one thread, view", alone, single.warm["values"].minimum)
        add("threads", f"scores on one thread, attention x V on {threads}", alone)
        text = (
            f"scores on one thread, attention x V on {cores} (measured on {threads}, x {cores} / {threads})"
        )
        found.append(Suspect("threads-there", text, alone / base * cores / threads, gap, Basis.DERIVED))
    crowded = by_plan.get((threads, "view", True))
    if crowded is not None:
        text = f"another process keeps one of {threads} cores busy during scores alone"
        add("busy-core", text, crowded.warm["view"].median)
    return found


def softmax(scores: Any) -> Any:
    """Over the last axis."""
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def main(arguments: list[str]) -> None:
    """The child: time everything, the product named ``order`` first, and print JSON."""
    order, sequence, width, seconds = arguments[0], int(arguments[1]), int(arguments[2]), float(arguments[3])
    random = np.random.default_rng(2)
    q, k, v = (random.standard_normal((sequence, width), dtype=np.float32) for _ in range(3))
    attention = random.random((sequence, sequence), dtype=np.float32)
    transposed = np.ascontiguousarray(k.T)
    scale = np.float32(width**-0.5)
    products: dict[str, Any] = {
        "view": lambda: q @ k.T,
        "values": lambda: attention @ v,
        "contiguous": lambda: q @ transposed,
    }
    first, warm = {}, {}
    for name in sorted(products, key=lambda name: name != order):
        first[name], warm[name] = first_and_warm(products[name], seconds=seconds)
    warm["copy"] = time_call(lambda: np.ascontiguousarray(k.T), seconds=seconds)
    warm["softmax"] = time_call(lambda: softmax((q @ k.T) * scale), seconds=seconds)
    q64, k64 = q.astype(np.float64), k.astype(np.float64)
    warm["float64"] = time_call(lambda: q64 @ k64.T, seconds=seconds)
    values = {"first": first, "warm": {name: timing.as_dict() for name, timing in warm.items()}}
    sys.stdout.write(json.dumps(values))


if __name__ == "__main__":
    main(sys.argv[1:])
