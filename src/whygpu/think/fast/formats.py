"""How each of ggml's block types lies in the fast path's memory.

A unit is 32 columns of 16 rows. Its codes are split into planes of 4, 2 or 1 bits (or whole bytes), so that
few instructions put them together for 16 rows at once:

    8 bits  8 vectors of 64 bytes; byte c of lane r in vector j: row r, column 4 j + c
    4 bits  4 vectors; low halves columns 0 to 15, high halves 16 to 31
    2 bits  2 vectors; bits 2 f, 2 f + 1 of vector v: columns 4 (v + 2 f) to 4 (v + 2 f) + 3
    1 bit   1 vector; bit j: columns 4 j to 4 j + 3

Before the codes stand the scales of the 16 rows: as float16 (and minimums, where the type has such), or, in
types with super-blocks of 256 columns, as the file's small integers; the float16 that scales those stands
once, before the eight units of a super-block. Nothing is rounded again, and memory grows by 4 % at most.
"""

from dataclasses import dataclass

__all__ = ["BLOCK", "FORMATS", "LANES", "LINE", "Format"]

LANES = 16
"""Rows side by side."""
BLOCK = 32
"""Columns of a unit."""
LINE = 64
"""Bytes that memory moves at once."""


@dataclass(frozen=True, slots=True)
class Format:
    """The packed form of one block type."""

    planes: tuple[int, ...]
    """Bits of each plane of codes, the lowest bits first; (16,) or (32,): floating point, no codes."""
    head: int = 2
    """Bytes a row before the codes of each unit."""
    top: int = 0
    """Bytes a row before eight units; 0: no super-blocks."""

    @property
    def columns(self) -> int:
        """Of what repeats: a unit, or the eight of a super-block."""
        return 8 * BLOCK if self.top else BLOCK

    @property
    def bytes(self) -> int:
        """Of 16 rows of so many columns."""
        unit = self.head + BLOCK * sum(self.planes) // 8
        return LANES * (self.top + 8 * unit if self.top else unit)

    @property
    def floats(self) -> bool:
        """Whether the weights are floating-point numbers, which multiply float32 activations."""
        return self.planes[0] > 8


FORMATS = {
    "Q4_0": Format((4,)),
    "Q4_1": Format((4,), head=4),
    "Q5_0": Format((4, 1)),
    "Q5_1": Format((4, 1), head=4),
    "Q8_0": Format((8,)),
    "Q2_K": Format((2,), head=2, top=4),  # two bytes, each a scale (low half) and a minimum (high half)
    "Q3_K": Format((2, 1), head=2, top=2),
    "Q4_K": Format((4,), head=2, top=4),
    "Q5_K": Format((4, 1), head=2, top=4),
    "Q6_K": Format((4, 2), head=2, top=2),
    "IQ4_NL": Format((4,)),
    "IQ4_XS": Format((4,), head=1, top=2),
    "MXFP4": Format((4,), head=1),
    "F32": Format((32,), head=0),
    "F16": Format((16,), head=0),
    "BF16": Format((16,), head=0),
}
