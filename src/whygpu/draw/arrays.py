"""Arrays that nobody changes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["frozen"]


def frozen(values: ArrayLike, dtype: Any) -> Any:
    """``values`` as a C-contiguous array that nobody changes; a copy unless already that."""
    array = np.ascontiguousarray(values, dtype)
    if array.flags.writeable:
        array = array.copy() if array is values else array
        array.flags.writeable = False
    return array
