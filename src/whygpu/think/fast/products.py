"""Weights times activations: rows of a packed matrix, for one token or four at a time.

With one token the weights are read once for little work: memory decides. With four, each vector of codes
that was unpacked serves four tokens: arithmetic decides. Sums within a block of 32 columns (16 in types
whose scales are for 16) are exact integers.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.activations import ROUNDED
from whygpu.think.fast.formats import FORMATS

__all__ = ["float_rows", "rows"]

F = np.float32
SCALE, SUM, FIRST, MOMENT = 8, 9, 10, 11  # places, in 4 bytes, of a block's numbers after its 32 codes


def _half_dot(dot):
    """16 columns of 16 rows times 16 activations, plus ``start``: 16 exact sums."""

    @inlined
    def four(a, b, c, d, x, start):
        total = dot(simd.splat_i32(start), a, simd.repeat_four(x, 0))
        total = dot(total, b, simd.repeat_four(x, 4))
        total = dot(total, c, simd.repeat_four(x, 8))
        return dot(total, d, simd.repeat_four(x, 12))

    return four


def _dot(dot):
    """32 columns of 16 rows times 32 activations, plus ``start``: 16 exact sums."""

    @inlined
    def eight(w, x, start):
        total = dot(simd.splat_i32(start), w[0], simd.repeat_four(x, 0))
        total = dot(total, w[1], simd.repeat_four(x, 4))
        total = dot(total, w[2], simd.repeat_four(x, 8))
        total = dot(total, w[3], simd.repeat_four(x, 12))
        total = dot(total, w[4], simd.repeat_four(x, 16))
        total = dot(total, w[5], simd.repeat_four(x, 20))
        total = dot(total, w[6], simd.repeat_four(x, 24))
        return dot(total, w[7], simd.repeat_four(x, 28))

    return eight


def _whole(minimums, offset, dot):
    """Add to ``total`` a unit's product with one token's block; one scale for 32 columns."""
    eight = _dot(dot)

    @inlined
    def add(total, w, d0, d1, m0, m1, x):
        product = simd.to_float(eight(w, x, np.int32(offset * simd.load_i32(x, SUM))))
        total = simd.fma(simd.scale(product, simd.load_f32(x, SCALE)), d0, total)
        return simd.fma_scalar(m0, simd.load_f32(x, MOMENT), total) if minimums else total

    return add


def _split(minimums, offset, dot):
    """The same with a scale for each 16 columns."""
    four = _half_dot(dot)

    @inlined
    def add(total, w, d0, d1, m0, m1, x):
        first, factor = simd.load_i32(x, FIRST), simd.load_f32(x, SCALE)
        rest = simd.load_i32(x, SUM) - first
        p0 = simd.to_float(four(w[0], w[1], w[2], w[3], x, np.int32(offset * first)))
        p1 = simd.to_float(four(w[4], w[5], w[6], w[7], x + 16, np.int32(offset * rest)))
        total = simd.fma_scalar(simd.fma(p0, d0, simd.multiply(p1, d1)), factor, total)
        if minimums:
            total = simd.fma_scalar(m0, factor * F(first), total)
            total = simd.fma_scalar(m1, factor * F(rest), total)
        return total

    return add


def rows(kind, scales, codes, *, minimums=False, offset=0, halves=False, wide=False):
    """A block type's product.

    ``scales``, ``codes``: its readers, of ``codes.py``. ``minimums``: whether weights are d q + m.
    ``offset``: what codes stand for beside themselves (-8: codes 0 to 15 for -8 to 7), taken out exactly with
    the activations' sums. ``halves``: whether 16 columns share a scale, not 32. ``wide``: codes beyond 127.

    The result is ``multiply(w, groups, k, x, floats, tokens, out, stride)``, all int64. ``w``: address of
    the first of ``groups`` groups of 16 rows, ``k`` columns wide. ``x``: that of rounded activations,
    ``floats`` of the same before rounding; both ``tokens`` rows of ``k``. ``out``: that of the first row's
    float32 result, tokens ``stride`` numbers apart.
    """
    add = (_split if halves else _whole)(minimums, offset, simd.dot_wide if wide else simd.dot_bytes)
    form = FORMATS[kind]
    size, columns = form.bytes, form.columns

    @inlined
    def one(w, blocks, x):
        total = simd.zero_f32()
        for b in range(blocks):
            d0, d1, m0, m1, place = scales(w, b)
            total = add(total, codes(place), d0, d1, m0, m1, x + b * ROUNDED)
        return total

    @inlined
    def four(w, blocks, x, apart):
        t0, t1, t2, t3 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        for b in range(blocks):
            d0, d1, m0, m1, place = scales(w, b)
            c = codes(place)
            t0 = add(t0, c, d0, d1, m0, m1, x)
            t1 = add(t1, c, d0, d1, m0, m1, x + apart)
            t2 = add(t2, c, d0, d1, m0, m1, x + 2 * apart)
            t3 = add(t3, c, d0, d1, m0, m1, x + 3 * apart)
            x += ROUNDED
        return t0, t1, t2, t3

    @inlined
    def multiply(w, groups, k, x, floats, tokens, out, stride):
        blocks, apart = k // 32, k // 32 * ROUNDED
        for g in range(groups):
            place, here, t = w + g * (k // columns * size), out + 64 * g, 0
            while t + 4 <= tokens:
                t0, t1, t2, t3 = four(place, blocks, x + t * apart, apart)
                simd.store_f32x16(here, t * stride, t0)
                simd.store_f32x16(here, (t + 1) * stride, t1)
                simd.store_f32x16(here, (t + 2) * stride, t2)
                simd.store_f32x16(here, (t + 3) * stride, t3)
                t += 4
            while t < tokens:
                simd.store_f32x16(here, t * stride, one(place, blocks, x + t * apart))
                t += 1

    return multiply


def float_rows(load, size):
    """The product of floating-point weights of ``size`` bytes, which ``load`` reads 16 at a time."""

    @inlined
    def one(w, k, x):
        # four sums, so that one multiply-add need not wait for the one before
        t0, t1, t2, t3 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        for i in range(0, k, 4):
            t0 = simd.fma_scalar(load(w, 16 * i), simd.load_f32(x, i), t0)
            t1 = simd.fma_scalar(load(w, 16 * i + 16), simd.load_f32(x, i + 1), t1)
            t2 = simd.fma_scalar(load(w, 16 * i + 32), simd.load_f32(x, i + 2), t2)
            t3 = simd.fma_scalar(load(w, 16 * i + 48), simd.load_f32(x, i + 3), t3)
        return simd.add(simd.add(t0, t1), simd.add(t2, t3))

    @inlined
    def six(w, k, x):
        t0, t1, t2 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        t3, t4, t5 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        for i in range(k):
            v = load(w, 16 * i)
            t0 = simd.fma_scalar(v, simd.load_f32(x, i), t0)
            t1 = simd.fma_scalar(v, simd.load_f32(x, k + i), t1)
            t2 = simd.fma_scalar(v, simd.load_f32(x, 2 * k + i), t2)
            t3 = simd.fma_scalar(v, simd.load_f32(x, 3 * k + i), t3)
            t4 = simd.fma_scalar(v, simd.load_f32(x, 4 * k + i), t4)
            t5 = simd.fma_scalar(v, simd.load_f32(x, 5 * k + i), t5)
        return t0, t1, t2, t3, t4, t5

    @inlined
    def multiply(w, groups, k, x, floats, tokens, out, stride):
        for g in range(groups):
            place, here, t = w + g * (k * 16 * size), out + 64 * g, 0
            while t + 6 <= tokens:
                t0, t1, t2, t3, t4, t5 = six(place, k, floats + 4 * t * k)
                simd.store_f32x16(here, t * stride, t0)
                simd.store_f32x16(here, (t + 1) * stride, t1)
                simd.store_f32x16(here, (t + 2) * stride, t2)
                simd.store_f32x16(here, (t + 3) * stride, t3)
                simd.store_f32x16(here, (t + 4) * stride, t4)
                simd.store_f32x16(here, (t + 5) * stride, t5)
                t += 6
            while t < tokens:
                simd.store_f32x16(here, t * stride, one(place, k, floats + 4 * t * k))
                t += 1

    return multiply
