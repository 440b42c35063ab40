"""Read, copy and triad over a band of memory a thread, as SIMD loops in strict arithmetic."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import numpy as np

from whygpu.engine.jit import inlined, kernel

__all__ = ["copy", "fill", "nothing", "read", "read_again", "triad"]


@inlined
def _band(rank, size, n):
    """The half-open range of thread ``rank``; whole 64-byte lines of 8-byte values."""
    lines = (n + 7) // 8
    return min(n, lines * rank // size * 8), min(n, lines * (rank + 1) // size * 8)


@kernel
def fill(rank, size, barrier, words, seed):
    """First touch: two random float32 in [1, 2) to a word, by the thread that will read them.

    ``words`` (n,) uint64. The hash is the finaliser of splitmix64 (Steele, Lea, Flood 2014).
    """
    first, last = _band(rank, size, words.size)
    mine = words[first:last]  # a band from 0 on: an index that may be negative would keep the loop scalar
    start = np.uint64(first) + seed
    for i in range(mine.size):
        z = (np.uint64(i) + start) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        mine[i] = (z & np.uint64(0x007FFFFF007FFFFF)) | np.uint64(0x3F8000003F800000)


@inlined
def _total(words):
    """The sum of (n,) words: an integer sum may be reordered, so it becomes SIMD without fast-math."""
    total = np.uint64(0)
    for i in range(words.size):
        total += words[i]
    return total


@kernel
def read(rank, size, barrier, words, sums):
    """Add up a band. ``words`` (n,) uint64, ``sums`` (threads, 8) uint64: one cache line a thread."""
    first, last = _band(rank, size, words.size)
    sums[rank, 0] = _total(words[first:last])


@kernel
def read_again(rank, size, barrier, words, sums, passes):
    """Read a small band of each thread's own ``passes`` times: it stays in that thread's cache.

    ``words`` (threads, n) uint64, ``sums`` (threads, 8) uint64.
    """
    mine = words[rank]
    total = np.uint64(0)
    for p in range(passes):
        mine[0] = np.uint64(p)  # a pass differs from the last one, so that none can be left out
        total += _total(mine)
    sums[rank, 0] = total


@kernel
def copy(rank, size, barrier, target, source):
    """``target = source ^ 1``; both (n,) uint64. Ordinary stores, so each line written is read first.

    The exclusive-or keeps it a loop: a plain copy becomes memcpy, which may write past the cache.
    """
    first, last = _band(rank, size, source.size)
    to, of = target[first:last], source[first:last]
    for i in range(of.size):
        to[i] = of[i] ^ np.uint64(1)


@kernel
def triad(rank, size, barrier, target, left, right, scale):
    """STREAM's triad, ``target = left + scale * right``; all (2n,) float32."""
    first, last = _band(rank, size, target.size // 2)
    to, a, b = target[2 * first : 2 * last], left[2 * first : 2 * last], right[2 * first : 2 * last]
    for i in range(to.size):
        to[i] = a[i] + scale * b[i]


@kernel
def nothing(rank, size, barrier):
    """Only what starting the team costs."""
