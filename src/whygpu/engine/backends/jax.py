"""JAX: XLA on CPUs, GPUs and TPUs. Its arrays cannot be written; its compiler likes whole steps."""

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from whygpu.engine.backends.base import DTYPES, Backend
from whygpu.engine.backends.packages import load
from whygpu.engine.errors import UserError

__all__ = ["JaxBackend"]

INSTALL = "pip install 'whygpu[jax]' (for a GPU or TPU: JAX's own jax[cuda13], jax[tpu])"


class JaxBackend(Backend):
    """Arrays on one JAX device: ``jax`` (its best), ``jax:cpu``, ``jax:gpu``, ``jax:tpu``."""

    dtypes = DTYPES
    compiles = True

    def __init__(self, platform: str = "") -> None:
        self.name = f"jax:{platform}" if platform else "jax"
        self._jax: Any = load("jax", self.name, INSTALL)
        self._jax.config.update("jax_enable_x64", True)  # positions are float64
        # a CPU that works asynchronously cannot be waited for as a whole; reading the option starts no device
        self._jax.config.update("jax_cpu_enable_async_dispatch", False)
        kind, _, number = platform.partition(":")
        try:
            devices = self._jax.devices(kind or None)
            self.device: Any = devices[int(number or 0)]
        except (RuntimeError, ValueError, IndexError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
            raise UserError(
                f"device {self.name}: not usable on this machine ({reason}); try jax:cpu or cpu"
            ) from error
        self.xp: Any = self._jax.numpy

    def asarray(self, values: Any, dtype: str = "float32") -> Any:
        """An array on this device."""
        if not isinstance(values, self._jax.Array):
            values = np.asarray(values)
        return self.xp.asarray(values, dtype=dtype, device=self.device)

    def to_numpy(self, array: Any) -> Any:
        """A NumPy array in the host's memory (float32 where NumPy has no such type)."""
        if array.dtype == self.xp.bfloat16:
            array = array.astype("float32")
        return np.asarray(array)

    def matmul(self, a: Any, b: Any) -> Any:
        """XLA's."""
        return self.xp.matmul(a, b)

    def put(self, held: Any, new: Any, start: Any) -> Any:
        """A new array; inside compiled code XLA writes in place."""
        new = new.astype(held.dtype)
        return self._jax.lax.dynamic_update_slice_in_dim(held, new, start, axis=2)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``jax.jit``; the arguments named ``keys`` and ``values`` are given away to be written in place."""
        given = [name for name in ("keys", "values") if name in inspect.signature(function).parameters]
        compiled: Callable[..., Any] = self._jax.jit(function, donate_argnames=given)
        return compiled

    def synchronize(self) -> None:
        """Work goes in order on a device: when a last small piece is done, all is."""
        if self.device.platform != "cpu":
            self._jax.device_put(np.zeros((), np.float32), self.device).block_until_ready()
            (self.xp.zeros((), device=self.device) + 1).block_until_ready()

    @property
    def card(self) -> str:
        """What the device calls itself."""
        return str(self.device.device_kind)

    def products(self) -> dict[str, Callable[[int], Callable[[], object]]]:
        """float32 in full, in XLA's fast form on a device that has one, and the halves."""

        def squares(dtype: str, precision: str) -> Callable[[int], Callable[[], object]]:
            def make(side: int) -> Callable[[], object]:
                random = np.random.default_rng(side)
                a, b = (
                    self.asarray(random.standard_normal((side, side), dtype=np.float32), dtype)
                    for _ in range(2)
                )
                product = self._jax.jit(lambda a, b: self.xp.matmul(a, b, precision=precision))
                return lambda: product(a, b).block_until_ready()

            return make

        kinds = {"fp32": squares("float32", "highest")}
        if self.device.platform != "cpu":
            kinds["tf32"] = squares("float32", "default")
        return kinds | {"bf16": squares("bfloat16", "default"), "fp16": squares("float16", "default")}

    def memory(self) -> int | None:
        """What the device says of itself."""
        if self.device.platform == "cpu":
            return super().memory()
        about = self.device.memory_stats() or {}
        limit = about.get("bytes_limit")
        return None if limit is None else int(limit) - int(about.get("bytes_in_use", 0))

    @contextlib.contextmanager
    def active(self) -> Any:
        """Arrays are made on this device; float32 products are float32 (XLA would take bf16 or TF32)."""
        with self._jax.default_device(self.device), self._jax.default_matmul_precision("highest"):
            yield
