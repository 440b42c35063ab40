"""The codes and scales of a unit (32 columns of 16 rows), from memory into vectors; see ``formats``.

``codes``: eight vectors of unsigned bytes, vector j with columns 4 j to 4 j + 3 of the rows. ``scales``:
what the codes of columns 0 to 15 and of 16 to 31 are multiplied by, what is added to them, and where the
unit's codes begin.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.formats import FORMATS

__all__ = ["exponents", "five", "four", "halves", "octets", "six", "supers", "three", "two", "values"]

F = np.float32


@inlined
def octets(w):
    """Whole bytes, as they lie."""
    return (
        simd.load_i8x64(w, 0),
        simd.load_i8x64(w, 64),
        simd.load_i8x64(w, 128),
        simd.load_i8x64(w, 192),
        simd.load_i8x64(w, 256),
        simd.load_i8x64(w, 320),
        simd.load_i8x64(w, 384),
        simd.load_i8x64(w, 448),
    )


@inlined
def four(w):
    """A plane of 4 bits."""
    a, b = simd.load_i8x64(w, 0), simd.load_i8x64(w, 64)
    c, d = simd.load_i8x64(w, 128), simd.load_i8x64(w, 192)
    low = (simd.bits(a, 0, 15), simd.bits(b, 0, 15), simd.bits(c, 0, 15), simd.bits(d, 0, 15))
    return (*low, simd.bits(a, 4, 15), simd.bits(b, 4, 15), simd.bits(c, 4, 15), simd.bits(d, 4, 15))


@inlined
def two(w):
    """A plane of 2 bits."""
    a, b = simd.load_i8x64(w, 0), simd.load_i8x64(w, 64)
    low = (simd.bits(a, 0, 3), simd.bits(b, 0, 3), simd.bits(a, 2, 3), simd.bits(b, 2, 3))
    return (*low, simd.bits(a, 4, 3), simd.bits(b, 4, 3), simd.bits(a, 6, 3), simd.bits(b, 6, 3))


@inlined
def _one(w):
    """A plane of single bits."""
    a = simd.load_i8x64(w, 0)
    low = (simd.bits(a, 0, 1), simd.bits(a, 1, 1), simd.bits(a, 2, 1), simd.bits(a, 3, 1))
    return (*low, simd.bits(a, 4, 1), simd.bits(a, 5, 1), simd.bits(a, 6, 1), simd.bits(a, 7, 1))


@inlined
def _joined(low, high, shift):
    return (
        simd.join_bits(low[0], high[0], shift),
        simd.join_bits(low[1], high[1], shift),
        simd.join_bits(low[2], high[2], shift),
        simd.join_bits(low[3], high[3], shift),
        simd.join_bits(low[4], high[4], shift),
        simd.join_bits(low[5], high[5], shift),
        simd.join_bits(low[6], high[6], shift),
        simd.join_bits(low[7], high[7], shift),
    )


@inlined
def three(w):
    """Planes of 2 bits and of 1."""
    return _joined(two(w), _one(w + 128), 2)


@inlined
def five(w):
    """Planes of 4 bits and of 1."""
    return _joined(four(w), _one(w + 256), 4)


@inlined
def six(w):
    """Planes of 4 bits and of 2."""
    return _joined(four(w), two(w + 256), 4)


def values(table):
    """Make a reader of 4-bit codes that stand for the bytes of a ``table``."""
    look_up = simd.table(table)

    @inlined
    def looked_up(w):
        c = four(w)
        low = (look_up(c[0]), look_up(c[1]), look_up(c[2]), look_up(c[3]))
        return (*low, look_up(c[4]), look_up(c[5]), look_up(c[6]), look_up(c[7]))

    return looked_up


@inlined
def _half(w, place):
    return simd.half_to_float(simd.load_f16x16(w + place, 0))


def halves(kind):
    """A float16 scale, and a float16 minimum where the type has one."""
    form = FORMATS[kind]
    size, second = form.bytes, 32 * (form.head == 4)

    @inlined
    def scales(w, b):
        place = w + b * size
        d, low = _half(place, 0), _half(place, second)
        return d, d, low, low, place + 32 + second

    return scales


def supers(kind):
    """Small integers, which a super-block's float16 scales: bytes of one or of two groups, or half bytes."""
    form = FORMATS[kind]
    size, top, head = form.bytes, 16 * form.top, 16 * form.head
    unit = (size - top) // 8
    signed = form.top == 2  # a type without minimums
    paired, minimums = kind == "Q2_K", kind in ("Q4_K", "Q5_K")
    second = 16 if form.head == 2 and not minimums else 0

    @inlined
    def scales(w, b):
        start = w + b // 8 * size
        place = start + top + b % 8 * unit
        d = _half(start, 0)
        if signed:
            s0, s1 = simd.load_i8x16(place, 0), simd.load_i8x16(place, second)
            d0, d1 = simd.multiply(d, simd.to_float(s0)), simd.multiply(d, simd.to_float(s1))
            return d0, d1, d0, d1, place + head
        low = _half(start, 32)
        if minimums:
            d0 = simd.multiply(d, simd.to_float(simd.load_u8x16(place, 0)))
            m0 = simd.multiply(low, simd.to_float(simd.load_u8x16(place, 16)))
            return d0, d0, m0, m0, place + head
        d0, m0 = _pair(d, low, simd.load_u8x16(place, 0))
        d1, m1 = _pair(d, low, simd.load_u8x16(place, 16))
        return d0, d1, m0, m1, place + head

    assert paired or signed or minimums
    return scales


@inlined
def _pair(d, low, both):
    """Scale and minimum from the halves of a byte."""
    high = simd.shift_down(both, 4)
    s = simd.subtract(simd.to_float(both), simd.scale(simd.to_float(high), F(16)))
    return simd.multiply(d, s), simd.multiply(low, simd.to_float(high))


def exponents(kind):
    """A power of two, by its exponent (E8M0), halved since the table's values are doubled.

    Below 2^-126 the power stays 2^-126: weights of such blocks are as good as zero.
    """
    size = FORMATS[kind].bytes

    @inlined
    def scales(w, b):
        place = w + b * size
        e = simd.load_u8x16(place, 0)
        d = simd.power_of_two(simd.at_least(simd.plus(e, -128), -126))
        return d, d, d, d, place + 16

    return scales
