"""Where textures are sampled: coordinates, levels and texels, 16 pixels at once; as ``portable.texture``."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import numpy as np

from whygpu.draw.fast.fields import STRIDE
from whygpu.engine.jit import inlined
from whygpu.engine.simd import (
    choose,
    exponent,
    floor,
    gather_i32,
    halved,
    larger,
    load_f64x16,
    mantissa,
    narrow,
    smaller,
    splat_f32,
    to_float,
    truncate,
    widen,
    zero_f32,
)

__all__ = ["CUTOFF_TIE", "LEVEL_TIE", "TEXEL_TIE", "corners", "mip_level"]

TEXEL_TIE = 2.0**-20.5
"""Added to a coordinate, in texels, before the nearest texel is taken: borders belong to the next texel. No
power of two, since coordinates are often one float32 step below a whole number, and would lie on a border."""
LEVEL_TIE = 1e-4
"""Up to this level a texture counts as magnified; also moves where the nearest level changes."""
CUTOFF_TIE = 1e-5
"""So much below the cutoff alpha still counts as equal to it."""

_SQRT2, _2_OVER_LN2 = np.float32(1.4142135), np.float32(2.885390)
_0, _HALF, _1 = np.float32(0), np.float32(0.5), np.float32(1)
_THIRD, _FIFTH, _SEVENTH = np.float32(1 / 3), np.float32(1 / 5), np.float32(1 / 7)
_TIE = np.float32(LEVEL_TIE)


@inlined
def _log2(x):
    """The binary logarithm: the exponent and four terms of a series of the rest, which is good to 1e-6."""
    m = mantissa(x)
    over = choose(m, _SQRT2, splat_f32(_1), zero_f32())
    m = m - m * over * _HALF
    s = (m - _1) / (m + _1)
    t = s * s
    return exponent(x) + over + s * (_1 + t * (_THIRD + t * (_FIFTH + t * _SEVENTH))) * _2_OVER_LN2


@inlined
def mip_level(at, i, last, between):
    """The level of a mipmap, and whether the image is made smaller (1 or 0).

    ``at`` holds in its third field the square of how many texels of the largest level lie between this pixel
    and the next. ``last``: the smallest level; ``between``: the filter between levels (0 none, 1 nearest,
    2 linear).
    """
    rho2 = narrow(smaller(larger(load_f64x16(at, 2 * STRIDE + i), 1e-30), 1e30))
    level = _log2(rho2) * _HALF
    small = choose(level, _TIE, splat_f32(_1), zero_f32())
    if between == 0:
        return zero_f32(), small
    level = smaller(level * small, np.float32(last))
    if between == 1:
        level = floor(level + (_HALF + _TIE))
    return level, small


@inlined
def _repeated(t, wrap):
    """A coordinate brought back into the image, from 0 to 1."""
    if wrap == 0:
        t = t - floor(t)
    elif wrap == 2:
        t = t - floor(t * 0.5) * 2.0
        t = choose(t, 1.0, 2.0 - t, t)
    return smaller(larger(t, 0.0), 1.0)  # what is not a number becomes 0


@inlined
def _axis(t, count, wrap, linear):
    """Along one axis: the texels before and after the coordinate ``t``, and how far it is between them.

    ``linear`` is 1, or 0 for the nearest texel. float64 up to the texel, as in the portable path; a texel's
    number fits float32.
    """
    size, mean = widen(count), widen(linear)
    t = _repeated(t + (1.0 - mean) * TEXEL_TIE / size, wrap)  # first, as the image's border is a texel's too
    spot = t * size - mean * 0.5
    whole = floor(spot)
    part = narrow(spot - whole) * linear
    low = narrow(whole)
    high, last = low + linear, to_float(count) - _1
    if wrap == 0:
        low = choose(_0, low, last, choose(low, last, zero_f32(), low))
        high = choose(_0, high, last, choose(high, last, zero_f32(), high))
    else:
        low, high = smaller(larger(low, _0), last), smaller(larger(high, _0), last)
    return truncate(low), truncate(high), part


@inlined
def corners(at, i, level, linear, levels, first, wrap_u, wrap_v):
    """The four texels around each pixel in a level, as places behind the mipmap's first one; then how far it
    is between them, across and down. The mipmap's largest level is row ``first`` of ``levels``."""
    whole = truncate(level)
    width, height = halved(levels[first, 1], whole), halved(levels[first, 2], whole)
    width, height = larger(width, np.int32(1)), larger(height, np.int32(1))
    start = gather_i32(levels, 6 * first, whole * np.int32(6))  # a row is three int64: six words
    start = start - np.int32(levels[first, 0])
    left, right, across = _axis(load_f64x16(at, i), width, wrap_u, linear)
    top, bottom, down = _axis(load_f64x16(at, STRIDE + i), height, wrap_v, linear)
    above, below = start + top * width, start + bottom * width
    return above + left, above + right, below + left, below + right, across, down
