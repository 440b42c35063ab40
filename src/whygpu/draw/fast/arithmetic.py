"""Unit vectors and the sRGB curve, for one pixel or for 16 of them."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import sys

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.engine.jit import inlined
from whygpu.engine.simd import Vector, choose, inverse_root, larger, quick_root, smaller, truncate
from whygpu.engine.simd.vectors import repeat

__all__ = ["ALPHA_AT", "OPAQUE", "packed", "unit"]

# Where red, green, blue and alpha stand in the 32 bits of a pixel whose bytes are RGBA.
RED_AT, GREEN_AT, BLUE_AT = (0, 8, 16) if sys.byteorder == "little" else (24, 16, 8)
ALPHA_AT = 24 if sys.byteorder == "little" else 0
OPAQUE = 255 << ALPHA_AT

_TINY = np.float32(1e-30)
# The sRGB curve above 0.0031308 as a polynomial in the root of the linear value: interpolated at 200
# Chebyshev nodes by least squares; off by at most 0.13 of an 8-bit step. In such steps, and to be cut off.
_CURVE = (-0.03925528, 1.5002971, -1.2969983, 1.7751777, -1.3546826, 0.41563908)
_C0, _C1, _C2, _C3, _C4, _C5 = (
    np.float32(255 * part + (0.5 if power == 0 else 0)) for power, part in enumerate(_CURVE)
)
_STRAIGHT = np.float32(255 * 12.92)


@inlined
def unit(x, y, z):
    """The vector of that direction whose length is 1; of no direction, zero."""
    inverse = inverse_root(larger(x * x + y * y + z * z, _TINY))
    return x * inverse, y * inverse, z * inverse


@inlined
def _srgb(linear):
    """Linear light to an sRGB byte, int32 (IEC 61966-2-1); out of range is clipped, NaN is 0."""
    x = smaller(larger(linear, _TINY), np.float32(1))
    t = quick_root(x)
    t2 = t * t
    curve = (_C0 + t * _C1) + t2 * ((_C2 + t * _C3) + t2 * (_C4 + t * _C5))  # few sums wait for each other
    return truncate(choose(x, np.float32(0.0031308), curve, x * _STRAIGHT + np.float32(0.5)))


@intrinsic
def _joined(typing_context, red, green, blue, alpha):
    """The 32 bits of pixels from numbers up to 255, and from what alpha's bits are."""
    kind = red if isinstance(red, Vector) else types.int32

    def code(context, builder, signature, args):
        word = ir.IntType(32)
        value = args[3]
        if isinstance(kind, Vector):
            value = repeat(builder, value, kind.count)
        for part, place in zip(args[:3], (RED_AT, GREEN_AT, BLUE_AT), strict=True):
            by = (
                ir.Constant(kind.ir, [place] * kind.count)
                if isinstance(kind, Vector)
                else ir.Constant(word, place)
            )
            value = builder.or_(value, builder.shl(part, by))
        return value

    return kind(kind, kind, kind, types.int32), code


@inlined
def packed(red, green, blue, alpha):
    """The 32 bits of a pixel: linear light encoded as sRGB, alpha from 0 to 255 << ALPHA_AT."""
    return _joined(_srgb(red), _srgb(green), _srgb(blue), np.int32(alpha))
