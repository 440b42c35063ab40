"""PyTorch on any of its devices: cpu, cuda (NVIDIA and ROCm), mps, xpu, npu, ..."""

import contextlib
import importlib
from typing import Any

import numpy as np

from whygpu.engine.errors import UserError
from whygpu.engine.threads import available_threads

__all__ = ["TorchBackend"]


class TorchBackend:
    """Tensors on one PyTorch device."""

    def __init__(self, device: str, threads: int | None = None) -> None:
        try:
            self._torch = importlib.import_module("torch")
        except ImportError as error:
            raise UserError(
                f"device torch:{device}: PyTorch is not installed; pip install 'whygpu[torch]'"
            ) from error
        self.xp = importlib.import_module("array_api_compat.torch")
        self.name = f"torch:{device}"
        self.fast = False
        self.threads = threads or available_threads()
        try:
            self.device = self._torch.device(device)
            self._torch.zeros(1, device=self.device).cpu().numpy()  # "meta" computes nothing
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            reason = str(error).strip().splitlines()[0]
            raise UserError(
                f"device torch:{device}: not usable on this machine ({reason}); try torch:cpu or cpu"
            ) from error
        self._module = getattr(self._torch, self.device.type, None)

    def asarray(self, values: Any, dtype: str = "float32") -> Any:
        """A tensor on this device."""
        if not isinstance(values, self._torch.Tensor):
            values = np.array(values)  # a copy: PyTorch refuses arrays that may not be written
        return self._torch.as_tensor(values, dtype=getattr(self._torch, dtype), device=self.device)

    def to_numpy(self, array: Any) -> Any:
        """A NumPy copy in the host's memory."""
        return array.detach().cpu().numpy()

    def matmul(self, a: Any, b: Any) -> Any:
        """PyTorch's own."""
        return self._torch.matmul(a, b)

    def synchronize(self) -> None:
        """Wait for the device where it works asynchronously."""
        if self.device.type != "cpu" and self._module is not None and hasattr(self._module, "synchronize"):
            self._module.synchronize()

    @contextlib.contextmanager
    def active(self) -> Any:
        """No gradients; as many CPU threads as asked for."""
        before = self._torch.get_num_threads()
        self._torch.set_num_threads(self.threads)
        try:
            with self._torch.inference_mode():
                yield
        finally:
            self._torch.set_num_threads(before)
