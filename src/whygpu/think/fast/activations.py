"""What happens to a row of activations between products, 16 lanes at a time, in a fixed order of sums."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined

__all__ = ["exp16", "quantise", "rms_norm", "silu16"]

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
    n = simd.round_to_int(simd.scale(x, _LOG2_E))
    whole = simd.to_float(n)
    r = simd.fma_scalar(whole, -_LN2_LOW, simd.fma_scalar(whole, -_LN2_HIGH, x))
    p = simd.splat_f32(_C7)
    p = simd.fma(p, r, simd.splat_f32(_C6))
    p = simd.fma(p, r, simd.splat_f32(_C5))
    p = simd.fma(p, r, simd.splat_f32(_C4))
    p = simd.fma(p, r, simd.splat_f32(_C3))
    p = simd.fma(p, r, simd.splat_f32(_C2))
    p = simd.fma(p, simd.multiply(r, r), simd.add(r, simd.splat_f32(F(1))))
    return simd.multiply(p, simd.power_of_two(n))


@inlined
def silu16(x):
    """x times the logistic function of x."""
    return simd.divide(x, simd.add(simd.splat_f32(F(1)), exp16(simd.scale(x, F(-1)))))


@inlined
def rms_norm(x, start, width, gain, gain_start, epsilon, out, out_start):
    """RMSNorm (Zhang and Sennrich 2019) of ``x[start : start + width]`` into ``out``."""
    squares = simd.zero_f32()
    for i in range(0, width, 16):
        v = simd.load_f32x16(x, start + i)
        squares = simd.fma(v, v, squares)
    factor = F(1) / np.sqrt(simd.sum_lanes(squares) / F(width) + epsilon)
    for i in range(0, width, 16):
        v = simd.scale(simd.load_f32x16(x, start + i), factor)
        simd.store_f32x16(out, out_start + i, simd.multiply(v, simd.load_f32x16(gain, gain_start + i)))


@inlined
def quantise(x, start, width, codes, scales, sums, out_start):
    """Round to signed bytes by blocks of 32: x is about code times scale, |code| <= 127.

    ``sums`` gets each block's sum of codes: a weight block's minimum (or offset) multiplies it once.
    """
    block = out_start // 32
    for b in range(width // 32):
        low, high = simd.load_f32x16(x, start + 32 * b), simd.load_f32x16(x, start + 32 * b + 16)
        top = simd.max_lanes(simd.larger(simd.magnitude(low), simd.magnitude(high)))
        factor = F(127) / top if top > F(0) else F(0)
        first, second = (
            simd.round_to_int(simd.scale(low, factor)),
            simd.round_to_int(simd.scale(high, factor)),
        )
        simd.store_i8x16(codes, out_start + 32 * b, first)
        simd.store_i8x16(codes, out_start + 32 * b + 16, second)
        scales[block + b] = top / F(127)
        sums[block + b] = simd.sum_lanes_i32(first) + simd.sum_lanes_i32(second)
