"""Memory streams: who touches, reads and writes the probe's buffers, portable (NumPy) or fast (Numba)."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whygpu.engine.threads import team

__all__ = ["KernelStreams", "NumpyStreams", "Streams", "open_streams"]

Words = NDArray[np.uint64]

SCALE = np.float32(0.25)


class Streams(Protocol):
    """The probe's five loops over ``threads`` bands of 8-byte words (two float32 each)."""

    name: str
    threads: int

    def fill(self, words: Words, seed: int) -> None:
        """First touch of (n,) words: random float32 in [1, 2), each band by the thread that reads it."""

    def read(self, words: Words) -> int:
        """The sum of (n,) words modulo 2^64."""

    def read_again(self, words: Words, passes: int) -> None:
        """Read each row of (threads, n) words ``passes`` times on a thread of its own."""

    def copy(self, target: Words, source: Words) -> None:
        """Write (n,) words that depend on (n,) words."""

    def triad(self, target: Words, left: Words, right: Words) -> None:
        """``target = left + 0.25 * right`` over (2n,) float32."""


class KernelStreams:
    """Numba kernels on the engine's own threads."""

    name = "numba"

    def __init__(self, threads: int) -> None:
        from whygpu.measure.fast import streams

        self.threads = threads
        self._fast: Any = streams
        self._team = team(threads)
        self._sums = np.zeros((threads, 8), np.uint64)

    def fill(self, words: Words, seed: int) -> None:
        """See ``Streams``."""
        self._team.run(self._fast.fill, words, np.uint64(seed))

    def read(self, words: Words) -> int:
        """See ``Streams``."""
        self._team.run(self._fast.read, words, self._sums)
        return int(self._sums[:, 0].sum())

    def read_again(self, words: Words, passes: int) -> None:
        """See ``Streams``."""
        self._team.run(self._fast.read_again, words, self._sums, passes)

    def copy(self, target: Words, source: Words) -> None:
        """See ``Streams``."""
        self._team.run(self._fast.copy, target, source)

    def triad(self, target: Words, left: Words, right: Words) -> None:
        """See ``Streams``."""
        floats = [words.view(np.float32) for words in (target, left, right)]
        self._team.run(self._fast.triad, *floats, SCALE)

    def nothing(self) -> None:
        """Start the team and end it."""
        self._team.run(self._fast.nothing)


class NumpyStreams:
    """The same in NumPy on plain threads (NumPy lets go of the interpreter's lock in its loops)."""

    name = "numpy"
    BLOCK = 1 << 15
    """Words at a time where NumPy needs a temporary: it then stays in the cache."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads)

    def _bands(self, n: int) -> list[slice]:
        lines = (n + 7) // 8
        edges = [min(n, lines * rank // self.threads * 8) for rank in range(self.threads + 1)]
        return [slice(a, b) for a, b in pairwise(edges)]

    def fill(self, words: Words, seed: int) -> None:
        """See ``Streams``."""

        def touch(band: slice) -> None:
            with np.errstate(over="ignore"):
                for start in range(band.start, band.stop, self.BLOCK):
                    part = slice(start, min(start + self.BLOCK, band.stop))
                    z = np.arange(part.start, part.stop, dtype=np.uint64)
                    z = (z + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
                    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    z ^= z >> np.uint64(31)
                    words[part] = (z & np.uint64(0x007FFFFF007FFFFF)) | np.uint64(0x3F8000003F800000)

        list(self._pool.map(touch, self._bands(words.size)))

    def read(self, words: Words) -> int:
        """See ``Streams``."""
        sums = self._pool.map(lambda band: int(words[band].sum(dtype=np.uint64)), self._bands(words.size))
        return sum(sums) % (1 << 64)

    def read_again(self, words: Words, passes: int) -> None:
        """See ``Streams``."""

        def again(row: Words) -> None:
            for _ in range(passes):
                row.sum(dtype=np.uint64)

        list(self._pool.map(again, words))

    def copy(self, target: Words, source: Words) -> None:
        """See ``Streams``."""
        one = np.uint64(1)
        list(
            self._pool.map(
                lambda band: np.bitwise_xor(source[band], one, out=target[band]), self._bands(source.size)
            )
        )

    def triad(self, target: Words, left: Words, right: Words) -> None:
        """See ``Streams``."""
        t, a, b = (words.view(np.float32) for words in (target, left, right))

        def work(band: slice) -> None:
            for start in range(2 * band.start, 2 * band.stop, self.BLOCK):
                part = slice(start, min(start + self.BLOCK, 2 * band.stop))
                np.multiply(b[part], SCALE, out=t[part])
                t[part] += a[part]  # the block is still in the cache: memory sees it once

        list(self._pool.map(work, self._bands(target.size)))


def open_streams(threads: int, *, portable: bool = False) -> Streams:
    """The fast streams, or the portable ones where asked for."""
    return NumpyStreams(threads) if portable else KernelStreams(threads)
