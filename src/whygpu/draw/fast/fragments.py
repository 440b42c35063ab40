"""Lists of what shows in pixels where more than one triangle does (an A-buffer; Carpenter, 1984).

That is at edges, where a pixel has several samples, and through what is not opaque.

The picture is cut into tiles. A first pass counts a tile's entries, a second one writes them: triangle by
triangle and row by row, so that they shade as runs, each pixel's linked from its head.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, assignment"

import numpy as np

from whygpu.draw.fast.raster import _pieces, _plane
from whygpu.draw.fast.rules import HALF, ONE, OUTSIDE, SUBPIXEL_BITS
from whygpu.engine.jit import inlined, kernel
from whygpu.engine.sync import claim, wait

__all__ = ["SOLID", "gather"]

SOLID = 1 << 16
"""Bit of an entry's mask: it is opaque."""


@inlined
def _touched(low, high, triangles, fixed, samples, height, kept):
    """For triangles from ``low`` to ``high``: the first and last row of each that may show it."""
    reach = HALF if samples > 1 else 0
    for t in range(low, high):
        a, b, c = np.uintp(triangles[t, 0]), np.uintp(triangles[t, 1]), np.uintp(triangles[t, 2])
        ya, yb, yc = fixed[a, 1], fixed[b, 1], fixed[c, 1]
        out_a, out_b, out_c = fixed[a, 0] == OUTSIDE, fixed[b, 0] == OUTSIDE, fixed[c, 0] == OUTSIDE
        if out_a | out_b | out_c:
            beyond = out_a & out_b & out_c & (ya & yb & yc != 0)
            kept[t, 0], kept[t, 1] = 0, -1 if beyond else height - 1
            continue
        kept[t, 0] = max((min(ya, yb, yc) - reach + HALF - 1) >> SUBPIXEL_BITS, 0)
        kept[t, 1] = min((max(ya, yb, yc) + reach - HALF) >> SUBPIXEL_BITS, height - 1)


@inlined
def _set_up(xa, ya, za, xb, yb, zb, xc, yc, zc, x0, y0, offsets, edges, planes):
    """For each sample: edge functions at its place in pixel (x0, y0), and depth; corners turn clockwise.

    Depth is computed as the raster stage does for the picture moved by the sample, to the last bit.
    """
    area = np.int64(xb - xa) * np.int64(yc - ya) - np.int64(xc - xa) * np.int64(yb - ya)
    dxa, dya = np.int64(xc - xb), np.int64(yc - yb)
    dxb, dyb = np.int64(xa - xc), np.int64(ya - yc)
    dxc, dyc = np.int64(xb - xa), np.int64(yb - ya)
    for s in range(offsets.shape[0]):
        px, py = x0 * ONE + HALF + offsets[s, 0], y0 * ONE + HALF + offsets[s, 1]
        edges[s, 0] = dxa * (py - yb) - dya * (px - xb) - (not (dya < 0 or (dya == 0 and dxa > 0)))
        edges[s, 1] = dxb * (py - yc) - dyb * (px - xc) - (not (dyb < 0 or (dyb == 0 and dxb > 0)))
        edges[s, 2] = dxc * (py - ya) - dyc * (px - xa) - (not (dyc < 0 or (dyc == 0 and dxc > 0)))
        ax, ay = np.int32(xa - offsets[s, 0]), np.int32(ya - offsets[s, 1])
        edges[s, 3], edges[s, 4] = np.int64(ax >> SUBPIXEL_BITS), np.int64(ay >> SUBPIXEL_BITS)
        planes[s, 0], planes[s, 1], planes[s, 2] = _plane(
            ax, ay, za, zb, zc, -dyb * ONE, -dyc * ONE, dxb * ONE, dxc * ONE, area
        )
    return -dya * ONE, -dyb * ONE, -dyc * ONE, dxa * ONE, dxb * ONE, dxc * ONE


@inlined
def _place(entry, y, x, triangle, depth, mask, heads, nexts, places, owners, depths, masks):
    """Write one entry and link it to its pixel."""
    places[entry], owners[entry] = y << 16 | x, triangle
    depths[entry], masks[entry] = depth, mask
    nexts[entry] = heads[y, x]
    heads[y, x] = entry


