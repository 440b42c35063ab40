"""What every backend offers."""

import contextlib
from typing import Any, Protocol

__all__ = ["Backend"]


class Backend(Protocol):
    """An array namespace on a device, with its matrix multiply."""

    name: str
    """As given to ``engine.backend``."""
    xp: Any
    """The Array API namespace (from ``array_api_compat``) that portable code uses."""
    device: Any
    """The device in that namespace's own terms."""
    threads: int
    """How many CPU threads the fast path may use."""
    fast: bool
    """Whether Numba kernels may work on this backend's arrays."""

    def asarray(self, values: Any, dtype: str = "float32") -> Any:
        """Copy (or view) ``values`` as an array of this backend."""

    def to_numpy(self, array: Any) -> Any:
        """Bring an array of this backend to NumPy."""

    def matmul(self, a: Any, b: Any) -> Any:
        """``(..., m, k) @ (..., k, n)``."""

    def synchronize(self) -> None:
        """Wait until the device has done everything asked of it."""

    def active(self) -> contextlib.AbstractContextManager[object]:
        """What must hold while this backend is in use (its thread count, say)."""
