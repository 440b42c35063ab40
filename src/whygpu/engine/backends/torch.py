"""PyTorch on any of its devices: cpu, cuda (NVIDIA and ROCm), mps, xpu, npu, xla, neuron."""

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from whygpu.engine.backends.base import DTYPES, Backend
from whygpu.engine.backends.packages import load
from whygpu.engine.errors import UserError
from whygpu.engine.threads import own_threads

__all__ = ["INSTALL", "PLUGINS", "TorchBackend"]

INSTALL = {
    "cpu": "pip install 'whygpu[torch]'",
    "cuda": "install PyTorch built for CUDA (NVIDIA) or ROCm (AMD), by the selector on pytorch.org",
    "mps": "it needs an Apple chip and PyTorch for macOS: pip install 'whygpu[torch]'",
    "xpu": "install PyTorch built for Intel GPUs, by the selector on pytorch.org",
    "npu": "pip install torch-npu (and Huawei's CANN toolkit)",
    "xla": "pip install torch-xla (for a TPU: torch-xla[tpu])",
    "neuron": "pip install torch-neuronx (from AWS's Neuron repository)",
}
"""What each device needs beyond whygpu itself."""
PLUGINS = {"npu": "torch_npu", "xla": "torch_xla", "neuron": "torch_neuronx"}
"""Packages that bring a device to PyTorch."""


class TorchBackend(Backend):
    """Tensors on one PyTorch device."""

    dtypes = DTYPES

    def __init__(self, device: str, threads: int | None = None) -> None:
        self.name = f"torch:{device}"
        kind = device.partition(":")[0]
        self._torch: Any = load("torch", self.name, INSTALL["cpu"])
        if kind in PLUGINS:
            load(PLUGINS[kind], self.name, INSTALL[kind])
        self.xp: Any = importlib.import_module("array_api_compat.torch")
        self.threads = threads or own_threads()
        try:
            self.device: Any = self._open(device)
            self._torch.zeros(1, device=self.device).cpu().numpy()  # "meta" computes nothing
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
            more = INSTALL.get(kind) if kind != "cpu" else None
            hint = f"{more}; or try torch:cpu or cpu" if more else "try torch:cpu or cpu"
            raise UserError(f"device {self.name}: not usable on this machine ({reason}); {hint}") from error
        self._module: Any = getattr(self._torch, self.device.type, None)
        self.compiles = self.binds = self.device.type == "cuda"

    def _open(self, device: str) -> Any:
        if device == "neuron":
            with contextlib.suppress(RuntimeError):  # before it had a device of its own it was one of XLA's
                return self._torch.device("neuron")
            return self._torch.device("xla")
        return self._torch.device(device)

    def asarray(self, values: Any, dtype: str = "float32") -> Any:
        """A tensor on this device."""
        if not isinstance(values, self._torch.Tensor):
            values = np.array(values)  # a copy: PyTorch refuses arrays that may not be written
        return self._torch.as_tensor(values, dtype=getattr(self._torch, dtype), device=self.device)

    def to_numpy(self, array: Any) -> Any:
        """A NumPy copy in the host's memory (float32 where NumPy has no such type)."""
        array = array.detach()
        if array.dtype == self._torch.bfloat16:
            array = array.float()
        return array.cpu().numpy()

    def matmul(self, a: Any, b: Any) -> Any:
        """PyTorch's own."""
        return self._torch.matmul(a, b)

    def put(self, held: Any, new: Any, start: Any) -> Any:
        """Written in place; by index where ``start`` is on the device, so that nothing waits for the host."""
        if isinstance(start, int):
            held[:, :, start : start + new.shape[2], :] = new
            return held
        places = start + self._torch.arange(new.shape[2], device=held.device)
        return held.index_copy_(2, places, new.to(held.dtype))

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """On CUDA one graph, launched at once; elsewhere the function itself (docs/devices.md says why)."""
        if not self.compiles:
            return function
        from whygpu.engine.backends.torch_graph import Graph

        return Graph(self._torch, function)

    @property
    def card(self) -> str:
        """What the device calls itself."""
        with contextlib.suppress(AttributeError, RuntimeError, AssertionError):
            return str(self._module.get_device_name(self.device))
        return self.name

    def products(self) -> dict[str, Callable[[int], Callable[[], object]]]:
        """float32, the halves, on CUDA TF32 and (from compute capability 8.9 on) FP8 too."""
        from whygpu.engine.backends.torch_products import products

        return products(self._torch, self.device)

    def synchronize(self) -> None:
        """Wait for the device where it works asynchronously."""
        kind = self.device.type
        if kind == "xla":  # nothing runs before it must
            import torch_xla

            torch_xla.sync(wait=True)
        elif kind != "cpu" and self._module is not None and hasattr(self._module, "synchronize"):
            self._module.synchronize()

    def seconds(self, call: Callable[[], object]) -> float:
        """By the device's own events where it has them (CUDA, XPU, NPU)."""
        if self.device.type not in ("cuda", "xpu", "npu"):
            return super().seconds(call)
        begin, end = (self._module.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3

    def memory(self) -> int | None:
        """What the device says of itself; the system's memory for cpu and mps."""
        if self.device.type in ("cpu", "mps"):
            return super().memory()
        with contextlib.suppress(AttributeError, RuntimeError, NotImplementedError, TypeError):
            return int(self._module.mem_get_info(self.device)[0])
        return None

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


@functools.cache
def best_device() -> str | None:
    """The best accelerator that PyTorch sees here (``cuda``, ``xpu``, ``mps`` ...); None: no such thing."""
    import torch

    if not hasattr(torch, "accelerator"):
        return "cuda" if torch.cuda.is_available() else None
    for module in PLUGINS.values():
        with contextlib.suppress(ImportError, OSError, RuntimeError):
            importlib.import_module(module)
    if not torch.accelerator.is_available():
        return None
    found = torch.accelerator.current_accelerator()
    return None if found is None else str(found.type)
