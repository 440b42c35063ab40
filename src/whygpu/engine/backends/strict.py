"""NumPy's values behind the Array API standard's own rules: what portable code is tested on."""

from typing import Any

import numpy as np

from whygpu.engine.backends.base import Backend
from whygpu.engine.backends.packages import load

__all__ = ["StrictBackend"]


class StrictBackend(Backend):
    """Refuses everything that is not in the standard."""

    name = "array-api-strict"

    def __init__(self) -> None:
        self.xp: Any = load("array_api_strict", self.name, "pip install array-api-strict")
        self.device: Any = self.xp.Device("CPU_DEVICE")

    def asarray(self, values: Any, dtype: str = "float32") -> Any:
        """An array of the standard."""
        if isinstance(values, type(self.xp.zeros(0))):
            return self.xp.astype(values, getattr(self.xp, dtype), copy=False)
        return self.xp.asarray(np.asarray(values), dtype=getattr(self.xp, dtype))

    def to_numpy(self, array: Any) -> Any:
        """As NumPy."""
        return np.from_dlpack(array)

    def matmul(self, a: Any, b: Any) -> Any:
        """NumPy's, through the standard's checks."""
        return self.xp.matmul(a, b)
