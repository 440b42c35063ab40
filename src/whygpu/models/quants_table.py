"""Block types whose four bits choose from a table of 16 values that are not evenly spaced.

Names, layouts and values are ggml's (ggml-common.h: block_iq4_nl, block_iq4_xs, block_mxfp4;
kvalues_iq4nl); MXFP4 is that of the OCP Microscaling Formats specification 1.0.
"""

import numpy as np

from whygpu.models.quants_bits import Blocks, Floats, fields, half, nibbles

__all__ = ["iq4_nl", "iq4_xs", "mxfp4"]

NON_LINEAR = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)
"""Close together near zero, where most weights are."""

E2M1 = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.float32)
"""Twice the values of a float of 1 + 2 + 1 bits, so that they are whole numbers."""


def iq4_nl(blocks: Blocks) -> Floats:
    """D[2] qs[16]; 32 x 4 bits: w = d table[q]."""
    return half(blocks[:, :2]) * NON_LINEAR[nibbles(blocks[:, 2:])]


def iq4_xs(blocks: Blocks) -> Floats:
    """D[2] scales_h[2] scales_l[4] qs[128]; 8 groups of 32 x 4 bits: w = d (s - 32) table[q].

    A scale has six bits: the lower four in ``scales_l`` (low half first), the upper two in ``scales_h``.
    """
    low = np.stack([blocks[:, 4:8] & 0x0F, blocks[:, 4:8] >> 4], axis=2).reshape(-1, 8)
    high = (blocks[:, 2:4, None] >> np.arange(0, 8, 2, dtype=np.uint8)).reshape(-1, 8) & 3
    scales = half(blocks[:, :2]) * ((low | high << 4).view(np.int8) - np.int8(32)).astype(np.float32)
    values = NON_LINEAR[fields(blocks[:, 8:136], 16, 4)].reshape(-1, 8, 32)
    return (scales[:, :, None] * values).reshape(-1, 256)


def mxfp4(blocks: Blocks) -> Floats:
    """E[1] qs[16]; 32 x 4 bits: w = 2^(e - 127) E2M1[q] / 2, the power an 8-bit exponent (E8M0).

    The halved power is put together as the bits of a float32: a normal number from e = 2 on, a
    subnormal one below.
    """
    e = blocks[:, :1].astype(np.uint32)
    bits = np.where(e < 2, np.uint32(1 << 21) << np.minimum(e, 1), (np.maximum(e, 1) - 1) << 23)
    return bits.astype(np.uint32).view(np.float32) * E2M1[nibbles(blocks[:, 1:])]
