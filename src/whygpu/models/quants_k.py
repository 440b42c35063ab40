"""The K types: super-blocks of 256 weights, in groups of 16 or 32 with a small scale each.

The groups' scales are integers of 4, 6 or 8 bits; the super-block's ``d`` (float16) scales them, and
``dmin`` their minima where there are such. A block's bytes are given in order in every function.
Names and layouts are ggml's (ggml-common.h: block_q2_K to block_q6_K).
"""

import numpy as np

from whygpu.models.quants_bits import Blocks, Floats, fields, half, six_bit_pairs

__all__ = ["q2_k", "q3_k", "q4_k", "q5_k", "q6_k"]

WEIGHTS = 256


def q2_k(blocks: Blocks) -> Floats:
    """Scales[16] qs[64] d[2] dmin[2]; 16 groups of 16 x 2 bits: w = d s q - dmin m.

    A byte of ``scales`` holds a group's scale (low half) and minimum (high half).
    """
    scales = half(blocks[:, 80:82]) * (blocks[:, :16] & 0x0F).astype(np.float32)  # (blocks, 16)
    minima = half(blocks[:, 82:84]) * (blocks[:, :16] >> 4).astype(np.float32)
    return _scaled(scales, fields(blocks[:, 16:80], 32, 2), minima)


def q3_k(blocks: Blocks) -> Floats:
    """Hmask[32] qs[64] scales[12] d[2]; 16 groups of 16 x 3 bits: w = d (s - 32) (q - 4).

    ``hmask`` has the third bits. ``scales``: 16 x 6 bits, the lower four of each in the first eight
    bytes (first low halves, then high), the upper two in the last four.
    """
    packed = blocks[:, 96:108]
    s = (fields(packed[:, :8], 8, 4) | fields(packed[:, 8:], 4, 2) << 4).view(np.int8) - np.int8(32)
    q = fields(blocks[:, 32:96], 32, 2) | fields(blocks[:, :32], 32, 1) << 2
    return _scaled(half(blocks[:, 108:110]) * s.astype(np.float32), q.view(np.int8) - np.int8(4))


def q4_k(blocks: Blocks) -> Floats:
    """D[2] dmin[2] scales[12] qs[128]; 8 groups of 32 x 4 bits: w = d s q - dmin m."""
    s, m = six_bit_pairs(blocks[:, 4:16])  # (blocks, 8) each
    scales = half(blocks[:, :2]) * s.astype(np.float32)
    minima = half(blocks[:, 2:4]) * m.astype(np.float32)
    return _scaled(scales, fields(blocks[:, 16:144], 32, 4), minima)


def q5_k(blocks: Blocks) -> Floats:
    """D[2] dmin[2] scales[12] qh[32] qs[128]; 8 groups of 32 x 5 bits: w = d s q - dmin m."""
    s, m = six_bit_pairs(blocks[:, 4:16])
    scales = half(blocks[:, :2]) * s.astype(np.float32)
    minima = half(blocks[:, 2:4]) * m.astype(np.float32)
    q = fields(blocks[:, 48:176], 32, 4) | fields(blocks[:, 16:48], 32, 1) << 4
    return _scaled(scales, q, minima)


def q6_k(blocks: Blocks) -> Floats:
    """Ql[128] qh[64] scales[16] d[2]; 16 groups of 16 x 6 bits: w = d s (q - 32), s signed bytes.

    ``ql`` has the lower four bits in runs of 64 bytes, ``qh`` the upper two in runs of 32.
    """
    scales = half(blocks[:, 208:210]) * blocks[:, 192:208].view(np.int8).astype(np.float32)
    q = fields(blocks[:, :128], 64, 4) | fields(blocks[:, 128:192], 32, 2) << 4
    return _scaled(scales, q.view(np.int8) - np.int8(32))


def _scaled(scales: Floats, q: Blocks, minima: Floats = None) -> Floats:
    """Each group's weights times its scale, less its minimum: (blocks, groups) and (blocks, 256)."""
    groups = scales.shape[1]
    values = q.astype(np.float32).reshape(-1, groups, WEIGHTS // groups)
    values *= scales[:, :, None]
    if minima is not None:
        values -= minima[:, :, None]
    return values.reshape(-1, WEIGHTS)
