"""Weights times rounded activations: rows of a packed matrix, for one token or for tiles of tokens.

With one token the weights are read once for little work: memory decides. In a tile each vector of codes that
was unpacked serves four tokens: arithmetic decides. Where the CPU has 32 wide registers, a tile takes two
groups of rows, so that each activation that was loaded serves both. Sums within a block of 32 columns (16 in
types whose scales are for 16) are exact integers. CPUs with AVX2 and no VNNI have products of their own, see
``word_sums``.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.activations import FIRST, LAST, MOMENT, ROUNDED, SCALE, SUM
from whygpu.think.fast.formats import BLOCK, FORMATS
from whygpu.think.fast.walks import four_tokens, one_token, walk
from whygpu.think.fast.word_sums import fits, products_in_words

__all__ = ["rows"]

F = np.float32


def rows(kind, scales, code, *, minimums=False, offset=0, halves=False, most=255):
    """A block type's product.

    ``scales``, ``code``: its readers, of ``codes.py``. ``minimums``: whether weights are d q + m.
    ``offset``: what codes stand for beside themselves (-8: codes 0 to 15 for -8 to 7), minus a power of two,
    taken out exactly with the activations' sums. ``halves``: whether 16 columns share a scale, not 32.
    ``most``: the largest code.

    The result is ``multiply(w, groups, k, x, floats, tokens, out, stride)``, all int64. ``w``: address of
    the first of ``groups`` groups of 16 rows, ``k`` columns wide. ``x``: that of rounded activations,
    ``floats`` of the same before rounding; both ``tokens`` rows of ``k``. ``out``: that of the first row's
    float32 result, tokens ``stride`` numbers apart.
    """
    dot, together = simd.dot_bytes, 1
    if most > 127 and simd.byte_dot() == "avx2":
        dot, offset = simd.dot_centred, offset + 128
    start, end = _start(offset), _ending(halves, minimums)
    if fits(most):
        one, tile = products_in_words(kind, scales, code, most, start, end, halves)
    elif simd.many_registers():
        together, tile = 2, _two_groups(kind, scales, _pair(code, dot, start, end, halves))
        one = one_token(kind, scales, _single(code, dot, start, end, halves))
    else:
        single = _single(code, dot, start, end, halves)
        one, tile = one_token(kind, scales, single), four_tokens(kind, scales, _each(single))
    row, columns = FORMATS[kind].bytes, FORMATS[kind].columns

    @inlined
    def multiply(w, groups, k, x, floats, tokens, out, stride):
        row_bytes, apart = k // columns * row, k // BLOCK * ROUNDED
        # a last tile may do tokens again: two or three of them cost less so than one by one
        tiled = 0 if tokens < 4 else tokens if tokens % 4 != 1 else tokens - 1
        for g in range(0, groups, together):
            a = max(min(g, groups - together), 0)
            b = min(a + 1, groups - 1)
            for t in range(0, tiled, 4):
                at = min(t, tokens - 4)
                place = out + 4 * at * stride
                tile(w + a * row_bytes, w + b * row_bytes, k // BLOCK, x + at * apart, apart,
                     place + 64 * a, place + 64 * b, stride)  # fmt: skip
            for t in range(tiled, tokens):
                for here in range(g, min(g + together, groups)):
                    total = one(w + here * row_bytes, k // BLOCK, x + t * apart)
                    simd.store_f32x16(out + 64 * here, t * stride, total)

    return multiply


def _each(add):
    """``add`` for each of four tokens; the compiler unpacks each code once."""

    @inlined
    def four(t, w, s, x):
        return (add(t[0], w, s, x[0]), add(t[1], w, s, x[1]), add(t[2], w, s, x[2]), add(t[3], w, s, x[3]))

    return four


def _two_groups(kind, scales, add):
    """Two groups of rows times four tokens."""
    (units, before, unit, head), (first, second) = walk(kind), scales

    @inlined
    def tile(w, v, blocks, x, apart, out, other, stride):
        z = simd.zero_f32()
        t = (z, z, z, z, z, z, z, z)
        for left in range(blocks, 0, -units):
            (d, low), (e, lower) = first(w), first(v)
            w += before
            v += before
            for _ in range(min(left, units)):
                four = (x, x + apart, x + 2 * apart, x + 3 * apart)
                t = add(t, w + head, v + head, second(d, low, w), second(e, lower, v), four)
                w += unit
                v += unit
                x += ROUNDED
        simd.store_f32x16(out, 0, t[0])
        simd.store_f32x16(other, 0, t[1])
        simd.store_f32x16(out, stride, t[2])
        simd.store_f32x16(other, stride, t[3])
        simd.store_f32x16(out, 2 * stride, t[4])
        simd.store_f32x16(other, 2 * stride, t[5])
        simd.store_f32x16(out, 3 * stride, t[6])
        simd.store_f32x16(other, 3 * stride, t[7])

    return tile


def _start(offset):
    """What a sum of products begins with, for the codes' ``offset``."""
    shift = (-offset).bit_length() - 1
    assert offset in (0, -(1 << max(shift, 0)))

    @inlined
    def start(x, place):
        return simd.repeat_i32(x, place, shift) if offset else simd.zero_i32()

    return start


