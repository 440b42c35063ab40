"""How fast memory and each cache level deliver."""

import numpy as np

from whygpu.engine.progress import Progress
from whygpu.measure.host import Host
from whygpu.measure.rates import Flag, Rate
from whygpu.measure.streams import Streams, Words, open_streams
from whygpu.measure.timing import time_call

__all__ = ["buffer_bytes", "cache_rates", "memory_rates", "thread_counts"]

BUFFERS = 3
"""The triad's three arrays; together at most an eighth of memory."""
ASSUMED_LAST_LEVEL = 64 << 20
"""Bytes of last-level cache where the system does not say: more than most have."""
LEAST = 64 << 20
"""Bytes of a buffer at least, so that a pass takes milliseconds."""
LINE = 64
PASS_BYTES = 64 << 20
"""Bytes that a thread reads from its cache a call: a millisecond, far above the cost of starting the team."""


def thread_counts(usable: int) -> list[int]:
    """1, 2, 4, ... and the most."""
    counts = [1]
    while counts[-1] * 2 < usable:
        counts.append(counts[-1] * 2)
    return counts if usable == 1 else [*counts, usable]


def buffer_bytes(host: Host) -> tuple[int, list[Flag]]:
    """Bytes of one buffer: 4x the last-level caches, all three within an eighth of memory."""
    flags = []
    last = host.last_level
    if last is None:
        last = ASSUMED_LAST_LEVEL
        flags.append(
            Flag(
                "cache-unknown",
                f"cache sizes unknown: {last >> 20} MiB of last-level cache assumed",
                {"mib": str(last >> 20)},
            )
        )
    wanted = max(4 * last, LEAST)
    allowed = host.usable_memory // 8 // BUFFERS
    if allowed < wanted:
        flags.append(
            Flag(
                "buffer-small",
                f"an eighth of memory holds no three buffers of 4x the last-level cache: {allowed >> 20} MiB "
                f"each instead of {wanted >> 20}; the bandwidth may be partly a cache's",
                {"mib": str(allowed >> 20), "wanted": str(wanted >> 20)},
            )
        )
    return max(min(wanted, allowed) // LINE * LINE, LINE), flags


def memory_rates(
    size: int, counts: list[int], *, seconds: float, portable: bool, progress: Progress
) -> list[Rate]:
    """Read, copy and triad of buffers of ``size`` bytes on each number of threads.

    ``seconds`` is for all of them together. Bytes are counted as STREAM does: read n, copy 2n, triad 3n;
    ``traffic`` adds the write-allocate, n more for copy and for triad.
    """
    each = seconds / len(counts)
    rates = []
    for step, threads in enumerate(counts):
        progress("measure.bandwidth", step / len(counts), threads=threads)
        streams = open_streams(threads, portable=portable)
        buffers = [np.empty(size // 8, np.uint64) for _ in range(BUFFERS)]
        for seed, buffer in enumerate(buffers):
            streams.fill(buffer, seed)  # first touch by the threads that will read
        rates += _three(streams, buffers, each)
        del buffers
    return rates


def _three(streams: Streams, buffers: list[Words], seconds: float) -> list[Rate]:
    one, two, three = buffers
    size, threads = one.nbytes, streams.threads
    floats = size // 4
    read = time_call(lambda: streams.read(one), seconds=seconds * 0.5)
    # the triad first: the copy leaves bit patterns that are still ordinary numbers, the sum would grow them
    triad = time_call(lambda: streams.triad(three, one, two), seconds=seconds * 0.25)
    copy = time_call(lambda: streams.copy(two, one), seconds=seconds * 0.25)
    return [
        Rate("read", "fp32", threads, (size,), 0, size, size, read),
        Rate("copy", "fp32", threads, (size,), 0, 2 * size, 3 * size, copy),
        Rate("triad", "fp32", threads, (size,), 2 * floats, 3 * size, 4 * size, triad),
    ]


def cache_rates(host: Host, threads: int, *, seconds: float, portable: bool) -> list[Rate]:
    """Reading within each cache level: half of what each thread has of it, all threads at once."""
    streams = open_streams(threads, portable=portable)
    rates: list[Rate] = []
    each = seconds / max(1, len(host.caches))
    below = 0
    for cache in host.caches:
        share = min(cache.size, cache.total // threads)
        words = max(share // 2 // LINE, 1) * LINE // 8
        if words * 8 * threads * 4 > host.usable_memory or words * 8 <= below:
            continue  # a share that the level below holds would measure that level
        below = share
        data = np.empty((threads, words), np.uint64)
        streams.fill(data.reshape(-1), 7)
        passes = max(1, PASS_BYTES // (words * 8))
        timing = time_call(lambda data=data, passes=passes: streams.read_again(data, passes), seconds=each)  # type: ignore[misc]
        size = words * 8 * threads * passes
        rates.append(Rate(f"L{cache.level}", "fp32", threads, (words * 8,), 0, size, size, timing))
    return rates
