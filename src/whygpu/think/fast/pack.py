"""Weights for the fast path: the file's own blocks, 16 rows side by side.

A SIMD vector of 64 bytes then holds 4 neighbouring weights of 16 rows; multiplied with the same 4
activations in every lane, it adds to 16 sums at once, and no sum ever crosses lanes. Nothing is rounded
again: codes and scales are the file's. A block of 32 columns of 16 rows is

    scales      16 x float16
    minimums    16 x float16, where the type has them
    codes       4-bit types: 4 vectors, low halves columns 0 to 15, high halves 16 to 31;
                Q8_0: 8 vectors, plus 128
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from whygpu.engine import UserError

__all__ = ["FORMATS", "LANES", "Format", "pack"]

LANES = 16
"""Rows side by side."""
BLOCK = 32
"""Columns that share a scale."""


@dataclass(frozen=True, slots=True)
class Format:
    """How one of ggml's block types is packed."""

    code: int
    """What the kernel knows it by."""
    header: int
    """Bytes of scales (and minimums) that begin each block in the file."""
    bits: int
    """Of a code."""

    @property
    def file_bytes(self) -> int:
        """Of a block of one row in the file."""
        return self.header + BLOCK * self.bits // 8

    @property
    def bytes(self) -> int:
        """Of a block of 16 rows, packed: exactly 16 of the file's."""
        return LANES * self.file_bytes


FORMATS = {"Q4_0": Format(2, 2, 4), "Q4_1": Format(3, 4, 4), "Q8_0": Format(8, 2, 8)}


def pack(raw: Any, kind: str, n: int, k: int) -> Any:
    """Pack a matrix.

    Parameters
    ----------
    raw
        (n, bytes of a row) uint8, as the file has it.
    kind
        Its block type, a key of ``FORMATS``.
    n, k
        Rows and columns.

    Returns
    -------
    array
        (n / 16, k / 32, ``Format.bytes``) uint8.

    Raises
    ------
    UserError
        Where the rows do not come in sixteens or the columns in blocks.
    """
    form = FORMATS[kind]
    if n % LANES or k % BLOCK:
        raise UserError(f"a {n} x {k} matrix cannot be packed: rows come in {LANES}s, columns in {BLOCK}s")
    groups, blocks = n // LANES, k // BLOCK
    rows = raw.reshape(groups, LANES, blocks, form.file_bytes)  # (groups, lanes, blocks, bytes)
    out = np.empty((groups, blocks, form.bytes), np.uint8)
    halves = form.header // 2  # float16 numbers: a scale, perhaps a minimum
    head = rows[..., : form.header].reshape(groups, LANES, blocks, halves, 2)
    start = form.header * LANES
    out[..., :start] = head.transpose(0, 2, 3, 1, 4).reshape(groups, blocks, start)
    codes = rows[..., form.header :]
    if form.bits == 8:
        codes = codes ^ np.uint8(128)  # signed to unsigned plus 128: the byte product wants one unsigned side
    fours = codes.reshape(groups, LANES, blocks, -1, 4)  # (groups, lanes, blocks, vectors, 4)
    out[..., start:] = fours.transpose(0, 2, 3, 1, 4).reshape(groups, blocks, -1)
    return out
