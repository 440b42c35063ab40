"""Sort the triangles that can be seen by the band of rows that they touch, so that threads share none."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import numpy as np

from whygpu.draw.fast.rules import HALF, OUTSIDE, SUBPIXEL_BITS
from whygpu.draw.fast.vectors import LANES
from whygpu.engine.jit import inlined
from whygpu.engine.simd import (
    any_lane,
    choose,
    larger,
    low_half,
    magnitude,
    narrow,
    smaller,
    splat_f32,
    store_i32x16,
    truncate,
    widen,
    zero_f32,
)
from whygpu.engine.sync import wait

__all__ = [
    "BAND_BITS",
    "BIN_SPACE",
    "BIN_WORDS",
    "ROWS",
    "SMALL",
    "SMALL_SIDE",
    "bin_triangles",
    "first_band",
    "node_of",
]

BAND_BITS = 5
"""A band is 32 rows: at 1920 columns its keys are half a megabyte and stay in a core's cache."""
ROWS = 1 << BAND_BITS
SMALL_SIDE = 4
"""A triangle is small where so many rows and columns hold it: ``small`` draws these, many at once."""
SMALL = 1 << 14
"""Flag of a small triangle that is not clipped, in the word [first band | flag | last band << 16]."""

_BATCH = 64
"""Triangles that are looked at together; their working space stays in the first-level cache."""
BIN_SPACE = 2 * _BATCH
"""int32 of working space a thread ..."""
BIN_WORDS = 3 * _BATCH
"""... and int64."""
_KEEP, _TOUCH = 0, _BATCH
_0, _1, _2 = np.uintp(0), np.uintp(1), np.uintp(2)
_F0, _F1 = np.float32(0), np.float32(1)


@inlined
def node_of(triangle, triangle_start):
    """The node that owns a triangle."""
    low, high = 0, triangle_start.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if triangle_start[middle] <= triangle:
            low = middle
        else:
            high = middle
    return low


@inlined
def first_band(touched):
    """The first band of a word [first band | flag | last band << 16]."""
    return touched & (SMALL - 1)


@inlined
def _judge(count, mirrored, both, bands, width, height, wide, space):
    """Say of each triangle of a batch whether it can be seen, and which bands it touches.

    Sixteen at once, without a branch: a condition holds where a number is not negative, and all of them where
    the numbers' sign bits together are clear. float64 holds a triangle's area exactly.
    """
    turn = 1.0 if mirrored else -1.0
    for i in range(0, count, LANES):
        xa, xb, xc = low_half(wide, i, 0), low_half(wide, _BATCH + i, 0), low_half(wide, 2 * _BATCH + i, 0)
        ya, yb, yc = low_half(wide, i, 32), low_half(wide, _BATCH + i, 32), low_half(wide, 2 * _BATCH + i, 32)
        left, upper = widen(xa), widen(ya)
        area = (widen(xb) - left) * (widen(yc) - upper) - (widen(xc) - left) * (widen(yb) - upper)
        facing = narrow(area * turn)  # above 0 where counter-clockwise in the mesh's own space
        facing = magnitude(facing) if both else facing
        x0 = (smaller(smaller(xa, xb), xc) + (HALF - 1)) >> SUBPIXEL_BITS
        y0 = (smaller(smaller(ya, yb), yc) + (HALF - 1)) >> SUBPIXEL_BITS
        x1 = (larger(larger(xa, xb), xc) - HALF) >> SUBPIXEL_BITS
        y1 = (larger(larger(ya, yb), yc) - HALF) >> SUBPIXEL_BITS
        columns, rows = x1 - x0, y1 - y0
        seen = columns | rows | x1 | y1 | (width - 1 - x0) | (height - 1 - y0)
        small = (SMALL_SIDE - 1 - columns) | (SMALL_SIDE - 1 - rows)
        first, last = larger(y0, 0) >> BAND_BITS, smaller(y1, height - 1) >> BAND_BITS
        store_i32x16(space, _TOUCH + i, first | choose(small, -1, SMALL, 0) | (last << 16))
        faces = truncate(choose(facing, _F0, splat_f32(_F1), zero_f32()))
        store_i32x16(space, _KEEP + i, faces & choose(seen, -1, 1, 0))
        outside = choose(xa, OUTSIDE, 0, 1) | choose(xb, OUTSIDE, 0, 1) | choose(xc, OUTSIDE, 0, 1)
        if any_lane(outside):
            _judge_cut(i, min(i + LANES, count), bands, wide, space)


