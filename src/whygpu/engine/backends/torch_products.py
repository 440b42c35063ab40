"""Square products in every number format that a PyTorch device multiplies in, for the roofline."""

from collections.abc import Callable
from typing import Any

__all__ = ["products"]

FP8_SINCE = (8, 9)
"""CUDA compute capability with FP8 Tensor Cores (Ada; Hopper is 9.0)."""
TF32_SINCE = (8, 0)

Make = Callable[[int], Callable[[], object]]


def products(torch: Any, device: Any) -> dict[str, Make]:
    """``make(side)`` by number format; what the device cannot do it says when it is called."""
    kinds: dict[str, Make] = {
        "fp32": _plain(torch, device, torch.float32),
        "bf16": _plain(torch, device, torch.bfloat16),
        "fp16": _plain(torch, device, torch.float16),
    }
    if device.type == "cuda" and torch.version.hip is None:
        capability = torch.cuda.get_device_capability(device)
        if capability >= TF32_SINCE:
            kinds["tf32"] = _tf32(torch, device)
        if capability >= FP8_SINCE:
            kinds["fp8"] = _fp8(torch, device)
    return kinds


def _plain(torch: Any, device: Any, dtype: Any) -> Make:
    def make(side: int) -> Callable[[], object]:
        a, b = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
        out = torch.empty_like(a)
        return lambda: torch.matmul(a, b, out=out)

    return make


def _tf32(torch: Any, device: Any) -> Make:
    def make(side: int) -> Callable[[], object]:
        product = _plain(torch, device, torch.float32)(side)
        matmul = torch.backends.cuda.matmul

        def in_tf32() -> object:
            before, matmul.allow_tf32 = matmul.allow_tf32, True
            try:
                return product()
            finally:
                matmul.allow_tf32 = before

        return in_tf32

    return make


def _fp8(torch: Any, device: Any) -> Make:
    def make(side: int) -> Callable[[], object]:
        a = torch.randn(side, side, device=device).to(torch.float8_e4m3fn)
        b = (
            torch.randn(side, side, device=device).to(torch.float8_e4m3fn).t()
        )  # by columns, as cuBLASLt wants
        one = torch.ones((), device=device)
        return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

    return make
