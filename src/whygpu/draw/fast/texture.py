"""Texture sampling: coordinates and levels of a block, then pixel by pixel; as ``portable.texture``."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.draw.fast.fields import STRIDE
from whygpu.engine.jit import inlined

__all__ = ["CUTOFF_TIE", "LEVEL_TIE", "TEXEL_TIE", "place", "sample"]

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


@intrinsic
def _mean(typing_context, texels, places, weights, table, plain):
    """The weighted sum of four texels as (red, green, blue, alpha), float32: (a + b) + (c + d).

    ``places`` are rows of ``texels`` (N, 4) uint8. A texel's four parts are one vector.
    """

    def code(context, builder, signature, args):
        byte, word, four = ir.IntType(8), ir.IntType(32), ir.VectorType(ir.FloatType(), 4)
        view = context.make_array(signature.args[0])(context, builder, args[0])
        tables = [context.make_array(signature.args[i])(context, builder, args[i]).data for i in (3, 4)]
        parts = []
        for i in range(4):
            place = builder.shl(builder.extract_value(args[1], i), ir.Constant(ir.IntType(64), 2))
            first = builder.gep(builder.bitcast(view.data, byte.as_pointer()), [place])
            weight = builder.extract_value(args[2], i)
            color, weights = ir.Constant(four, ir.Undefined), ir.Constant(four, ir.Undefined)
            for part in range(4):
                at, lane = builder.gep(first, [ir.Constant(ir.IntType(64), part)]), ir.Constant(word, part)
                number = builder.zext(builder.load(at), ir.IntType(64))
                value = builder.load(builder.gep(tables[part == 3], [number]))
                color = builder.insert_element(color, value, lane)
                weights = builder.insert_element(weights, weight, lane)
            parts.append(builder.fmul(color, weights))
        total = builder.fadd(builder.fadd(parts[0], parts[1]), builder.fadd(parts[2], parts[3]))
        lanes = [builder.extract_element(total, ir.Constant(word, i)) for i in range(4)]
        return context.make_tuple(builder, signature.return_type, lanes)

    return types.UniTuple(types.float32, 4)(texels, places, weights, table, plain), code


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
def _repeated(t, wrap):
    """A coordinate brought back into the image, from 0 to 1."""
    if wrap == 0:
        t = t - np.floor(t)
    elif wrap == 2:
        t = t - 2.0 * np.floor(t * 0.5)
        t = 2.0 - t if t > 1 else t
    t = t if t > 0 else 0.0  # what is not a number becomes 0
    return t if t < 1 else 1.0


@inlined
def place(at, begin, stop, last, between, wrap_u, wrap_v):
    """Turn coordinates and rates of pixels into what ``sample`` takes: loops that become vectors.

    ``at`` holds, ``STRIDE`` apart, both coordinates and the square of how many texels of the largest level
    lie between this pixel and the next; then both coordinates in the image, the level of the mipmap, and
    whether the image is made smaller (1 or 0). ``last``: the smallest level; ``between``: the filter between
    levels (0 none, 1 nearest, 2 linear).
    """
    for i in range(begin, stop):
        rho2 = at[2 * STRIDE + i]
        level = 0.5 * _log2(rho2 if rho2 > 1e-30 else 1e-30)
        smaller = level > LEVEL_TIE
        level = level if smaller and between > 0 else 0.0
        level = min(level, last)
        at[2 * STRIDE + i] = np.floor(level + (0.5 + LEVEL_TIE)) if between == 1 else level
        at[3 * STRIDE + i] = 1.0 if smaller else 0.0
    for i in range(begin, stop):
        at[i], at[STRIDE + i] = _repeated(at[i], wrap_u), _repeated(at[STRIDE + i], wrap_v)


@inlined
def _axis(t, count, wrap, linear):
    """Along one axis: the texels before and after the coordinate ``t``, and how far it is between them."""
    spot = t * np.float64(count) + (-0.5 if linear else TEXEL_TIE)
    whole = np.floor(spot)
    low = np.int64(whole)
    high = low + 1 if linear else low
    part = np.float32(spot - whole) if linear else np.float32(0)
    last = count - 1
    below, above = (last, np.int64(0)) if wrap == 0 else (np.int64(0), last)
    low = below if low < 0 else (above if low > last else low)
    high = below if high < 0 else (above if high > last else high)
    return low, high, part


@inlined
def sample(texels, levels, first, level, linear, wrap_u, wrap_v, table, plain, u, v):
    """Linear RGBA, four float32, at (u, v) in a mipmap whose largest level is row ``first`` of ``levels``."""
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
        r, g, b, a = _mean(
            texels, (y0 + x0, y0 + x1, y1 + x0, y1 + x1), (w00, w10, w01, w11), table, plain
        )  # fmt: skip
        red, green, blue, alpha = red + r, green + g, blue + b, alpha + a
        if part == 0:
            return red, green, blue, alpha
        row, share, part = row + np.uintp(1), part, np.float32(0)
