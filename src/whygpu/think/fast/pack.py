"""Weights for the fast path: the file's own numbers, 16 rows side by side, as ``formats`` says.

A SIMD vector of 64 bytes then holds 4 neighbouring weights of 16 rows; multiplied with the same 4
activations in every lane, it adds to 16 sums at once, and no sum ever crosses lanes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from whygpu.engine import UserError
from whygpu.models.quants_bits import fields, six_bit_pairs
from whygpu.think.fast.formats import BLOCK, FORMATS, LANES

__all__ = ["pack", "packed_bytes"]

STEP = 1 << 17
"""Weights packed at once: the intermediate arrays stay in the cache."""


class Parts(NamedTuple):
    """The file's bytes of some blocks, sorted. Second numbers: bytes that stay together."""

    top: tuple[tuple[Any, int], ...]  # (blocks, bytes) each, before eight units
    units: tuple[tuple[Any, int], ...]  # (blocks, units, bytes) each: heads, then planes


def packed_bytes(kind: str, n: int, k: int) -> int:
    """Bytes of a packed n x k matrix; rows are filled up to a multiple of 16."""
    form = FORMATS[kind]
    return -(-n // LANES) * (k // form.columns) * form.bytes


def pack(raw: Any, kind: str, k: int, out: Any) -> None:
    """Pack a matrix.

    Parameters
    ----------
    raw
        (n, bytes of a row) uint8, as the file has it.
    kind
        Its block type, a key of ``FORMATS``.
    k
        Columns.
    out
        (``packed_bytes``,) uint8.

    Raises
    ------
    UserError
        Where the columns do not come in blocks.
    """
    form = FORMATS[kind]
    if k % form.columns:
        raise UserError(f"{k} columns cannot be packed as {kind}: they come in {form.columns}s")
    n, blocks = raw.shape[0], k // form.columns
    groups = -(-n // LANES)
    target = out.reshape(groups, blocks, form.bytes)
    step = max(1, STEP // (LANES * k))
    for first in range(0, groups, step):
        rows = raw[first * LANES : (first + step) * LANES]
        if len(rows) % LANES:
            rows = np.concatenate([rows, np.zeros((-len(rows) % LANES, rows.shape[1]), np.uint8)])
        parts = _SPLIT[kind](np.ascontiguousarray(rows).reshape(len(rows) * blocks, -1))
        _interleave(parts, target[first : first + step])


def _interleave(parts: Parts, out: Any) -> None:
    """Write the parts of 16 rows side by side into ``out`` (groups, blocks, bytes)."""
    groups, blocks = out.shape[:2]
    at = 0
    for part, together in parts.top:
        at = _put(part.reshape(groups, LANES, blocks, 1, -1), together, out[:, :, None, :], at)
    units = out[:, :, at:].reshape(groups, blocks, -1, (out.shape[2] - at) // parts.units[0][0].shape[1])
    at = 0
    for part, together in parts.units:
        at = _put(part.reshape(groups, LANES, blocks, units.shape[2], -1), together, units, at)


def _put(part: Any, together: int, out: Any, at: int) -> int:
    """One part: (groups, lanes, blocks, units, bytes) to (groups, blocks, units, ..., lanes, together)."""
    kind = np.dtype(f"u{together}")
    words = np.ascontiguousarray(part).view(kind)  # (groups, lanes, blocks, units, words)
    size = LANES * int(part.shape[4])
    target = out[..., at : at + size]
    target[...] = np.ascontiguousarray(words.transpose(0, 2, 3, 4, 1)).view(np.uint8).reshape(target.shape)
    return at + size


def _plain(head: int, unit: int) -> Callable[[Any], Parts]:
    """Types whose codes lie as wanted: ``head`` bytes of float16, then ``unit`` bytes of codes."""

    def split(blocks: Any) -> Parts:
        heads = ((blocks[:, None, at : at + 2], 2) for at in range(0, head, 2))
        return Parts((), (*heads, (blocks[:, None, head : head + unit], 4)))

    return split


def _octets(blocks: Any) -> Parts:
    """Signed bytes plus 128: the byte product wants one unsigned side."""
    return Parts((), ((blocks[:, None, :2], 2), (blocks[:, None, 2:] ^ np.uint8(128), 4)))


def _five(head: int) -> Callable[[Any], Parts]:
    """Q5_0, Q5_1: ``head`` bytes of float16, 32 fifth bits, 16 bytes of low halves."""

    def split(blocks: Any) -> Parts:
        high = np.unpackbits(np.ascontiguousarray(blocks[:, head : head + 4]), axis=1, bitorder="little")
        heads = ((blocks[:, None, at : at + 2], 2) for at in range(0, head, 2))
        return Parts((), (*heads, (blocks[:, None, head + 4 :], 4), (_plane(high, 1), 4)))

    return split


def _floats(size: int) -> Callable[[Any], Parts]:
    return lambda blocks: Parts((), ((blocks.reshape(-1, 1, BLOCK * size), size),))


def _plane(values: Any, bits: int) -> Any:
    """Numbers of ``bits`` bits, (blocks, weights), as a plane: (blocks, units, 4 ``bits`` bytes)."""
    # field f of byte i of a row's plane is column 4 bits f + i
    parts = values.reshape(values.shape[0], -1, 8 // bits, 4 * bits)
    plane = parts[:, :, 0].copy()
    for place in range(1, 8 // bits):
        plane |= parts[:, :, place] << np.uint8(bits * place)
    return plane


def _each(values: Any, count: int = 1) -> Any:
    """Bytes that belong to units: (blocks, 8 ``count``) to (blocks, 8, ``count``)."""
    return np.ascontiguousarray(values).reshape(values.shape[0], 8, count)


def _negative(halves: Any) -> Any:
    """Float16 numbers with the other sign: minimums are added here, and subtracted in the K types."""
    return halves ^ np.array([0, 128], np.uint8)


def _q2_k(blocks: Any) -> Parts:
    scales, codes = _each(blocks[:, :16], 2), fields(blocks[:, 16:80], 32, 2)
    top = ((blocks[:, 80:82], 2), (_negative(blocks[:, 82:84]), 2))
    return Parts(top, ((scales, 1), (_plane(codes, 2), 4)))


def _q3_k(blocks: Any) -> Parts:
    packed = blocks[:, 96:108]
    scales = (fields(packed[:, :8], 8, 4) | fields(packed[:, 8:], 4, 2) << 4) - np.uint8(32)  # signed bytes
    low, high = fields(blocks[:, 32:96], 32, 2), fields(blocks[:, :32], 32, 1)
    units = ((_each(scales, 2), 1), (_plane(low, 2), 4), (_plane(high, 1), 4))
    return Parts(((blocks[:, 108:110], 2),), units)


def _q4_k(blocks: Any) -> Parts:
    scales, minimums = six_bit_pairs(blocks[:, 4:16])
    codes = _plane(fields(blocks[:, 16:144], 32, 4), 4)
    top = ((blocks[:, :2], 2), (_negative(blocks[:, 2:4]), 2))
    return Parts(top, ((_each(scales), 1), (_each(minimums), 1), (codes, 4)))


def _q5_k(blocks: Any) -> Parts:
    scales, minimums = six_bit_pairs(blocks[:, 4:16])
    low, high = fields(blocks[:, 48:176], 32, 4), fields(blocks[:, 16:48], 32, 1)
    top = ((blocks[:, :2], 2), (_negative(blocks[:, 2:4]), 2))
    units = ((_each(scales), 1), (_each(minimums), 1), (_plane(low, 4), 4), (_plane(high, 1), 4))
    return Parts(top, units)


def _q6_k(blocks: Any) -> Parts:
    low, high = fields(blocks[:, :128], 64, 4), fields(blocks[:, 128:192], 32, 2)
    units = ((_each(blocks[:, 192:208], 2), 1), (_plane(low, 4), 4), (_plane(high, 2), 4))
    return Parts(((blocks[:, 208:210], 2),), units)


def _iq4_xs(blocks: Any) -> Parts:
    low = np.stack([blocks[:, 4:8] & 0x0F, blocks[:, 4:8] >> 4], axis=2).reshape(-1, 8)
    high = (blocks[:, 2:4, None] >> np.arange(0, 8, 2, dtype=np.uint8)).reshape(-1, 8) & 3
    scales = (low | high << 4) - np.uint8(32)  # signed bytes
    return Parts(((blocks[:, :2], 2),), ((_each(scales), 1), (blocks[:, 8:136].reshape(-1, 8, 16), 4)))


def _mxfp4(blocks: Any) -> Parts:
    return Parts((), ((blocks[:, None, :1], 1), (blocks[:, None, 1:], 4)))


_SPLIT: dict[str, Callable[[Any], Parts]] = {
    "Q4_0": _plain(2, 16),
    "Q4_1": _plain(4, 16),
    "Q5_0": _five(2),
    "Q5_1": _five(4),
    "Q8_0": _octets,
    "Q2_K": _q2_k,
    "Q3_K": _q3_k,
    "Q4_K": _q4_k,
    "Q5_K": _q5_k,
    "Q6_K": _q6_k,
    "IQ4_NL": _plain(2, 16),
    "IQ4_XS": _iq4_xs,
    "MXFP4": _mxfp4,
    "F32": _floats(4),
    "F16": _floats(2),
    "BF16": _floats(2),
}
