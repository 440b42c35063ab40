"""Fields of a block's working space, 16 pixels at once."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from whygpu.draw.fast.fields import STRIDE
from whygpu.engine.jit import inlined
from whygpu.engine.simd import load_f32x16, store_f32x16

__all__ = ["LANES", "keep_three", "three"]

LANES = 16
"""Pixels of a vector: those of a segment's last one that are too many are computed, and not kept."""


@inlined
def three(space, field, i):
    """A vector or a colour of 16 pixels: three fields, one after another."""
    return (
        load_f32x16(space, field + i),
        load_f32x16(space, field + STRIDE + i),
        load_f32x16(space, field + 2 * STRIDE + i),
    )


@inlined
def keep_three(space, field, i, x, y, z):
    """Write three fields."""
    store_f32x16(space, field + i, x)
    store_f32x16(space, field + STRIDE + i, y)
    store_f32x16(space, field + 2 * STRIDE + i, z)
