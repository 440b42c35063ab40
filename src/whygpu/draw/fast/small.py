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
from whygpu.engine.jit import inlined

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
    """An edge function at a pixel's centre, less one where the top-left rule excludes the edge itself."""
    dx, dy = to_x - from_x, to_y - from_y
    value = dx * (y - from_y) - dy * (x - from_x)
    inclusive = (dy < 0) | ((dy == 0) & (dx > 0))
    return value - (not inclusive), -dy * ONE, dx * ONE


@inlined
def _row(a, b, c, across_a, across_b, across_c):
    """Four pixels of a row as bits: set where no edge function is negative, that is: no sign bit is set."""
    covered = 1 + ((a | b | c) >> 63)
    a, b, c = a + across_a, b + across_b, c + across_c
    covered |= (1 + ((a | b | c) >> 63)) << 1
    a, b, c = a + across_a, b + across_b, c + across_c
    covered |= (1 + ((a | b | c) >> 63)) << 2
    a, b, c = a + across_a, b + across_b, c + across_c
    return covered | (1 + ((a | b | c) >> 63)) << 3


@inlined
def _set_up(count, top, bottom, width, stride, words, reals):
    """Find every triangle's covered pixels and depth functions, the operations in the order of ``raster``."""
    for i in range(count):
        a, b, c = words[_A + i], words[_B + i], words[_C + i]
        xa, xb, xc = np.int64(np.int32(a)), np.int64(np.int32(b)), np.int64(np.int32(c))
        ya, yb, yc = a >> 32, b >> 32, c >> 32
        za, zb, zc = reals[_ZA + i], reals[_ZB + i], reals[_ZC + i]
        area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
        turned = area < 0
        xb, xc = xc if turned else xb, xb if turned else xc
        yb, yc = yc if turned else yb, yb if turned else yc
        zb, zc = zc if turned else zb, zb if turned else zc
        area = -area if turned else area
        x0 = max((min(xa, xb, xc) + HALF - 1) >> SUBPIXEL_BITS, 0)
        x1 = min((max(xa, xb, xc) - HALF) >> SUBPIXEL_BITS, width - 1)
        y0 = max((min(ya, yb, yc) + HALF - 1) >> SUBPIXEL_BITS, top)
        y1 = min((max(ya, yb, yc) - HALF) >> SUBPIXEL_BITS, bottom - 1)
        px, py = x0 * ONE + HALF, y0 * ONE + HALF
        ea, across_a, down_a = _start(px, py, xb, yb, xc, yc)
        eb, across_b, down_b = _start(px, py, xc, yc, xa, ya)
        ec, across_c, down_c = _start(px, py, xa, ya, xb, yb)
        mask = _row(ea, eb, ec, across_a, across_b, across_c)
        ea, eb, ec = ea + down_a, eb + down_b, ec + down_c
        mask |= _row(ea, eb, ec, across_a, across_b, across_c) << 4
        ea, eb, ec = ea + down_a, eb + down_b, ec + down_c
        mask |= _row(ea, eb, ec, across_a, across_b, across_c) << 8
        ea, eb, ec = ea + down_a, eb + down_b, ec + down_c
        mask |= _row(ea, eb, ec, across_a, across_b, across_c) << 12
        columns, rows = max(x1 - x0 + 1, 0), max(y1 - y0 + 1, 0)
        box = ((1 << columns) - 1) * (((1 << (rows * 4)) - 1) & 0x1111)
        words[_MASK + i] = mask & box
        words[_BOX + i] = columns * rows
        words[_AT + i] = (y0 - top) * stride + x0
        to_b, to_c, inverse = zb - za, zc - za, 1.0 / np.float64(area)
        slope_x = (np.float64(across_b) * to_b + np.float64(across_c) * to_c) * inverse
        slope_y = (np.float64(down_b) * to_b + np.float64(down_c) * to_c) * inverse
        anchor_x, anchor_y = xa >> SUBPIXEL_BITS, ya >> SUBPIXEL_BITS
        away_x = np.float64(anchor_x * ONE + HALF - xa) * (1 / ONE)
        away_y = np.float64(anchor_y * ONE + HALF - ya) * (1 / ONE)
        reals[_START + i] = (za + slope_x * away_x) + slope_y * away_y
        reals[_SLOPE_X + i], reals[_SLOPE_Y + i] = slope_x, slope_y
        reals[_X + i], reals[_Y + i] = np.float64(x0 - anchor_x), np.float64(y0 - anchor_y)


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
