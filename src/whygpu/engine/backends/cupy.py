"""CuPy: NumPy's interface on NVIDIA (and, built for ROCm, AMD) GPUs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from whygpu.engine.backends.base import Backend
from whygpu.engine.backends.packages import load
from whygpu.engine.errors import UserError

__all__ = ["CupyBackend"]

INSTALL = "pip install cupy-cuda13x (or cupy-cuda12x, as the driver is)"


class CupyBackend(Backend):
    """Arrays on one CUDA device: ``cupy``, ``cupy:1`` ..."""

    dtypes = ("float32", "float16")

    def __init__(self, number: str = "") -> None:
        self.name = f"cupy:{number}" if number else "cupy"
        self._cupy: Any = load("cupy", self.name, INSTALL)
        try:
            self.device: Any = self._cupy.cuda.Device(int(number or 0))
            self.device.use()
            self._cupy.zeros(1).get()
        except Exception as error:  # CUDA's own errors are many, and of classes that exist only there
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
            raise UserError(f"device {self.name}: not usable on this machine ({reason}); try cpu") from error
        self.xp: Any = load("array_api_compat.cupy", self.name, INSTALL)

    def asarray(self, values: Any, dtype: str = "float32") -> Any:
        """An array on this device."""
        return self._cupy.asarray(values, dtype=dtype)

    def to_numpy(self, array: Any) -> Any:
        """A NumPy copy in the host's memory."""
        return np.asarray(self._cupy.asnumpy(array))

    def matmul(self, a: Any, b: Any) -> Any:
        """cuBLAS."""
        return self._cupy.matmul(a, b)

    def synchronize(self) -> None:
        """Wait for the device."""
        self.device.synchronize()

    def seconds(self, call: Callable[[], object]) -> float:
        """By CUDA's events."""
        begin, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(begin, end)) / 1e3

    def memory(self) -> int | None:
        """Free bytes, by CUDA."""
        return int(self.device.mem_info[0])
