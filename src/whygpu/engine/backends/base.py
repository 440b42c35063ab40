"""What every backend offers, and what most of them do alike."""

import contextlib
from collections.abc import Callable
from time import perf_counter
from typing import Any

__all__ = ["DTYPES", "Backend"]

DTYPES = ("float32", "bfloat16", "float16")
"""What weights may be held in."""


class Backend:
    """An array namespace on a device, with its matrix multiply.

    A backend of one's own defines ``asarray``, ``to_numpy`` and ``matmul``; the rest has defaults for arrays
    that may be written and a device that never works on its own.
    """

    name: str
    """As given to ``engine.backend``."""
    xp: Any
    """The Array API namespace (from ``array_api_compat``) that portable code uses."""
    device: Any
    """The device in that namespace's own terms."""
    threads: int = 1
    """How many CPU threads the fast path may use."""
    fast: bool = False
    """Whether Numba kernels may work on this backend's arrays."""
    dtypes: tuple[str, ...] = ("float32",)
    """What weights may be held in (of ``DTYPES``)."""
    compiles: bool = False
    """Whether ``compiled`` gives back something faster than what it was given."""
    binds: bool = False
    """Whether what ``compiled`` gives back works in the arrays of its first call (a CUDA graph)."""

    def asarray(self, values: Any, dtype: str = "float32") -> Any:
        """Copy (or view) ``values`` as an array of this backend."""
        raise NotImplementedError

    def to_numpy(self, array: Any) -> Any:
        """Bring an array of this backend to NumPy."""
        raise NotImplementedError

    def matmul(self, a: Any, b: Any) -> Any:
        """``(..., m, k) @ (..., k, n)``."""
        raise NotImplementedError

    def put(self, held: Any, new: Any, start: Any) -> Any:
        """``held`` with ``new`` in its places from ``start`` on along axis 2; both (B, heads, places, dims).

        Arrays that may be written are written; use the result in any case. ``start`` is a number, or in
        compiled code an integer array of no dimensions.
        """
        held[:, :, start : start + new.shape[2], :] = new
        return held

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The fastest form that the framework has of a function from arrays to arrays (no side effects)."""
        return function

    def synchronize(self) -> None:
        """Wait until the device has done everything asked of it."""

    def seconds(self, call: Callable[[], object]) -> float:
        """How long the device takes for ``call()``, by the best clock that it has."""
        self.synchronize()
        started = perf_counter()
        call()
        self.synchronize()
        return perf_counter() - started

    @property
    def card(self) -> str:
        """What the device calls itself."""
        return self.name

    def products(self) -> dict[str, Callable[[int], Callable[[], object]]]:
        """By number format (fp32, tf32, fp16 ...): ``make(side)`` gives a call that multiplies squares."""

        def make(side: int) -> Callable[[], object]:
            import numpy as np

            random = np.random.default_rng(side)
            a, b = (self.asarray(random.standard_normal((side, side), dtype=np.float32)) for _ in range(2))
            return lambda: self.matmul(a, b)

        return {"fp32": make}

    def memory(self) -> int | None:
        """Bytes that are free for arrays now; None where that cannot be known."""
        import psutil

        return int(psutil.virtual_memory().available)

    def active(self) -> contextlib.AbstractContextManager[object]:
        """What must hold while this backend is in use (its thread count, say)."""
        return contextlib.nullcontext()
