"""Small triangles, many at once: one lane a triangle for all that can be foreseen, then one pixel at a time.

In a fine mesh most triangles hold one pixel or none. Setting up each by itself costs far more than its
pixels, so they are gathered in batches whose edge functions and depths are computed as vectors, without a
branch.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, assignment, operator"
# mypy: disable-error-code="var-annotated"

import numpy as np

from whygpu.draw.fast.bins import SMALL_SIDE
from whygpu.draw.fast.block import key_of, lowest
from whygpu.draw.fast.rules import HALF, ONE, SUBPIXEL_BITS
from whygpu.draw.fast.vectors import LANES
from whygpu.engine.jit import inlined
from whygpu.engine.simd import (
    choose,
    larger,
    load_f64x16,
    low_half,
    product,
    smaller,
    store_f64x16,
    store_wide,
    widen,
)

__all__ = ["BATCH", "REALS", "WORDS", "draw_batch", "gather"]

BATCH = 64
"""Triangles a batch; their working space stays in the first-level cache."""
WORDS = 11 * BATCH
"""int64 of working space a thread ..."""
REALS = 9 * BATCH
"""... and float64."""

_A, _B, _C, _ID = (i * BATCH for i in range(4))  # the corners' x and y in one word, the triangle
_MASK, _AT, _BOX = (i * BATCH for i in range(4, 7))  # pixels covered, where, pixels tested
_ZA, _ZB, _ZC = (i * BATCH for i in range(3))
_START, _SLOPE_X, _SLOPE_Y, _X, _Y = (i * BATCH for i in range(3, 8))  # depth; pixels from the anchor
_0, _1, _2, _3 = (np.uintp(i) for i in range(4))


@inlined
def gather(place, triangle, a, b, c, corners, real, words, reals):
    """Put a triangle with corners ``a``, ``b``, ``c`` (uintp) into a batch; all arrays are flat."""
    words[_A + place], words[_B + place], words[_C + place] = (
        corners[a << _1],
        corners[b << _1],
        corners[c << _1],
    )
    words[_ID + place] = triangle
    reals[_ZA + place] = real[(a << _2) + _2]
    reals[_ZB + place] = real[(b << _2) + _2]
    reals[_ZC + place] = real[(c << _2) + _2]


@inlined
def _start(x, y, from_x, from_y, to_x, to_y):
    """An edge function at a pixel's centre, less one where the top-left rule excludes the edge itself; then
    what it gains for a pixel to the right and down."""
    dx, dy = to_x - from_x, to_y - from_y
    excluded = choose(dy, 0, 1, choose(dy, -1, choose(dx, 0, 0, 1), 0))
    return dx * (y - from_y) - dy * (x - from_x) - excluded, (0 - dy) << SUBPIXEL_BITS, dx << SUBPIXEL_BITS


@inlined
def _row(a, b, c, across_a, across_b, across_c):
    """Four pixels of a row as bits: set where no edge function is negative, that is: no sign bit is set."""
    covered = ((a | b | c) >> 31) + 1
    a, b, c = a + across_a, b + across_b, c + across_c
    covered = covered | (((a | b | c) >> 31) + 1) << 1
    a, b, c = a + across_a, b + across_b, c + across_c
    covered = covered | (((a | b | c) >> 31) + 1) << 2
    a, b, c = a + across_a, b + across_b, c + across_c
    return covered | (((a | b | c) >> 31) + 1) << 3


@inlined
def _covered(edges, across, down):
    """Four rows of four pixels as bits."""
    (a, b, c), (across_a, across_b, across_c), (down_a, down_b, down_c) = edges, across, down
    mask = _row(a, b, c, across_a, across_b, across_c)
    a, b, c = a + down_a, b + down_b, c + down_c
    mask = mask | _row(a, b, c, across_a, across_b, across_c) << 4
    a, b, c = a + down_a, b + down_b, c + down_c
    mask = mask | _row(a, b, c, across_a, across_b, across_c) << 8
    a, b, c = a + down_a, b + down_b, c + down_c
    return mask | _row(a, b, c, across_a, across_b, across_c) << 12


@inlined
def _plane(i, xa, ya, zs, across, down, area, x0, y0, reals):
    """Depth functions; each product and sum as in ``raster`` and ``portable.raster``, to the last bit."""
    za, zb, zc = zs
    to_b, to_c, inverse = zb - za, zc - za, 1.0 / area
    slope_x = (product(widen(across[1]), to_b) + product(widen(across[2]), to_c)) * inverse
    slope_y = (product(widen(down[1]), to_b) + product(widen(down[2]), to_c)) * inverse
    anchor_x, anchor_y = xa >> SUBPIXEL_BITS, ya >> SUBPIXEL_BITS
    away_x = widen((anchor_x << SUBPIXEL_BITS) + HALF - xa) * (1 / ONE)
    away_y = widen((anchor_y << SUBPIXEL_BITS) + HALF - ya) * (1 / ONE)
    store_f64x16(reals, _START + i, (za + product(slope_x, away_x)) + product(slope_y, away_y))
    store_f64x16(reals, _SLOPE_X + i, slope_x)
    store_f64x16(reals, _SLOPE_Y + i, slope_y)
    store_f64x16(reals, _X + i, widen(x0 - anchor_x))
    store_f64x16(reals, _Y + i, widen(y0 - anchor_y))


@inlined
def _set_up(count, top, bottom, width, stride, words, reals):
    """Find every triangle's covered pixels and depth functions.

    A small triangle's corners lie so near each other that int32 holds its edge functions.
    """
    for i in range(0, count, LANES):
        xa, xb, xc = low_half(words, _A + i, 0), low_half(words, _B + i, 0), low_half(words, _C + i, 0)
        ya, yb, yc = low_half(words, _A + i, 32), low_half(words, _B + i, 32), low_half(words, _C + i, 32)
        area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
        xb, xc = choose(0, area, xc, xb), choose(0, area, xb, xc)
        yb, yc = choose(0, area, yc, yb), choose(0, area, yb, yc)
        turned = widen(area)
        za, zb, zc = load_f64x16(reals, _ZA + i), load_f64x16(reals, _ZB + i), load_f64x16(reals, _ZC + i)
        zs = za, choose(0.0, turned, zc, zb), choose(0.0, turned, zb, zc)
        x0 = larger((smaller(smaller(xa, xb), xc) + (HALF - 1)) >> SUBPIXEL_BITS, 0)
        y0 = larger((smaller(smaller(ya, yb), yc) + (HALF - 1)) >> SUBPIXEL_BITS, top)
        x1 = smaller((larger(larger(xa, xb), xc) - HALF) >> SUBPIXEL_BITS, width - 1)
        y1 = smaller((larger(larger(ya, yb), yc) - HALF) >> SUBPIXEL_BITS, bottom - 1)
        px, py = (x0 << SUBPIXEL_BITS) + HALF, (y0 << SUBPIXEL_BITS) + HALF
        ea, across_a, down_a = _start(px, py, xb, yb, xc, yc)
        eb, across_b, down_b = _start(px, py, xc, yc, xa, ya)
        ec, across_c, down_c = _start(px, py, xa, ya, xb, yb)
        across, down = (across_a, across_b, across_c), (down_a, down_b, down_c)
        columns, rows = larger(x1 - x0 + 1, 0), larger(y1 - y0 + 1, 0)
        box = ((1 << columns) - 1) * (((1 << (rows << 2)) - 1) & 0x1111)
        store_wide(words, _MASK + i, _covered((ea, eb, ec), across, down) & box)
        store_wide(words, _BOX + i, columns * rows)
        store_wide(words, _AT + i, (y0 - top) * stride + x0)
        _plane(i, xa, ya, zs, across, down, larger(turned, 0.0 - turned), x0, y0, reals)


@inlined
def draw_batch(count, top, bottom, width, stride, words, reals, keys):
    """Draw a batch into the rows from ``top`` up to ``bottom``; returns the pixels tested."""
    _set_up(count, top, bottom, width, stride, words, reals)
    tested = 0
    for i in range(count):
        tested += words[_BOX + i]
    for i in range(count):
        mask = words[_MASK + i]
        while mask != 0:
            bit = lowest(mask)
            mask &= mask - 1
            row, column = bit >> 2, bit & (SMALL_SIDE - 1)
            z = reals[_START + i] + reals[_SLOPE_Y + i] * (reals[_Y + i] + np.float64(row))
            z = z + reals[_SLOPE_X + i] * (reals[_X + i] + np.float64(column))
            at = np.uintp(words[_AT + i] + row * stride + column)
            keys[at] = min(keys[at], key_of(z, words[_ID + i]))
    return tested
