"""The codes and scales of a unit (32 columns of 16 rows), from memory into vectors; see ``formats``.

A reader of codes gives one vector of unsigned bytes: quad ``c`` (0 to 3) of the first or the last 16 columns
(``half``: 0 or 1), which is columns 16 half + 4 c to 16 half + 4 c + 3 of the rows. Where two quads share
bytes, the compiler loads them once. A reader of scales is a pair: what it reads before the units (one, or
the eight of a super-block), and from that and the unit's head what the codes of columns 0 to 15 and of 16 to
31 are multiplied by and what is added to them.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.formats import FORMATS

__all__ = ["exponents", "five", "four", "halves", "octets", "six", "supers", "three", "two", "values"]

F = np.float32


@inlined
def octets(w, half, c):
    """Whole bytes, as they lie."""
    return simd.load_i8x64(w, 256 * half + 64 * c)


@inlined
def four(w, half, c):
    """A plane of 4 bits."""
    return simd.bits(simd.load_i8x64(w, 64 * c), 4 * half, 15)


@inlined
def two(w, half, c):
    """A plane of 2 bits."""
    return simd.bits(simd.load_i8x64(w, 64 * (c % 2)), 2 * (c // 2) + 4 * half, 3)


@inlined
def three(w, half, c):
    """Planes of 2 bits and of 1."""
    bit = c + 4 * half
    high = simd.load_i8x64(w, 128)
    return simd.join_bits(two(w, half, c), high, max(2 - bit, 0), max(bit - 2, 0), 4)


@inlined
def five(w, half, c):
    """Planes of 4 bits and of 1."""
    bit = c + 4 * half
    high = simd.load_i8x64(w, 256)
    return simd.join_bits(four(w, half, c), high, max(4 - bit, 0), max(bit - 4, 0), 16)


@inlined
def six(w, half, c):
    """Planes of 4 bits and of 2."""
    bit = 2 * (c // 2) + 4 * half
    high = simd.load_i8x64(w, 256 + 64 * (c % 2))
    return simd.join_bits(four(w, half, c), high, max(4 - bit, 0), max(bit - 4, 0), 48)


def values(table):
    """Make a reader of 4-bit codes that stand for the bytes of a ``table``."""
    look_up = simd.table(table)

    @inlined
    def looked_up(w, half, c):
        return look_up(four(w, half, c))

    return looked_up


@inlined
def _half(w, place):
    return simd.half_to_float(simd.load_f16x16(w + place, 0))


@inlined
def _same(d, low, head):
    """Where the unit itself has nothing to add."""
    return d, d, low, low


def halves(kind):
    """A float16 scale, and a float16 minimum where the type has one."""
    second = 32 * (FORMATS[kind].head == 4)

    @inlined
    def before(w):
        return _half(w, 0), _half(w, second)

    return before, _same


def supers(kind):
    """Small integers, which a super-block's float16 scales: bytes of one or of two groups, or half bytes."""
    form = FORMATS[kind]
    signed = form.top == 2  # a type without minimums
    paired, minimums = kind == "Q2_K", kind in ("Q4_K", "Q5_K")
    second, minimum = 16 if form.head == 2 and not minimums else 0, 0 if signed else 32
    assert paired or signed or minimums

    @inlined
    def before(w):
        return _half(w, 0), _half(w, minimum)

    @inlined
    def scales(d, low, head):
        if signed:
            s0, s1 = simd.load_i8x16(head, 0), simd.load_i8x16(head, second)
            d0, d1 = d * simd.to_float(s0), d * simd.to_float(s1)
            return d0, d1, d0, d1
        if minimums:
            d0 = d * simd.to_float(simd.load_u8x16(head, 0))
            m0 = low * simd.to_float(simd.load_u8x16(head, 16))
            return d0, d0, m0, m0
        d0, m0 = _pair(d, low, simd.load_u8x16(head, 0))
        d1, m1 = _pair(d, low, simd.load_u8x16(head, 16))
        return d0, d1, m0, m1

    return before, scales


@inlined
def _pair(d, low, both):
    """Scale and minimum from the halves of a byte."""
    high = both >> 4
    s = simd.to_float(both) - simd.to_float(high) * F(16)
    return d * s, low * simd.to_float(high)


@inlined
def _exponent(w):
    d = simd.power_of_two(simd.larger(simd.load_u8x16(w, 0) - 128, -126))
    return d, d


def exponents():
    """A power of two, by its exponent (E8M0), halved since the table's values are doubled.

    Below 2^-126 the power stays 2^-126: weights of such blocks are as good as zero.
    """
    return _exponent, _same