def _ending(halves, minimums):
    """Integer sums of a unit (of its halves, the first of them scaled) to a token's total.

    ``s``: scales of the halves, minimums of the halves.
    """

    @inlined
    def whole(total, product, s, x):
        total = simd.fma(simd.to_float(product) * simd.load_f32(x, SCALE), s[0], total)
        return simd.fma_scalar(s[2], simd.load_f32(x, MOMENT), total) if minimums else total

    @inlined
    def split(total, first, product, s, x):
        factor = simd.load_f32(x, SCALE)
        total = simd.fma_scalar(simd.fma(simd.to_float(product), s[1], first), factor, total)
        if minimums:
            total = simd.fma_scalar(s[2], -factor * F(simd.load_i32(x, FIRST)), total)
            total = simd.fma_scalar(s[3], -factor * F(simd.load_i32(x, LAST)), total)
        return total

    return split if halves else whole


def _single(code, dot, start, end, halves):
    """A unit's product with one token's block, added to ``total``."""

    @inlined
    def quad(total, w, x, half, c):
        return dot(total, code(w, half, c), simd.repeat_four(x, 16 * half + 4 * c))

    @inlined
    def whole(total, w, s, x):
        p = start(x, SUM)
        p = quad(quad(p, w, x, 0, 0), w, x, 1, 0)
        p = quad(quad(p, w, x, 0, 1), w, x, 1, 1)
        p = quad(quad(p, w, x, 0, 2), w, x, 1, 2)
        p = quad(quad(p, w, x, 0, 3), w, x, 1, 3)
        return end(total, p, s, x)

    @inlined
    def split(total, w, s, x):
        p, q = start(x, FIRST), start(x, LAST)
        p, q = quad(p, w, x, 0, 0), quad(q, w, x, 1, 0)
        p, q = quad(p, w, x, 0, 1), quad(q, w, x, 1, 1)
        p, q = quad(p, w, x, 0, 2), quad(q, w, x, 1, 2)
        p, q = quad(p, w, x, 0, 3), quad(q, w, x, 1, 3)
        return end(total, simd.to_float(p) * s[0], q, s, x)

    return split if halves else whole


def _pair(code, dot, start, end, halves):
    """The units of two groups times the blocks of four tokens, added to eight totals (token, group)."""

    @inlined
    def starts(x, place):
        a, b, c, d = start(x[0], place), start(x[1], place), start(x[2], place), start(x[3], place)
        return (a, a, b, b, c, c, d, d)

    @inlined
    def quad(p, w, v, x, half, c):
        a, b, at = code(w, half, c), code(v, half, c), 16 * half + 4 * c
        x0, x1 = simd.repeat_four(x[0], at), simd.repeat_four(x[1], at)
        x2, x3 = simd.repeat_four(x[2], at), simd.repeat_four(x[3], at)
        low = (dot(p[0], a, x0), dot(p[1], b, x0), dot(p[2], a, x1), dot(p[3], b, x1))
        return (*low, dot(p[4], a, x2), dot(p[5], b, x2), dot(p[6], a, x3), dot(p[7], b, x3))

    @inlined
    def whole(t, w, v, s, r, x):
        p = starts(x, SUM)
        p = quad(quad(p, w, v, x, 0, 0), w, v, x, 1, 0)
        p = quad(quad(p, w, v, x, 0, 1), w, v, x, 1, 1)
        p = quad(quad(p, w, v, x, 0, 2), w, v, x, 1, 2)
        p = quad(quad(p, w, v, x, 0, 3), w, v, x, 1, 3)
        low = (end(t[0], p[0], s, x[0]), end(t[1], p[1], r, x[0]), end(t[2], p[2], s, x[1]))
        high = (end(t[4], p[4], s, x[2]), end(t[5], p[5], r, x[2]), end(t[6], p[6], s, x[3]))
        return (*low, end(t[3], p[3], r, x[1]), *high, end(t[7], p[7], r, x[3]))

    @inlined
    def scaled(p, s):
        return simd.to_float(p) * s[0]

    @inlined
    def split(t, w, v, s, r, x):
        p = quad(quad(starts(x, FIRST), w, v, x, 0, 0), w, v, x, 0, 1)
        p = quad(quad(p, w, v, x, 0, 2), w, v, x, 0, 3)
        f = (scaled(p[0], s), scaled(p[1], r), scaled(p[2], s), scaled(p[3], r))
        g = (scaled(p[4], s), scaled(p[5], r), scaled(p[6], s), scaled(p[7], r))
        q = quad(quad(starts(x, LAST), w, v, x, 1, 0), w, v, x, 1, 1)
        q = quad(quad(q, w, v, x, 1, 2), w, v, x, 1, 3)
        low = (end(t[0], f[0], q[0], s, x[0]), end(t[1], f[1], q[1], r, x[0]))
        more = (end(t[2], f[2], q[2], s, x[1]), end(t[3], f[3], q[3], r, x[1]))
        high = (end(t[4], g[0], q[4], s, x[2]), end(t[5], g[1], q[5], r, x[2]))
        return (*low, *more, *high, end(t[6], g[2], q[6], s, x[3]), end(t[7], g[3], q[7], r, x[3]))

    return split if halves else whole