@inlined
def _cover(
    xa, ya, za, xb, yb, zb, xc, yc, zc, triangle, tile, offsets, edges, planes, nearest, emit, entry, heads,
    nexts, places, owners, depths, masks,
):  # fmt: skip
    """Count or write where a triangle lies before what is opaque in a tile; entries then, samples tested."""
    area = np.int64(xb - xa) * np.int64(yc - ya) - np.int64(xc - xa) * np.int64(yb - ya)
    if area == 0:
        return entry, 0
    if area < 0:
        xb, yb, zb, xc, yc, zc = xc, yc, zc, xb, yb, zb
    samples = offsets.shape[0]
    reach = HALF if samples > 1 else 0
    x0 = np.int64(max((min(xa, xb, xc) - reach + HALF - 1) >> SUBPIXEL_BITS, tile[0]))
    x1 = np.int64(min(((max(xa, xb, xc) + reach - HALF) >> SUBPIXEL_BITS) + 1, tile[1]))
    y0 = np.int64(max((min(ya, yb, yc) - reach + HALF - 1) >> SUBPIXEL_BITS, tile[2]))
    y1 = np.int64(min(((max(ya, yb, yc) + reach - HALF) >> SUBPIXEL_BITS) + 1, tile[3]))
    if x0 >= x1 or y0 >= y1:
        return entry, 0
    a_across, b_across, c_across, a_down, b_down, c_down = _set_up(
        xa, ya, za, xb, yb, zb, xc, yc, zc, x0, y0, offsets, edges, planes
    )
    for y in range(y0, y1):
        for x in range(x0, x1):
            mask, depth = np.int32(0), np.float32(1)
            for s in range(samples):
                ea = edges[s, 0] + a_across * (x - x0) + a_down * (y - y0)
                eb = edges[s, 1] + b_across * (x - x0) + b_down * (y - y0)
                ec = edges[s, 2] + c_across * (x - x0) + c_down * (y - y0)
                if (ea | eb | ec) < 0:
                    continue
                row = planes[s, 0] + planes[s, 2] * np.float64(y - edges[s, 4])
                z = row + planes[s, 1] * np.float64(x - edges[s, 3])
                far = np.float32(z if z > 0 else 0.0)
                if far < nearest[s, y, x]:
                    depth = min(depth, far)
                    mask |= np.int32(1 << s)
            if mask != 0:
                if emit:
                    _place(entry, y, x, triangle, depth, mask, heads, nexts, places, owners, depths, masks)
                else:
                    heads[y, x] = -2
                entry += 1
    return entry, (x1 - x0) * (y1 - y0) * samples


@inlined
def _opaque(
    tile, hidden, nearest, ids, shown, depth, seen, emit, entry, heads, nexts, places, owners, depths, masks
):
    """Add what is opaque where a pixel has a list; elsewhere say what is shown.

    ``depth`` and ``seen`` get the nearest sample of each pixel.
    """
    samples = ids.shape[0]
    for y in range(tile[2], tile[3]):
        for x in range(tile[0], tile[1]):
            first, near, owner = ids[0, y, x], nearest[0, y, x], ids[0, y, x]
            near, owner = (near, owner) if owner >= hidden else (np.float32(1), np.int32(-1))
            same = True
            for s in range(1, samples):
                other, far = ids[s, y, x], nearest[s, y, x]
                same &= other == first
                if other >= hidden and (far < near or (far == near and other < owner)):
                    near, owner = far, other
            listed = heads[y, x] != -1 or not same
            if not emit:
                shown[y, x] = first if not listed and first >= hidden else -1
            else:
                depth[y, x], seen[y, x] = near, owner
            if not listed:
                continue
            for s in range(samples):
                triangle, mask, new = ids[s, y, x], np.int32(SOLID), True
                for other in range(samples):
                    if ids[other, y, x] == triangle:
                        mask |= np.int32(1 << other)
                        new &= other >= s
                if triangle >= hidden and new:
                    if emit:
                        _place(
                            entry, y, x, triangle, nearest[s, y, x], mask, heads, nexts, places, owners,
                            depths, masks,
                        )  # fmt: skip
                    entry += 1
    return entry


