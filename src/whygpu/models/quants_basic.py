"""Block types with one scale for 32 weights, and plain floats.

A block's bytes, in order: ``d`` scale (float16), ``m`` minimum (float16), ``qh`` fifth bits, ``qs`` the
rest of the weights' bits. Names and layouts are ggml's (ggml-common.h).
"""

import numpy as np

from whygpu.models.quants_bits import Blocks, Floats, half, nibbles

__all__ = ["bf16", "f16", "f32", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0"]


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
    """D[2] qs[16]; 32 x 4 bits: w = d (q - 8)."""
    q = nibbles(blocks[:, 2:]).view(np.int8) - np.int8(8)
    return half(blocks[:, :2]) * q.astype(np.float32)


def q4_1(blocks: Blocks) -> Floats:
    """D[2] m[2] qs[16]; 32 x 4 bits: w = d q + m."""
    q = nibbles(blocks[:, 4:]).astype(np.float32)
    return half(blocks[:, :2]) * q + half(blocks[:, 2:4])


def q5_0(blocks: Blocks) -> Floats:
    """D[2] qh[4] qs[16]; 32 x 5 bits: w = d (q - 16)."""
    q = (nibbles(blocks[:, 6:]) | _fifth_bits(blocks[:, 2:6])).view(np.int8) - np.int8(16)
    return half(blocks[:, :2]) * q.astype(np.float32)


def q5_1(blocks: Blocks) -> Floats:
    """D[2] m[2] qh[4] qs[16]; 32 x 5 bits: w = d q + m."""
    q = (nibbles(blocks[:, 8:]) | _fifth_bits(blocks[:, 4:8])).astype(np.float32)
    return half(blocks[:, :2]) * q + half(blocks[:, 2:4])


def q8_0(blocks: Blocks) -> Floats:
    """D[2] qs[32]; 32 signed bytes: w = d q."""
    return half(blocks[:, :2]) * blocks[:, 2:].view(np.int8).astype(np.float32)


def _fifth_bits(column: Blocks) -> Blocks:
    """Four bytes a block as 32 single bits, each worth 16: (blocks, 32)."""
    bits = np.unpackbits(np.ascontiguousarray(column), axis=1, bitorder="little")
    return bits << 4
