"""Arrays that one frame needs and the next can use again: fresh memory costs more than the work on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.fast.bins import BIN_SPACE, BIN_WORDS, ROWS
from whygpu.draw.fast.block import LANES
from whygpu.draw.fast.clip import MAX_PIECES
from whygpu.draw.fast.fetch import RAW
from whygpu.draw.fast.fields import FIELDS, STRIDE
from whygpu.draw.fast.runs import ATTRIBUTES, CORNERS, FUNCTIONS, LINEAR, RUNS
from whygpu.draw.fast.small import REALS, WORDS
from whygpu.draw.geometry import Geometry

__all__ = ["Screen", "Workspace"]

APART = 16
"""Unused int64 between two threads' counters, so that they share no cache line."""


class Screen:
    """What the raster stage needs for pictures of one size."""

    def __init__(self, threads: int, width: int, height: int) -> None:
        bands = -(-height // ROWS)
        self.counts = np.empty((threads, bands + 1 + APART), np.int64)
        self.begin = np.empty(bands + 2, np.int64)
        self.keys = _aligned(threads, ROWS * (-(-width // LANES) * LANES))


class Workspace:
    """What a scene needs: 24 bytes a triangle, 16 a vertex, and about half a megabyte a thread."""

    def __init__(self, geometry: Geometry, threads: int) -> None:
        self.threads = threads
        vertices, triangles = len(geometry.positions), len(geometry.triangles)
        self.fixed = np.empty((vertices, 4), np.int32)
        self.real = self.fixed.view(np.float32)
        self.flat = [self.fixed.reshape(-1).view(kind) for kind in (np.int32, np.float32, np.int64)]
        self.kept = np.empty((triangles, 2), np.int32)
        self.ordered = np.empty((2 * triangles, 2), np.int32)
        self.judged = _touched((threads, BIN_SPACE), np.int32)
        self.wide = _touched((threads, BIN_WORDS), np.int64)
        self.words = _touched((threads, WORDS), np.int64)
        self.reals = _touched((threads, REALS), np.float64)
        self.clip = np.empty((threads, 2, MAX_PIECES, 3, 4))
        self.pieces = np.empty((threads, 3 * MAX_PIECES, 4), np.int32)
        self.runs = _touched((threads, RUNS * STRIDE), np.int32)
        self.raw = _touched((threads, RAW * STRIDE), np.int64)
        self.corners = _touched((threads, CORNERS * STRIDE), np.float64)
        self.attributes = _touched((threads, ATTRIBUTES * STRIDE), np.float32)
        self.linear = _touched((threads, LINEAR * STRIDE), np.float32)
        self.functions = _touched((threads, FUNCTIONS * STRIDE), np.float64)
        self.places = _touched((threads, 3 * STRIDE), np.float64)
        self.coordinates = _touched((threads, 4 * STRIDE), np.float64)
        self.block = _touched((threads, FIELDS * STRIDE), np.float32)
        self.next = np.zeros((2, 8), np.int64)  # counters that threads share, a cache line each
        self.found = np.zeros((3, threads), np.int64)  # pixels tested, pixels lit, vertices clipped
        self._screens: dict[tuple[int, int], Screen] = {}

    def screen(self, width: int, height: int) -> Screen:
        """The space for pictures of a size; those of the last two sizes are kept."""
        size = width, height
        if size not in self._screens:
            for old in list(self._screens)[:-1]:
                del self._screens[old]
            self._screens[size] = Screen(self.threads, width, height)
        return self._screens[size]


def _aligned(rows: int, columns: int) -> NDArray[np.int64]:
    """(rows, columns) int64, the rows at the start of a cache line where ``columns`` is a multiple of 8."""
    space = np.empty(rows * columns + 8, np.int64)
    start = -space.ctypes.data % 64 // 8
    return space[start : start + rows * columns].reshape(rows, columns)


def _touched(shape: tuple[int, int], kind: type[np.generic]) -> NDArray[Any]:
    """An array whose pages are in memory, all ones.

    The compiler turns a branch within a loop into loads under a mask, and a masked load from a page that was
    never written costs hundreds of cycles, even where the mask is empty: the shade stage took three times as
    long whenever the allocator gave fresh pages.
    """
    return np.full(shape, 1, kind)
