"""Sort the triangles that can be seen by the band of rows that they touch, so that threads share none."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

import numpy as np

from whygpu.draw.fast.rules import HALF, OUTSIDE, SUBPIXEL_BITS
from whygpu.engine.jit import inlined
from whygpu.engine.sync import wait

__all__ = ["BAND_BITS", "ROWS", "bin_triangles", "node_of"]

BAND_BITS = 5
"""A band is 32 rows: at 1920 columns its keys are half a megabyte and stay in a core's cache."""
ROWS = 1 << BAND_BITS


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
def _collect(low, high, triangles, triangle_start, flip, double_sided, fixed, kept, bands, width, height):
    """Cull the triangles from ``low`` to ``high``; list what remains in ``kept`` from row ``low`` on.

    Whether a small triangle covers a pixel's centre cannot be foreseen, and a wrong guess of the processor
    costs more than the arithmetic: so it is written in any case, and the place moves on if it stays.
    """
    place = low
    for node in range(flip.shape[0]):
        mirrored, both = flip[node] != 0, double_sided[node] != 0
        if double_sided[node] < 0:
            continue  # another pass draws it
        for t in range(max(low, triangle_start[node]), min(high, triangle_start[node + 1])):
            a, b, c = np.uintp(triangles[t, 0]), np.uintp(triangles[t, 1]), np.uintp(triangles[t, 2])
            xa, xb, xc = fixed[a, 0], fixed[b, 0], fixed[c, 0]
            ya, yb, yc = fixed[a, 1], fixed[b, 1], fixed[c, 1]
            if (xa == OUTSIDE) | (xb == OUTSIDE) | (xc == OUTSIDE):
                beyond = xa == xb and xb == xc and ya & yb & yc != 0  # all of it beyond one side of the view
                kept[place, 0], kept[place, 1] = t, (bands - 1) << 16  # it may touch any band
                place += not beyond
                continue
            area = np.int64(xb - xa) * np.int64(yc - ya) - np.int64(xc - xa) * np.int64(yb - ya)
            if area == 0 or ((area < 0) == mirrored and not both):
                continue
            x0 = (min(xa, xb, xc) + HALF - 1) >> SUBPIXEL_BITS
            x1 = (max(xa, xb, xc) - HALF) >> SUBPIXEL_BITS
            y0 = (min(ya, yb, yc) + HALF - 1) >> SUBPIXEL_BITS
            y1 = (max(ya, yb, yc) - HALF) >> SUBPIXEL_BITS
            seen = (x0 <= x1) & (y0 <= y1) & (x1 >= 0) & (y1 >= 0) & (x0 < width) & (y0 < height)
            kept[place, 0] = t
            kept[place, 1] = max(y0, 0) >> BAND_BITS | (min(y1, height - 1) >> BAND_BITS) << 16
            place += seen
    return place


@inlined
def bin_triangles(
    rank, size, barrier, triangles, triangle_start, flip, double_sided, fixed, kept, counts, begin, sorted_,
    width, height,
):  # fmt: skip
    """Fill ``sorted_`` (2 T, 2) int32, rows of [triangle, first band | last band << 16].

    The rows of band b are ``begin[b]`` up to ``begin[b + 1]``; a triangle in two bands is in both lists.
    After the last band come those that touch more, once. ``kept`` (T, 2) int32 and ``counts`` (size, at least
    bands + 1) int64 are working space.
    """
    bands = begin.shape[0] - 2
    for band in range(bands + 1):
        counts[rank, band] = 0
    total = triangles.shape[0]
    low, high = total * rank // size, total * (rank + 1) // size
    end = _collect(
        low, high, triangles, triangle_start, flip, double_sided, fixed, kept, bands, width, height
    )
    for i in range(low, end):
        first, last = kept[i, 1] & 0xFFFF, kept[i, 1] >> 16
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
        first, last = touched & 0xFFFF, touched >> 16
        band = first if last <= first + 1 else bands
        place = counts[rank, band]
        counts[rank, band] = place + 1
        sorted_[place, 0], sorted_[place, 1] = t, touched
        if last == first + 1:
            place = counts[rank, last]
            counts[rank, last] = place + 1
            sorted_[place, 0], sorted_[place, 1] = t, touched
    wait(barrier, size)