@inlined
def _mixed(
    tile, low, high, positions, triangles, both, mirrored, matrix, grid, viewport, fixed, real, kept,
    work, own_fixed, own_real, offsets, edges, planes, nearest, emit, entry, heads, nexts, places,
    owners, depths,
    masks,
):  # fmt: skip
    """Count or write a tile's entries of triangles ``low`` to ``high``; entries then, samples tested."""
    looked = np.int64(0)
    for t in range(low, high):
        if kept[t, 1] < tile[2] or kept[t, 0] >= tile[3]:
            continue
        a, b, c = np.uintp(triangles[t, 0]), np.uintp(triangles[t, 1]), np.uintp(triangles[t, 2])
        xa, xb, xc = fixed[a, 0], fixed[b, 0], fixed[c, 0]
        ya, yb, yc = fixed[a, 1], fixed[b, 1], fixed[c, 1]
        za, zb, zc = real[a, 2], real[b, 2], real[c, 2]
        cut = (xa == OUTSIDE) | (xb == OUTSIDE) | (xc == OUTSIDE)
        pieces = 1
        if cut:
            pieces = _pieces(
                positions, a, b, c, matrix, grid, viewport, mirrored, both, work, own_fixed, own_real
            )
        else:
            area = np.int64(xb - xa) * np.int64(yc - ya) - np.int64(xc - xa) * np.int64(yb - ya)
            pieces = 1 if both or (area < 0) != mirrored else 0
        while pieces > 0:
            pieces -= 1
            if cut:
                i, j, k = np.uintp(3 * pieces), np.uintp(3 * pieces + 1), np.uintp(3 * pieces + 2)
                xa, ya, za = own_fixed[i, 0], own_fixed[i, 1], own_real[i, 2]
                xb, yb, zb = own_fixed[j, 0], own_fixed[j, 1], own_real[j, 2]
                xc, yc, zc = own_fixed[k, 0], own_fixed[k, 1], own_real[k, 2]
            entry, more = _cover(
                xa, ya, za, xb, yb, zb, xc, yc, zc, t, tile, offsets, edges, planes, nearest, emit, entry,
                heads, nexts, places, owners, depths, masks,
            )  # fmt: skip
            looked += more
    return entry, looked


@kernel
def gather(
    rank, size, barrier, positions, triangles, triangle_start, flip, mixed, clip, grid, viewport, fixed, real,
    kept, work, piece_fixed, piece_real, offsets, edges, planes, nearest, ids, hidden, tiles,
    next_tile, fresh,
    emit, totals, shown, depth, seen, heads, nexts, places, owners, depths, masks, tested,
):  # fmt: skip
    """Count the entries of ``tiles`` (n, 4: columns from, to, rows from, to) into ``totals`` (n,).

    With ``emit`` write them instead, each tile's from the entry that ``totals`` then says.

    ``nearest`` and ``ids`` (samples, height, width) are what is opaque; the first ``hidden`` triangles hide
    but are not shown. ``shown`` gets the triangle of pixels without a list, ``depth``, ``seen`` the nearest.
    """
    if fresh:
        for node in range(mixed.shape[0]):
            if mixed[node] >= 0:
                first, count = triangle_start[node], triangle_start[node + 1] - triangle_start[node]
                low, high = first + count * rank // size, first + count * (rank + 1) // size
                _touched(low, high, triangles, fixed, offsets.shape[0], ids.shape[1], kept)
        wait(barrier, size)
    looked = np.int64(0)
    at = claim(next_tile, 0)
    while at < tiles.shape[0]:
        tile = tiles[at]
        entry = totals[at] if emit else np.int64(0)
        for y in range(tile[2], tile[3]):
            for x in range(tile[0], tile[1]):
                heads[y, x] = -1
        for node in range(mixed.shape[0]):
            low = max(triangle_start[node], np.int64(hidden))
            high = triangle_start[node + 1] if mixed[node] >= 0 else low
            entry, more = _mixed(
                tile, low, high, positions, triangles, mixed[node] > 0, flip[node] != 0, clip[node],
                grid[node], viewport, fixed, real, kept, work[rank], piece_fixed[rank], piece_real[rank],
                offsets, edges[rank], planes[rank], nearest, emit, entry, heads, nexts, places,
                owners, depths, masks,
            )  # fmt: skip
            looked += more
        entry = _opaque(
            tile, hidden, nearest, ids, shown, depth, seen, emit, entry, heads, nexts, places, owners, depths,
            masks,
        )  # fmt: skip
        if not emit:
            totals[at] = entry
        at = claim(next_tile, 0)
    tested[rank] = looked
