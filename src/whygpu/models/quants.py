"""Turn stored blocks into float32: one small function a block type.

A block is a run of weights of one row that share a scale (and, in some types, a minimum). The layouts
are ggml's (ggml-common.h); each function takes ``(blocks, bytes)`` uint8 and returns ``(blocks, weights)``
float32, bit for bit what the ``gguf`` package computes (a test compares them). To add a type, add
its function to ``DEQUANTISERS``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from whygpu.engine import UserError
from whygpu.models.gguf import Gguf, TensorInfo

__all__ = ["DEQUANTISERS", "dequantise", "to_float32"]

Blocks = Any  # np.ndarray of uint8, (blocks, bytes)
Floats = Any  # np.ndarray of float32, (blocks, weights)

STEP = 1 << 12
"""Blocks turned at once: keeps the intermediate arrays in the cache."""


def _half(column: Blocks) -> Floats:
    """Two bytes a block as a float16 number: (blocks, 1)."""
    return np.ascontiguousarray(column).view("<f2").astype(np.float32)


def _nibbles(packed: Blocks) -> Blocks:
    """(blocks, 16) bytes to (blocks, 32): all low halves first, then all high halves."""
    return np.concatenate([packed & 0x0F, packed >> 4], axis=1)


def _fifth_bits(column: Blocks) -> Blocks:
    """Four bytes a block as 32 single bits, each worth 16: (blocks, 32)."""
    bits = np.unpackbits(np.ascontiguousarray(column), axis=1, bitorder="little")
    return bits << 4


def f32(blocks: Blocks) -> Floats:
    """IEEE single precision."""
    return blocks.view("<f4").astype(np.float32)


def f16(blocks: Blocks) -> Floats:
    """IEEE half precision."""
    return blocks.view("<f2").astype(np.float32)


def bf16(blocks: Blocks) -> Floats:
    """The upper half of a float32."""
    return (blocks.view("<u2").astype(np.uint32) << 16).view(np.float32)


def q4_0(blocks: Blocks) -> Floats:
    """Scale, then 32 x 4 bits: w = d (q - 8)."""
    q = _nibbles(blocks[:, 2:]).view(np.int8) - np.int8(8)
    return _half(blocks[:, :2]) * q.astype(np.float32)


def q4_1(blocks: Blocks) -> Floats:
    """Scale, minimum, then 32 x 4 bits: w = d q + m."""
    q = _nibbles(blocks[:, 4:]).astype(np.float32)
    return _half(blocks[:, :2]) * q + _half(blocks[:, 2:4])


def q5_0(blocks: Blocks) -> Floats:
    """Scale, 32 fifth bits, then 32 x 4 bits: w = d (q - 16)."""
    q = (_nibbles(blocks[:, 6:]) | _fifth_bits(blocks[:, 2:6])).view(np.int8) - np.int8(16)
    return _half(blocks[:, :2]) * q.astype(np.float32)


def q5_1(blocks: Blocks) -> Floats:
    """Scale, minimum, 32 fifth bits, then 32 x 4 bits: w = d q + m."""
    q = (_nibbles(blocks[:, 8:]) | _fifth_bits(blocks[:, 4:8])).astype(np.float32)
    return _half(blocks[:, :2]) * q + _half(blocks[:, 2:4])


def q8_0(blocks: Blocks) -> Floats:
    """Scale, then 32 signed bytes: w = d q."""
    return _half(blocks[:, :2]) * blocks[:, 2:].view(np.int8).astype(np.float32)


DEQUANTISERS: dict[str, Callable[[Blocks], Floats]] = {
    "F32": f32,
    "F16": f16,
    "BF16": bf16,
    "Q4_0": q4_0,
    "Q4_1": q4_1,
    "Q5_0": q5_0,
    "Q5_1": q5_1,
    "Q8_0": q8_0,
}


def to_float32(raw: Blocks, kind: str, weights: int, size: int) -> Floats:
    """Bytes of type ``kind`` (blocks of ``weights`` weights in ``size`` bytes) to float32, flat."""
    turn = DEQUANTISERS[kind]
    blocks = raw.reshape(-1, size)  # (blocks, bytes)
    out = np.empty((blocks.shape[0], weights), np.float32)
    for start in range(0, blocks.shape[0], STEP):
        out[start : start + STEP] = turn(np.ascontiguousarray(blocks[start : start + STEP]))
    return out.reshape(-1)


def dequantise(file: Gguf, tensor: TensorInfo) -> Floats:
    """A tensor of the file as float32, in its own shape.

    Raises
    ------
    UserError
        For a block type that is not supported; the line lists those that are.
    """
    kind = tensor.type
    if kind.name not in DEQUANTISERS:
        raise UserError(
            f"{file.path}: tensor {tensor.name!r} is stored as {kind.name}, which is not supported; "
            f"supported: {', '.join(DEQUANTISERS)}"
        )
    return to_float32(file.raw(tensor), kind.name, kind.weights, kind.bytes).reshape(tensor.shape)
