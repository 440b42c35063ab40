"""What it costs to start a piece of work, however small: a chain of tiny calls, each after the last."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from whygpu import engine
from whygpu.measure.rates import Launch
from whygpu.measure.streams import KernelStreams
from whygpu.measure.timing import Timing, time_call

__all__ = ["CHAIN", "launch_costs"]

CHAIN = 32


def launch_costs(counts: list[int], *, seconds: float, portable: bool) -> list[Launch]:
    """An addition of 8 numbers, a 4x4 product through the engine, and the kernels' team of each size."""
    vector, ones = np.zeros(8, np.float32), np.ones(8, np.float32)
    square = np.eye(4, dtype=np.float32)

    def add() -> None:
        for _ in range(CHAIN):
            np.add(vector, ones, out=vector)

    def multiply() -> None:
        product = square
        for _ in range(CHAIN):
            product = engine.matmul(product, square, name="launch")

    chains: list[tuple[str, int, Callable[[], None]]] = [("numpy", 1, add), ("matmul", 1, multiply)]
    chains += [] if portable else [("team", threads, _team(threads)) for threads in counts]
    each = seconds / len(chains)
    costs = []
    for name, threads, chain in chains:
        timing = time_call(chain, seconds=each)
        costs.append(Launch(name, threads, CHAIN, _a_link(timing)))
    return costs


def _team(threads: int) -> Callable[[], None]:
    streams = KernelStreams(threads)

    def chain() -> None:
        for _ in range(CHAIN):
            streams.nothing()

    return chain


def _a_link(timing: Timing) -> Timing:
    parts = {name: getattr(timing, name) / CHAIN for name in ("median", "q1", "q3", "minimum", "maximum")}
    return replace(timing, **parts)
