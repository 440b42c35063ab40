"""Products of the fast path on random blocks, against float64 on dequantised weights."""

import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from synthetic import random_rows

from whygpu.engine import jit, simd
from whygpu.engine.sync import call
from whygpu.models.quants import to_float32
from whygpu.think.fast.activations import ROUNDED, quantise
from whygpu.think.fast.kernels import addresses
from whygpu.think.fast.pack import pack, packed_bytes

CODES = {
    "Q4_0": (2, 18), "Q4_1": (4, 20), "Q5_0": (2, 22), "Q5_1": (4, 24), "Q2_K": (16, 80), "Q3_K": (0, 96),
    "Q4_K": (16, 144), "Q5_K": (16, 176), "Q6_K": (0, 192), "MXFP4": (1, 17),
}  # fmt: skip
"""Where the bits of codes lie in a block of the file."""


@jit.kernel
def multiply(function, w, groups, k, x, tokens, rounded, out):  # type: ignore[no-untyped-def]
    """Round the activations, then multiply."""
    for t in range(tokens):
        quantise(x, t * k, k, rounded + t * (k // 32) * ROUNDED)
    call(function, w, groups, k, rounded, x, tokens, out, 16 * groups)


def worst(kind: str, n: int = 40, k: int = 512, loud: bool = False) -> float:
    """The largest error of a result, in units of the sum of its terms' magnitudes.

    ``loud``: all codes and all activations are the largest that there are, so sums are as well.

    The activations are those that the kernel rounded (which is checked too), so only the sums may differ.
    """
    random = np.random.default_rng(k)
    raw = random_rows(kind, n, k, random, 1.0)
    weights, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    if loud:
        raw.reshape(-1, size)[:, slice(*CODES[kind])] = 0x77 if kind == "MXFP4" else 0xFF
    exact = to_float32(raw.reshape(-1), kind, weights, size).reshape(n, k).astype(np.float64)
    packed = np.zeros(packed_bytes(kind, n, k), np.uint8)
    pack(raw, kind, k, packed)
    found = 0.0
    for tokens in (1, 4, 6, 9, 15):
        x = random.standard_normal((tokens, k)).astype(np.float32)
        if loud:
            x = np.repeat(np.sign(x[:, :1]), k, axis=1)
        rounded = np.zeros((tokens, k // 32, ROUNDED), np.uint8)
        out = np.zeros((tokens, -(-n // 16) * 16), np.float32)
        function = addresses([kind])[kind]
        places = (array.ctypes.data for array in (x, rounded, out))
        x_at, rounded_at, out_at = places
        multiply(
            function, packed.ctypes.data, out.shape[1] // 16, k, x_at, tokens, rounded_at, out_at
        )  # fmt: skip
        seen = x if kind in ("F32", "F16", "BF16") else _rounded(x, rounded)
        scale = np.abs(seen).astype(np.float64) @ np.abs(exact).T
        found = max(found, float((np.abs(out[:, :n] - seen @ exact.T) / scale).max()))
        assert not out[:, n:].any()  # rows that only fill a group up
    return found


def _rounded(x: Any, rounded: Any) -> Any:
    """The activations as the kernel wrote them, (tokens, k) float64."""
    codes = np.ascontiguousarray(rounded[..., :32]).view(np.int8).astype(np.int64)  # (tokens, blocks, 32)
    numbers = np.ascontiguousarray(rounded[..., 32:])
    scales, sums = numbers.view(np.float32), numbers.view(np.int32)  # (tokens, blocks, 5) each
    blocks = x.reshape(codes.shape)
    values = codes * scales[..., :1].astype(np.float64)
    assert (np.abs(values - blocks) <= np.abs(blocks).max(2, keepdims=True) / 127 * 0.501).all()
    assert np.allclose(scales[..., 1], scales[..., 0] * codes.sum(2), rtol=1e-6, atol=1e-6)
    assert (sums[..., 2] == -codes.sum(2)).all()
    assert (sums[..., 3] == -codes[..., :16].sum(2)).all()
    assert (sums[..., 4] == -codes[..., 16:].sum(2)).all()
    return values.reshape(x.shape)


if __name__ == "__main__":
    found = max(worst(kind) for kind in sys.argv[1:])
    found = max(found, *(worst(kind, loud=True) for kind in sys.argv[1:] if kind in CODES))
    sys.stdout.write(f"{simd.byte_dot()} {found}\n")
