"""Texture sampling, one pixel at a time; the rules are those of ``portable.texture``, to the last bit."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.engine.jit import inlined

__all__ = ["CUTOFF_TIE", "LEVEL_TIE", "TEXEL_TIE", "level_of", "sample"]

TEXEL_TIE = 2.0**-20
"""Added to a coordinate, in texels, before the nearest texel is taken: borders belong to the next texel."""
LEVEL_TIE = 1e-4
"""Up to this level a texture counts as magnified; also moves where the nearest level changes."""
CUTOFF_TIE = 1e-5
"""So much below the cutoff alpha still counts as equal to it."""

_2_OVER_LN2 = 2.8853900817779268
_SQRT2 = 1.4142135623730951


@intrinsic
def _exponent(typing_context, x):
    """The exponent of a positive float64."""

    def code(context, builder, signature, args):
        bits = builder.bitcast(args[0], ir.IntType(64))
        return builder.sub(builder.lshr(bits, ir.Constant(bits.type, 52)), ir.Constant(bits.type, 1023))

    return types.int64(types.float64), code


@intrinsic
def _mantissa(typing_context, x):
    """The mantissa of a positive float64, from 1 up to 2."""

    def code(context, builder, signature, args):
        bits = builder.bitcast(args[0], ir.IntType(64))
        bits = builder.and_(bits, ir.Constant(bits.type, (1 << 52) - 1))
        bits = builder.or_(bits, ir.Constant(bits.type, 1023 << 52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64), code


@inlined
def _log2(x):
    """The logarithm of a positive float64 to 2e-9: the exponent and five terms of a series of the rest."""
    exponent, m = np.float64(_exponent(x)), _mantissa(x)
    if m > _SQRT2:
        exponent, m = exponent + 1.0, m * 0.5
    s = (m - 1.0) / (m + 1.0)
    t = s * s
    return exponent + _2_OVER_LN2 * s * (1.0 + t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + t * (1 / 9)))))


@inlined
def level_of(rho2, last, between):
    """The level of the mipmap to sample, float64, and whether the image is made smaller.

    ``rho2`` is the square of how many texels of the largest level lie between this pixel and the next,
    ``last`` the smallest level, ``between`` the filter between levels (0 none, 1 nearest, 2 linear).
    """
    level = 0.5 * _log2(rho2 if rho2 > 1e-30 else 1e-30)
    smaller = level > LEVEL_TIE
    level = level if smaller and between > 0 else 0.0
    level = min(level, last)
    return np.floor(level + (0.5 + LEVEL_TIE)) if between == 1 else level, smaller


@inlined
def _axis(t, count, wrap, linear):
    """Along one axis: the texels before and after the coordinate ``t``, and how far it is between them."""
    if wrap == 0:
        t = t - np.floor(t)
    elif wrap == 2:
        t = t - 2.0 * np.floor(t * 0.5)
        t = 2.0 - t if t > 1 else t
    t = t if t > 0 else 0.0  # what is not a number becomes 0
    t = t if t < 1 else 1.0
    place = t * np.float64(count) + (-0.5 if linear else TEXEL_TIE)
    whole = np.floor(place)
    low = np.int64(whole)
    high = low + 1 if linear else low
    part = np.float32(place - whole) if linear else np.float32(0)
    last = count - 1
    below, above = (last, np.int64(0)) if wrap == 0 else (np.int64(0), last)
    low = below if low < 0 else (above if low > last else low)
    high = below if high < 0 else (above if high > last else high)
    return low, high, part


@inlined
def sample(texels, levels, first, level, linear, wrap_u, wrap_v, table, plain, u, v):
    """Linear RGBA, four float32, at (u, v) of a mipmap whose largest level is row ``first`` of ``levels``."""
    whole = np.floor(level)
    part = np.float32(level - whole)
    row = np.uintp(first + np.int64(whole))
    red = green = blue = alpha = np.float32(0)
    share = np.float32(1) - part
    while True:
        start, width, height = levels[row, 0], levels[row, 1], levels[row, 2]
        x0, x1, fx = _axis(u, width, wrap_u, linear)
        y0, y1, fy = _axis(v, height, wrap_v, linear)
        top, bottom = share * (np.float32(1) - fy), share * fy
        w00, w10 = top - top * fx, top * fx
        w01, w11 = bottom - bottom * fx, bottom * fx
        y0, y1 = start + y0 * width, start + y1 * width
        a, b, c, d = np.uintp(y0 + x0), np.uintp(y0 + x1), np.uintp(y1 + x0), np.uintp(y1 + x1)
        red += (table[texels[a, 0]] * w00 + table[texels[b, 0]] * w10) + (
            table[texels[c, 0]] * w01 + table[texels[d, 0]] * w11
        )
        green += (table[texels[a, 1]] * w00 + table[texels[b, 1]] * w10) + (
            table[texels[c, 1]] * w01 + table[texels[d, 1]] * w11
        )
        blue += (table[texels[a, 2]] * w00 + table[texels[b, 2]] * w10) + (
            table[texels[c, 2]] * w01 + table[texels[d, 2]] * w11
        )
        alpha += (plain[texels[a, 3]] * w00 + plain[texels[b, 3]] * w10) + (
            plain[texels[c, 3]] * w01 + plain[texels[d, 3]] * w11
        )
        if part == 0:
            return red, green, blue, alpha
        row, share, part = row + np.uintp(1), part, np.float32(0)
