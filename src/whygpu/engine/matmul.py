"""The one matrix multiply. Everything that draws or thinks goes through it."""

from time import perf_counter
from typing import Any

from whygpu.engine.backends import current
from whygpu.engine.ledger import LISTENERS, SCOPE

__all__ = ["matmul"]


def matmul(a: Any, b: Any, *, name: str) -> Any:
    """Multiply two stacks of matrices on the current backend and tell the ledger.

    Parameters
    ----------
    a, b
        ``(..., m, k)`` and ``(..., k, n)`` floating-point arrays of the current backend; the leading
        axes broadcast.
    name
        What this product is, in the field's words: ``Q``, ``scores``, ``model-view-projection`` ...

    Returns
    -------
    array
        ``(..., m, n)``.
    """
    backend = current()
    listeners = LISTENERS.get()
    if not listeners:
        return backend.matmul(a, b)
    started = perf_counter()
    out = backend.matmul(a, b)
    backend.synchronize()
    seconds = perf_counter() - started
    seen = (SCOPE.get(), name, a.shape, b.shape, a.dtype)
    for listener in listeners:
        listener.see(seen, seconds)
    return out
