"""The engine's own threads: they run one kernel together and meet at an atomic barrier.

No OpenMP, no TBB: nothing from the system is needed, and one lock lets two users of the engine
(a scene and a chat, say) take turns instead of crashing. The barrier itself is in ``sync.py``.
"""

import functools
import math
import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

__all__ = ["Team", "available_threads", "own_threads", "team"]


@functools.cache
def available_threads() -> int:
    """How many threads this process may really run: its CPU affinity, cut by a container's quota."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, min(count, math.ceil(quota))) if quota else max(1, count)


def own_threads() -> int:
    """This process's share of those, where torchrun started several on this machine."""
    beside = os.environ.get("LOCAL_WORLD_SIZE", "1")
    return max(1, available_threads() // max(1, int(beside) if beside.isdecimal() else 1))


def _cgroup_quota() -> float | None:
    """CPUs that the cgroup allows (version 2, then 1), or None where there is no limit."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        pass
    try:
        folder = Path("/sys/fs/cgroup/cpu")
        limit = (folder / "cpu.cfs_quota_us").read_text()
        period = (folder / "cpu.cfs_period_us").read_text()
        return int(limit) / int(period) if int(limit) > 0 else None
    except (OSError, ValueError):
        return None


class Team:
    """``size`` threads, the caller among them, that run one kernel at a time.

    A kernel is a ``nogil`` function ``kernel(rank, size, barrier, *args)``: ``rank`` says which part
    of the work is its own, and ``sync.wait(barrier, size)`` inside it waits for all the others.
    """

    def __init__(self, size: int) -> None:
        import numpy as np  # here, so that asking for help does not load it

        self.size = size
        self._lock = threading.Lock()
        self._barrier = np.zeros(16, np.int64)  # count and generation, on a cache line of their own
        self._orders: list[SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]]] = []
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        for rank in range(1, size):
            orders: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]] = SimpleQueue()
            self._orders.append(orders)
            threading.Thread(
                target=self._serve, args=(rank, orders), name=f"whygpu-{rank}", daemon=True
            ).start()

    def run(self, kernel: Callable[..., Any], *args: Any) -> None:
        """Run ``kernel(rank, size, barrier, *args)`` on every thread and wait for all."""
        with self._lock:
            if self.size == 1:
                kernel(0, 1, self._barrier, *args)
                return
            self._barrier[:] = 0
            for orders in self._orders:
                orders.put((kernel, args))
            failure: BaseException | None = None
            try:
                kernel(0, self.size, self._barrier, *args)
            except BaseException as error:
                failure = error
            for _ in self._orders:
                failure = self._done.get() or failure
            if failure is not None:
                raise failure

    def _serve(self, rank: int, orders: "SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]]") -> None:
        while True:
            kernel, args = orders.get()
            try:
                kernel(rank, self.size, self._barrier, *args)
                self._done.put(None)
            except BaseException as error:
                self._done.put(error)
            del kernel, args  # or the arrays would live until the next order


@functools.cache
def team(size: int) -> Team:
    """The process's team of that size."""
    return Team(size)
