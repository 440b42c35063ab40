"""Arrays that nobody changes, and numbers that somebody gave."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from whygpu.engine import UserError

__all__ = ["frozen", "numbers"]


def frozen(values: ArrayLike, dtype: Any) -> Any:
    """``values`` as a C-contiguous array that nobody changes; a copy unless already that."""
    array = np.ascontiguousarray(values, dtype)
    if array.flags.writeable:
        array = array.copy() if array is values else array
        array.flags.writeable = False
    return array


def numbers(what: str, values: Any, count: int) -> tuple[float, ...]:
    """``count`` numbers as floats; UserError, which begins with ``what``, for anything else."""
    try:
        parts = tuple(values)
        found = tuple(float(part) for part in parts if not isinstance(part, (str, bytes)))
    except (TypeError, ValueError):
        parts, found = (), ()
    if len(found) != count or len(parts) != count:
        raise UserError(f"{what}: {values!r}; give {count} numbers")
    return found
