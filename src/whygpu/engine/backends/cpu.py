"""The CPU: NumPy's BLAS for portable products, Numba kernels for the fast paths."""

import contextlib
import functools
import importlib
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from whygpu.engine.backends.base import Backend
from whygpu.engine.threads import own_threads

__all__ = ["CpuBackend", "blas_threads"]


class CpuBackend(Backend):
    """NumPy arrays; ``threads`` bounds both BLAS and the kernels. ``numpy`` is the same without kernels."""

    def __init__(self, threads: int | None = None, *, kernels: bool = True) -> None:
        self.name = "cpu" if kernels else "numpy"
        self.device: Any = "cpu"
        self.fast = kernels
        self.threads = threads or own_threads()

    @functools.cached_property
    def xp(self) -> Any:
        """The namespace of portable code; the fast paths never need it, and it takes 0.1 s to import."""
        return importlib.import_module("array_api_compat.numpy")

    def asarray(self, values: Any, dtype: str = "float32") -> Any:
        """A NumPy array; no copy where none is needed."""
        return np.asarray(values, dtype=dtype)

    def to_numpy(self, array: Any) -> Any:
        """The array itself."""
        return np.asarray(array)

    def matmul(self, a: Any, b: Any) -> Any:
        """BLAS."""
        return np.matmul(a, b)

    def active(self) -> contextlib.AbstractContextManager[object]:
        """BLAS uses this backend's number of threads."""
        return blas_threads(self.threads)


def blas_threads(count: int) -> contextlib.AbstractContextManager[object]:
    """Limit BLAS to ``count`` threads inside the ``with`` block."""
    limiter: contextlib.AbstractContextManager[object] = _controller().limit(limits=count, user_api="blas")
    return limiter


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # finds the loaded BLAS libraries: milliseconds, so once
