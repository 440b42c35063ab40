"""Texture sampling, one pixel at a time; the rules are those of ``portable.texture``, to the last bit."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.engine.jit import inlined

__all__ = ["CUTOFF_TIE", "LEVEL_TIE", "TEXEL_TIE", "sample"]

TEXEL_TIE = 2.0**-20
"""Added to a coordinate, in texels, before the nearest texel is taken: borders belong to the next texel."""
LEVEL_TIE = 1e-4
"""Up to this level of the mipmap a texture counts as magnified; also moves where the nearest level changes."""
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
def sample(texels, levels, sampler, table, plain, u, v, across2, down2):
    """Linear RGBA, four float32, at (u, v); ``across2`` and ``down2`` are the squares of how many texels of the
    largest level lie between this pixel and the next to the right and down."""
    rho2 = max(across2, down2)
    level = 0.5 * _log2(rho2 if rho2 > 1e-30 else 1e-30)
    smaller = level > LEVEL_TIE
    linear = (sampler[5] if smaller else sampler[4]) == 1
    last = sampler[1] - 1
    level = level if smaller and sampler[6] > 0 else 0.0
    level = min(level, np.float64(last))
    if sampler[6] == 1:
        level = np.floor(level + (0.5 + LEVEL_TIE))
    whole = np.floor(level)
    part = np.float32(level - whole)
    low = np.int64(whole)
    red = green = blue = alpha = np.float32(0)
    for step in range(2 if part > 0 else 1):
        row = sampler[0] + low + step
        start, width, height = levels[row, 0], levels[row, 1], levels[row, 2]
        x0, x1, fx = _axis(u, width, sampler[2], linear)
        y0, y1, fy = _axis(v, height, sampler[3], linear)
        weight = part if step == 1 else np.float32(1) - part
        for tap in range(4 if linear else 1):
            x, y = x1 if tap & 1 else x0, y1 if tap & 2 else y0
            wx = fx if tap & 1 else np.float32(1) - fx
            wy = fy if tap & 2 else np.float32(1) - fy
            share = weight * (wx * wy)
            at = np.uintp(start + y * width + x)
            red += share * table[texels[at, 0]]
            green += share * table[texels[at, 1]]
            blue += share * table[texels[at, 2]]
            alpha += share * plain[texels[at, 3]]
    return red, green, blue, alpha
