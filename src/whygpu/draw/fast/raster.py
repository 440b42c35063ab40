"""Which triangle is seen in which pixel: bands of rows, integer edge functions, a depth test.

A thread draws one band at a time into keys (see ``block``) that fit its cache, then writes depth and ids.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, assignment"

import numpy as np

from whygpu.draw.fast.bins import BAND_BITS, ROWS, SMALL, bin_triangles, first_band, node_of
from whygpu.draw.fast.block import EMPTY, LANES, depth_of, fill_block, test_block
from whygpu.draw.fast.clip import clip_triangle
from whygpu.draw.fast.rules import HALF, ONE, OUTSIDE, SUBPIXEL_BITS
from whygpu.draw.fast.small import BATCH, draw_batch, gather
from whygpu.draw.fast.transform import clip_position, snapped
from whygpu.engine.jit import inlined, kernel
from whygpu.engine.sync import claim

__all__ = ["raster"]

_1, _2 = np.uintp(1), np.uintp(2)
NARROW = 16
"""Up to so many columns every pixel is tested; in wider triangles a row's ends are computed first."""


@inlined
def _span(value, across, columns, low, high):
    """Narrow [low, high) to where ``value + across * column >= 0``."""
    if across > 0:
        if value < 0:
            low = max(low, (across - 1 - value) // across)
    elif value < 0:
        high = 0
    elif value + across * (columns - 1) < 0:
        high = min(high, value // -across + 1)
    return low, high


@inlined
def _ends(edges, across, columns):
    """Of a row of a triangle: the first block, the blocks between which no pixel is left out, the end."""
    low, high = np.int64(0), columns
    if columns <= NARROW:
        return low, high, low, high  # none is known to be covered
    low, high = _span(edges[0], across[0], columns, low, high)
    low, high = _span(edges[1], across[1], columns, low, high)
    low, high = _span(edges[2], across[2], columns, low, high)
    return low & -LANES, (low + LANES - 1) & -LANES, high & -LANES, high


@inlined
def _plane(xa, ya, za, zb, zc, b_across, c_across, b_down, c_down, area):
    """Depth is linear in the picture: its value at the pixel of corner a, its slopes in x and in y.

    The order of the operations is that of ``portable.raster``, to the last bit.
    """
    to_b, to_c = np.float64(zb) - np.float64(za), np.float64(zc) - np.float64(za)
    inverse = 1.0 / np.float64(area)
    slope_x = (np.float64(b_across) * to_b + np.float64(c_across) * to_c) * inverse
    slope_y = (np.float64(b_down) * to_b + np.float64(c_down) * to_c) * inverse
    away_x = np.float64((xa >> SUBPIXEL_BITS) * ONE + HALF - xa) * (1 / ONE)
    away_y = np.float64((ya >> SUBPIXEL_BITS) * ONE + HALF - ya) * (1 / ONE)
    return (np.float64(za) + slope_x * away_x) + slope_y * away_y, slope_x, slope_y


@inlined
def _fill(xa, ya, za, xb, yb, zb, xc, yc, zc, triangle, top, bottom, width, stride, keys):
    """Draw one triangle into the rows from ``top`` up to ``bottom``; returns the pixels tested.

    ``keys`` holds these rows, ``stride`` apart: ``width`` rounded up to whole blocks.
    """
    area = np.int64(xb - xa) * np.int64(yc - ya) - np.int64(xc - xa) * np.int64(yb - ya)
    if area == 0:
        return 0
    if area < 0:
        xb, yb, zb, xc, yc, zc, area = xc, yc, zc, xb, yb, zb, -area
    x0 = np.int64(max((min(xa, xb, xc) + HALF - 1) >> SUBPIXEL_BITS, 0))
    x1 = np.int64(min((max(xa, xb, xc) - HALF) >> SUBPIXEL_BITS, width - 1)) + 1
    y0 = np.int64(max((min(ya, yb, yc) + HALF - 1) >> SUBPIXEL_BITS, top))
    y1 = np.int64(min((max(ya, yb, yc) - HALF) >> SUBPIXEL_BITS, bottom - 1)) + 1
    if x0 >= x1 or y0 >= y1:
        return 0
    # Edge i lies opposite corner i; its function is positive inside and linear in the pixel's x and y.
    dxa, dya = np.int64(xc - xb), np.int64(yc - yb)
    dxb, dyb = np.int64(xa - xc), np.int64(ya - yc)
    dxc, dyc = np.int64(xb - xa), np.int64(yb - ya)
    px, py = x0 * ONE + HALF, y0 * ONE + HALF
    ea = dxa * (py - yb) - dya * (px - xb)
    eb = dxb * (py - yc) - dyb * (px - xc)
    ec = dxc * (py - ya) - dyc * (px - xa)
    if not (dya < 0 or (dya == 0 and dxa > 0)):  # the top-left rule
        ea -= 1
    if not (dyb < 0 or (dyb == 0 and dxb > 0)):
        eb -= 1
    if not (dyc < 0 or (dyc == 0 and dxc > 0)):
        ec -= 1
    if x1 - x0 == 1 and y1 - y0 == 1 and (ea | eb | ec) < 0:
        return 1  # the only pixel in question is not covered: so ends most of a fine mesh
    a_across, b_across, c_across = -dya * ONE, -dyb * ONE, -dyc * ONE
    a_down, b_down, c_down = dxa * ONE, dxb * ONE, dxc * ONE
    start, slope_x, slope_y = _plane(xa, ya, za, zb, zc, b_across, c_across, b_down, c_down, area)
    anchor_x, anchor_y = np.int64(xa >> SUBPIXEL_BITS), np.int64(ya >> SUBPIXEL_BITS)
    # Blocks always lie at the same places, so that a load meets one store before it.
    shift = x0 & (LANES - 1)
    x0, ea, eb, ec = x0 - shift, ea - a_across * shift, eb - b_across * shift, ec - c_across * shift
    columns, looked = x1 - x0, 0
    y, at = y0, (y0 - top) * stride + x0
    while y < y1:
        low, whole, end, high = _ends((ea, eb, ec), (a_across, b_across, c_across), columns)
        row = start + slope_y * np.float64(y - anchor_y)
        while low < high:
            depth = (row, slope_x, np.float64(x0 + low - anchor_x))
            if whole <= low < end:
                fill_block(keys, at + low, depth, triangle)
            else:
                edges = (ea + a_across * low, eb + b_across * low, ec + c_across * low)
                test_block(keys, at + low, edges, (a_across, b_across, c_across), depth, triangle)
            looked += LANES
            low += LANES
        ea, eb, ec = ea + a_down, eb + b_down, ec + c_down
        y, at = y + 1, at + stride
    return looked


@inlined
def _pieces(positions, a, b, c, matrix, grid, viewport, mirrored, both, work, fixed, real):
    """Clip a triangle; what is left of it and faces the eye goes to the records ``fixed``, ``real``."""
    for i, v in enumerate((a, b, c)):
        x, y, z, w = clip_position(positions, v, matrix, grid)
        work[0, 0, i, 0], work[0, 0, i, 1], work[0, 0, i, 2], work[0, 0, i, 3] = x, y, z, w
    kept = 0
    for piece in range(clip_triangle(work, viewport)):
        for i in range(3):
            x, y, z, w = (
                work[0, piece, i, 0],
                work[0, piece, i, 1],
                work[0, piece, i, 2],
                work[0, piece, i, 3],
            )
            at = 3 * kept + i
            fixed[at, 0], fixed[at, 1], real[at, 2] = snapped(x, y, z, w, viewport)
        a, b, c = 3 * kept, 3 * kept + 1, 3 * kept + 2
        area = np.int64(fixed[b, 0] - fixed[a, 0]) * np.int64(fixed[c, 1] - fixed[a, 1])
        area -= np.int64(fixed[c, 0] - fixed[a, 0]) * np.int64(fixed[b, 1] - fixed[a, 1])
        if both or (area < 0) != mirrored:
            kept += 1
    return kept


@inlined
def _resolve(keys, stride, top, bottom, depth, ids):
    """Write a band's depth and ids."""
    width = depth.shape[1]
    for y in range(top, bottom):
        row = keys[(y - top) * stride :]
        depths, owners = depth[y], ids[y]
        for x in range(width):
            key = row[x]
            depths[x] = depth_of(key)
            owners[x] = np.int32(-1) if key == EMPTY else np.int32(key)


@inlined
def _band(
    band, begin, sorted_, top, bottom, positions, triangles, triangle_start, flip, double_sided, clip, grid,
    viewport, fixed, real, corners, work, piece_fixed, piece_real, words, reals, width, stride, keys,
):  # fmt: skip
    """Draw the triangles of one band; returns the pixels tested."""
    looked, waiting = 0, 0
    own, shared = begin[band + 1] - begin[band], begin[begin.shape[0] - 2]  # those in more than two bands
    for entry in range(own + begin[begin.shape[0] - 1] - shared):
        row = np.uintp(begin[band] + entry if entry < own else shared + entry - own)
        t, touched = sorted_[row, 0], sorted_[row, 1]
        if entry >= own and (band < first_band(touched) or band > touched >> 16):
            continue
        at = np.uintp(3 * t)
        a, b, c = np.uintp(triangles[at]), np.uintp(triangles[at + _1]), np.uintp(triangles[at + _2])
        if touched & SMALL != 0:
            gather(waiting, t, a, b, c, corners, real, words, reals)
            waiting += 1
            if waiting == BATCH:
                looked += draw_batch(waiting, top, bottom, width, stride, words, reals, keys)
                waiting = 0
            continue
        xa, ya, za = fixed[a << _2], fixed[(a << _2) + _1], real[(a << _2) + _2]
        xb, yb, zb = fixed[b << _2], fixed[(b << _2) + _1], real[(b << _2) + _2]
        xc, yc, zc = fixed[c << _2], fixed[(c << _2) + _1], real[(c << _2) + _2]
        cut = (xa == OUTSIDE) | (xb == OUTSIDE) | (xc == OUTSIDE)
        pieces = 1
        if cut:
            node = node_of(t, triangle_start)
            pieces = _pieces(
                positions, a, b, c, clip[node], grid[node], viewport, flip[node] != 0,
                double_sided[node] != 0, work, piece_fixed, piece_real,
            )  # fmt: skip
        while pieces > 0:
            pieces -= 1
            if cut:
                i, j, k = np.uintp(3 * pieces), np.uintp(3 * pieces + 1), np.uintp(3 * pieces + 2)
                xa, ya, za = piece_fixed[i, 0], piece_fixed[i, 1], piece_real[i, 2]
                xb, yb, zb = piece_fixed[j, 0], piece_fixed[j, 1], piece_real[j, 2]
                xc, yc, zc = piece_fixed[k, 0], piece_fixed[k, 1], piece_real[k, 2]
            looked += _fill(xa, ya, za, xb, yb, zb, xc, yc, zc, t, top, bottom, width, stride, keys)
    return looked + draw_batch(waiting, top, bottom, width, stride, words, reals, keys)


@kernel
def raster(
    rank, size, barrier, positions, triangles, triangle_start, flip, double_sided, clip, grid, viewport,
    fixed, real, corners, kept, counts, begin, sorted_, next_band, judged, wide, work, piece_fixed,
    piece_real, words, reals, keys, depth, ids, tested,
):  # fmt: skip
    """Fill ``depth`` and ``ids``, both (height, width), with the nearest triangle of each pixel.

    On equal depth the lower id wins, so the order in which triangles come does not matter. ``triangles`` and
    the records' three views ``fixed``, ``real``, ``corners`` are flat.
    """
    height, width = depth.shape
    stride = (width + LANES - 1) & -LANES
    bin_triangles(
        rank, size, barrier, triangles, triangle_start, flip, double_sided, corners, kept, counts, begin,
        sorted_, width, height, judged[rank], wide[rank],
    )  # fmt: skip
    looked, own_keys = 0, keys[rank]
    band = claim(next_band, 0)
    while band < begin.shape[0] - 2:
        top, bottom = band << BAND_BITS, min((band << BAND_BITS) + ROWS, height)
        for i in range((bottom - top) * stride):
            own_keys[i] = EMPTY
        looked += _band(
            band, begin, sorted_, top, bottom, positions, triangles, triangle_start, flip, double_sided, clip,
            grid, viewport, fixed, real, corners, work[rank], piece_fixed[rank], piece_real[rank],
            words[rank], reals[rank], width, stride, own_keys,
        )  # fmt: skip
        _resolve(own_keys, stride, top, bottom, depth, ids)
        band = claim(next_band, 0)
    tested[rank] = looked
