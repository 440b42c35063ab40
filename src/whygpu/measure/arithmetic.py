"""How fast NumPy's BLAS multiplies: matrix times matrix, and matrix times vector."""

from time import perf_counter

import numpy as np

from whygpu.engine.backends.cpu import blas_threads
from whygpu.engine.progress import Progress
from whygpu.measure.rates import Rate
from whygpu.measure.streams import open_streams
from whygpu.measure.timing import time_call

__all__ = ["gemm_rates", "gemv_rates"]

SHORT = 0.03
"""Seconds: about the time slice for which a busy core keeps another thread waiting."""
SIDES = (256, 512, 1024, 2048, 4096)
NUMPY_NAMES = {"fp32": "float32", "fp64": "float64"}


def gemm_rates(
    dtype: str, counts: list[int], *, seconds: float, most_bytes: int, progress: Progress
) -> list[Rate]:
    """Square products in ``fp32`` or ``fp64``: every side that the time allows on all threads, then the
    largest of them on fewer threads.

    ``seconds`` is for all together; the three matrices stay within ``most_bytes``.
    """
    progress("measure.gemm", None, dtype=dtype)
    each = seconds / (len(counts) + 2)
    rates: list[Rate] = []
    with blas_threads(counts[-1]):
        for side in SIDES:
            if 3 * side * side * _width(dtype) > most_bytes:
                break
            before = rates[-1].timing.minimum if rates else 0.0
            # twice the side is eight times the work, for a warm-up and three samples; a short product
            # may have waited for a busy core instead of computing, so it ends nothing
            if before > SHORT and 8 * before * 4 > each * 1.5:
                break
            rates.append(_gemm(dtype, side, counts[-1], each / 3 if side < 1024 else each))
    side = rates[-1].shape[0]
    alone = counts[-1] * rates[-1].timing.median
    while side > SIDES[0] and alone * 4 > each * 2:  # one thread must finish in time too
        side, alone = side // 2, alone / 8
    for threads in counts[:-1]:
        with blas_threads(threads):
            rates.append(_gemm(dtype, side, threads, each))
    return rates


def _width(dtype: str) -> int:
    return np.dtype(NUMPY_NAMES[dtype]).itemsize


def _gemm(dtype: str, side: int, threads: int, seconds: float) -> Rate:
    random = np.random.default_rng(side)
    kind = np.dtype(NUMPY_NAMES[dtype])
    a, b = (random.standard_normal((side, side), dtype=kind.type) for _ in range(2))
    out = np.empty((side, side), kind)
    timing = time_call(lambda: np.matmul(a, b, out=out), seconds=seconds)
    size = 3 * side * side * kind.itemsize
    return Rate("gemm", dtype, threads, (side, side, side), 2 * side**3, size, size, timing)


def gemv_rates(
    size: int, counts: list[int], *, seconds: float, portable: bool, progress: Progress
) -> list[Rate]:
    """A float32 matrix of ``size`` bytes times a vector: what a language model does for one token."""
    progress("measure.gemv", None)
    k = 4096
    m = max(size // (4 * k), 1)
    words = np.empty(m * k // 2, np.uint64)
    open_streams(counts[-1], portable=portable).fill(words, 11)
    matrix = words.view(np.float32).reshape(m, k)
    vector = np.random.default_rng(0).standard_normal(k, dtype=np.float32)
    out = np.empty(m, np.float32)
    moved = 4 * (m * k + k + m)
    rates = []
    for threads in counts:
        with blas_threads(threads):
            began = perf_counter()
            timing = time_call(lambda: np.matmul(matrix, vector, out=out), seconds=seconds / len(counts))
        rates.append(Rate("gemv", "fp32", threads, (m, k), 2 * m * k, moved, moved, timing))
        if perf_counter() - began > seconds:
            break
    return rates
