"""How block types pack their numbers: halves of bytes, single bits, scales of six bits.

All functions take and return arrays whose first axis is the block.
"""

from typing import Any

import numpy as np

__all__ = ["Blocks", "Floats", "fields", "half", "nibbles", "six_bit_pairs"]

Blocks = Any  # np.ndarray of uint8, (blocks, bytes)
Floats = Any  # np.ndarray of float32, (blocks, weights)


def half(column: Blocks) -> Floats:
    """Two bytes a block as a float16 number: (blocks, 1)."""
    return np.ascontiguousarray(column).view("<f2").astype(np.float32)


def nibbles(packed: Blocks) -> Blocks:
    """(blocks, 16) bytes to (blocks, 32): all low halves first, then all high halves."""
    return np.concatenate([packed & 0x0F, packed >> 4], axis=1)


def fields(packed: Blocks, width: int, bits: int) -> Blocks:
    """Fields of ``bits`` bits, run by run: (blocks, runs * width) to (blocks, weights).

    The bytes come in runs of ``width``. A run holds its lowest field of every byte first, then the
    second lowest of every byte, and so on: 8 / bits times ``width`` weights.
    """
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]  # (fields, 1)
    runs = packed.reshape(packed.shape[0], -1, 1, width)  # (blocks, runs, 1, width)
    return ((runs >> shifts) & np.uint8((1 << bits) - 1)).reshape(packed.shape[0], -1)


def six_bit_pairs(packed: Blocks) -> tuple[Blocks, Blocks]:
    """Q4_K's and Q5_K's eight scales and eight minima of six bits each: (blocks, 12) to 2 x (blocks, 8).

    Bytes 0 to 3: scale i, and above it the upper two bits of scale i + 4. Bytes 4 to 7: the same of
    the minima. Bytes 8 to 11: the lower four bits of scale i + 4, and above them those of minimum i + 4.
    """
    scales, minima, rest = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    return (
        np.concatenate([scales & 0x3F, (rest & 0x0F) | ((scales >> 2) & 0x30)], axis=1),
        np.concatenate([minima & 0x3F, (rest >> 4) | ((minima >> 2) & 0x30)], axis=1),
    )
