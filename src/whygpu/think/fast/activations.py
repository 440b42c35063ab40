"""What happens to a row of activations between products, 16 lanes at a time, in a fixed order of sums."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined

__all__ = [
    "FIRST",
    "LAST",
    "MOMENT",
    "ROUNDED",
    "SCALE",
    "SUM",
    "bend16",
    "exp16",
    "normalise",
    "quantise",
    "tanh16",
]

ROUNDED = 52
"""Bytes of a rounded block of 32 activations."""
SCALE, MOMENT, SUM, FIRST, LAST = 8, 9, 10, 11, 12
"""Places, in 4 bytes, of a rounded block's numbers after its codes; see ``quantise``."""
F = np.float32
_LOG2_E = F(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = F(0.693359375), F(-2.12194440e-4)  # their sum is ln 2; the first has few bits
_C2, _C3, _C4, _C5, _C6, _C7 = (
    F(value)
    for value in (
        5.0000001201e-1,
        1.6666665459e-1,
        4.1665795894e-2,
        8.3334519073e-3,
        1.3981999507e-3,
        1.9875691500e-4,
    )
)
_TOP, _BOTTOM = F(88.0), F(-87.0)


@inlined
def exp16(x):
    """e to the x, within 2 units of the last place for -87 < x < 88 (beyond, as at the border).

    x = n ln 2 + r, e^x = 2^n e^r with a polynomial for e^r (the coefficients are Cephes' expf, S. Moshier).
    """
    x = simd.larger(x, simd.splat_f32(_BOTTOM))
    x = simd.smaller(x, simd.splat_f32(_TOP))
    n = simd.round_to_int(x * _LOG2_E)
    whole = simd.to_float(n)
    r = simd.fma_scalar(whole, -_LN2_LOW, simd.fma_scalar(whole, -_LN2_HIGH, x))
    p = simd.splat_f32(_C7)
    p = simd.fma(p, r, simd.splat_f32(_C6))
    p = simd.fma(p, r, simd.splat_f32(_C5))
    p = simd.fma(p, r, simd.splat_f32(_C4))
    p = simd.fma(p, r, simd.splat_f32(_C3))
    p = simd.fma(p, r, simd.splat_f32(_C2))
    p = simd.fma(p, r * r, r + F(1))
    return p * simd.power_of_two(n)


@inlined
def logistic16(x):
    """1 / (1 + e^-x)."""
    return F(1) / (F(1) + exp16(x * F(-1)))


@inlined
def tanh16(x):
    """The hyperbolic tangent: 2 / (1 + e^-2x) - 1."""
    return logistic16(x * F(2)) * F(2) - F(1)


@inlined
def bend16(x, gelu):
    """SiLU, or GELU in its tanh form (Hendrycks and Gimpel 2016), whose (1 + tanh u) / 2 is logistic(2 u)."""
    if gelu:
        inner = simd.fma_scalar(x * (x * x), F(0.044715), x)
        return x * logistic16(inner * F(2 * np.sqrt(2 / np.pi)))
    return x * logistic16(x)


@inlined
def normalise(x, start, width, vectors, gain, bias, centred, epsilon, out, out_start):
    """RMSNorm of ``x[start : start + width]`` into ``out``; ``centred``: LayerNorm.

    Gains stand at ``vectors[gain]``; biases at ``vectors[bias]``, or nowhere (-1).
    """
    mean = F(0)
    if centred:
        sums = simd.zero_f32()
        for i in range(0, width, 16):
            sums = sums + simd.load_f32x16(x, start + i)
        mean = simd.sum_lanes(sums) / F(width)
    squares, middle = simd.zero_f32(), simd.splat_f32(mean)
    for i in range(0, width, 16):
        v = simd.load_f32x16(x, start + i) - middle
        squares = simd.fma(v, v, squares)
    factor = F(1) / np.sqrt(simd.sum_lanes(squares) / F(width) + epsilon)
    for i in range(0, width, 16):
        v = (simd.load_f32x16(x, start + i) - middle) * factor
        v = v * simd.load_f32x16(vectors, gain + i)
        if bias >= 0:
            v = v + simd.load_f32x16(vectors, bias + i)
        simd.store_f32x16(out, out_start + i, v)


@inlined
def quantise(x, start, width, out):
    """Round to signed bytes by blocks of 32: x is about code times scale, |code| <= 127.

    ``out`` is the address of ``ROUNDED`` bytes a block: 32 codes; the scale; scale times their sum,
    which a weight block's minimum multiplies; that sum, and those of the first and of the last 16, all three
    negative, as what an offset of the weights' codes (a power of two) adds to a product.
    """
    for b in range(width // 32):
        low, high = simd.load_f32x16(x, start + 32 * b), simd.load_f32x16(x, start + 32 * b + 16)
        top = simd.max_lanes(simd.larger(simd.magnitude(low), simd.magnitude(high)))
        factor = F(127) / top if top > F(0) else F(0)
        first = simd.round_to_int(low * factor)
        second = simd.round_to_int(high * factor)
        simd.store_i8x16(out, 0, first)
        simd.store_i8x16(out, 16, second)
        unit, half, rest = top / F(127), simd.sum_lanes_i32(first), simd.sum_lanes_i32(second)
        whole = np.int32(half + rest)
        simd.store_f32(out, SCALE, unit)
        simd.store_f32(out, MOMENT, unit * F(whole))
        simd.store_i32(out, SUM, np.int32(-whole))
        simd.store_i32(out, FIRST, np.int32(-half))
        simd.store_i32(out, LAST, np.int32(-rest))
        out += ROUNDED
