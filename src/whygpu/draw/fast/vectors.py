"""Fields of a block's working space, 16 pixels or runs at once."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from whygpu.draw.fast.fields import STRIDE
from whygpu.engine.jit import inlined
from whygpu.engine.simd import load_f32x16, load_f64x16, store_f32x16, store_f64x16

__all__ = ["LANES", "keep_three", "keep_three_wide", "three", "three_wide"]

LANES = 16
"""Numbers in a vector: those of a segment's last one that are too many are computed, and not kept."""


@inlined
def three(space, at, apart):
    """Three fields that lie ``apart``: a vector, a colour, or what three corners have."""
    return load_f32x16(space, at), load_f32x16(space, at + apart), load_f32x16(space, at + 2 * apart)


@inlined
def three_wide(space, at, apart):
    """The same of float64."""
    return load_f64x16(space, at), load_f64x16(space, at + apart), load_f64x16(space, at + 2 * apart)


@inlined
def keep_three(space, at, x, y, z):
    """Write three fields, one after another."""
    store_f32x16(space, at, x)
    store_f32x16(space, at + STRIDE, y)
    store_f32x16(space, at + 2 * STRIDE, z)


@inlined
def keep_three_wide(space, at, values):
    """The same of float64."""
    store_f64x16(space, at, values[0])
    store_f64x16(space, at + STRIDE, values[1])
    store_f64x16(space, at + 2 * STRIDE, values[2])