@inlined
def _judge_cut(begin, end, bands, wide, space):
    """Of triangles with clipped corners: they may touch any band, unless all lies beyond one side."""
    for i in range(begin, end):
        a, b, c = wide[i], wide[_BATCH + i], wide[2 * _BATCH + i]
        xa, xb, xc = np.int32(a), np.int32(b), np.int32(c)
        if OUTSIDE in (xa, xb, xc):
            beyond = xa == xb and xb == xc and (a & b & c) >> 32 != 0
            space[_KEEP + i] = not beyond
            space[_TOUCH + i] = (bands - 1) << 16


@inlined
def _collect(
    low, high, triangles, triangle_start, flip, double_sided, corners, kept, bands, width, height, space, wide
):
    """Cull the triangles from ``low`` to ``high``; list what remains in ``kept`` from row ``low`` on.

    Whether a small triangle covers a pixel's centre cannot be foreseen, and a wrong guess of the processor
    costs more than the arithmetic: so it is written in any case, and the place moves on if it stays.
    """
    place = low
    for node in range(flip.shape[0]):
        mirrored, both = flip[node] != 0, double_sided[node] != 0
        if double_sided[node] < 0:
            continue  # another pass draws it
        start, stop = max(low, triangle_start[node]), min(high, triangle_start[node + 1])
        while start < stop:
            count = min(stop - start, _BATCH)
            for i in range(count):
                t = np.uintp(3 * (start + i))
                a, b, c = np.uintp(triangles[t]), np.uintp(triangles[t + _1]), np.uintp(triangles[t + _2])
                wide[i] = corners[a << _1]
                wide[_BATCH + i] = corners[b << _1]
                wide[2 * _BATCH + i] = corners[c << _1]
            _judge(count, mirrored, both, bands, width, height, wide, space)
            for i in range(count):
                at = np.uintp(place)
                kept[at, 0], kept[at, 1] = start + i, space[_TOUCH + i]
                place += space[_KEEP + i]
            start += count
    return place


@inlined
def bin_triangles(
    rank, size, barrier, triangles, triangle_start, flip, double_sided, corners, kept, counts, begin, sorted_,
    width, height, space, wide,
):  # fmt: skip
    """Fill ``sorted_`` (2 T, 2) int32, rows of [triangle, first band | SMALL | last band << 16].

    The rows of band b are ``begin[b]`` up to ``begin[b + 1]``; a triangle in two bands is in both lists.
    After the last band come those that touch more, once. ``triangles`` is flat, and so are the
    vertices' records ``corners`` (2 V,) int64: x and y in one word. ``kept`` (T, 2) int32, ``counts`` (size,
    at least bands + 1) int64 and this thread's ``space`` (BIN_SPACE,) int32 and ``wide`` (BIN_WORDS,) int64
    are working space.
    """
    bands = begin.shape[0] - 2
    for band in range(bands + 1):
        counts[rank, band] = 0
    total = triangles.shape[0] // 3
    low, high = total * rank // size, total * (rank + 1) // size
    end = _collect(
        low, high, triangles, triangle_start, flip, double_sided, corners, kept, bands, width, height, space,
        wide,
    )  # fmt: skip
    for i in range(low, end):
        first, last = first_band(kept[i, 1]), kept[i, 1] >> 16
        counts[rank, first if last <= first + 1 else bands] += 1
        counts[rank, last] += last == first + 1
    wait(barrier, size)
    if rank == 0:  # counts become the places where each rank puts its next triangle of a band
        place = 0
        for band in range(bands + 1):
            begin[band] = place
            for other in range(size):
                place, counts[other, band] = place + counts[other, band], place
        begin[bands + 1] = place
    wait(barrier, size)
    for i in range(low, end):
        t, touched = kept[i, 0], kept[i, 1]
        first, last = first_band(touched), touched >> 16
        band = first if last <= first + 1 else bands
        place = counts[rank, band]
        counts[rank, band] = place + 1
        sorted_[place, 0], sorted_[place, 1] = t, touched
        if last == first + 1:
            place = counts[rank, last]
            counts[rank, last] = place + 1
            sorted_[place, 0], sorted_[place, 1] = t, touched
    wait(barrier, size)
