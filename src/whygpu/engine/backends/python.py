"""Plain Python loops: what a matrix multiply is, and why nobody does it this way."""

from typing import Any

import numpy as np

from whygpu.engine.backends.base import Backend

__all__ = ["PythonBackend", "multiply"]


class PythonBackend(Backend):
    """NumPy arrays for everything but the product, which is three nested loops."""

    def __init__(self) -> None:
        import array_api_compat.numpy  # here, so that ``multiply`` needs NumPy alone

        self.name = "python"
        self.xp: Any = array_api_compat.numpy
        self.device: Any = "cpu"

    def asarray(self, values: Any, dtype: str = "float32") -> Any:
        """A NumPy array."""
        return np.asarray(values, dtype=dtype)

    def to_numpy(self, array: Any) -> Any:
        """The array itself."""
        return np.asarray(array)

    def matmul(self, a: Any, b: Any) -> Any:
        """Every matrix of the stack by ``multiply``; rounded once, from float64, to the input's dtype."""
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a = np.broadcast_to(a, stack + a.shape[-2:])
        b = np.broadcast_to(b, stack + b.shape[-2:])
        out = np.zeros((*stack, a.shape[-2], b.shape[-1]), dtype=np.result_type(a, b))
        for place in np.ndindex(*stack):
            out[place] = multiply(a[place].tolist(), b[place].tolist())
        return out


def multiply(a: list[list[float]], b: list[list[float]]) -> list[list[float]]:
    """(m, k) times (k, n) by the definition: each element is a row times a column."""
    inner, columns = len(b), len(b[0]) if b else 0
    out = []
    for row in a:
        line = []
        for j in range(columns):
            total = 0.0
            for p in range(inner):
                total += row[p] * b[p][j]
            line.append(total)
        out.append(line)
    return out
