"""Interpolation along runs: stretches of a row that show one triangle.

Along a run every homogeneous attribute is linear in x. The runs of a block of pixels are found first, then
their corners fetched, then all of them weighed together as vectors, then laid out pixel by pixel: each step
a plain loop over arrays, so that neither the memory's delay nor a division holds up the next run.

``full`` (see ``full.Full``) adds alpha, tangents, texture coordinates and distance; it is None where they are
not needed.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, assignment, var-annotated"

import numpy as np

from whygpu.draw.fast.block import STEP, WORD, changes, lowest, prefetch, ramp
from whygpu.draw.fast.fields import ALPHA, PX, PY, SCALE, STRIDE, TX, WX
from whygpu.draw.fast.rules import ONE, OUTSIDE
from whygpu.draw.fast.vectors import LANES
from whygpu.engine.jit import inlined
from whygpu.engine.simd import count_from, store_f32x16, store_f64x16

__all__ = [
    "ALPHAS",
    "ATTRIBUTES",
    "COLOR",
    "COLORS",
    "CORNERS",
    "FAR",
    "FARS",
    "FIRST",
    "FUNCTIONS",
    "LENGTH",
    "LINEAR",
    "PIECES",
    "RUNS",
    "SCALE_X",
    "SCALE_Y",
    "TANGENTS",
    "UVS",
    "U",
    "find_runs",
    "lay",
    "lay_full",
    "split",
    "weigh",
    "weigh_full",
]  # fmt: skip

# Working space a pixel: int32 of runs, float64 of corners, float32 of attributes and of their linear
# functions, float64 of the linear functions that must be finer.
RUNS, CORNERS, ATTRIBUTES, LINEAR, FUNCTIONS = 4, 15, 45, 23, 16

FIRST, LENGTH = 0, STRIDE  # of a run: its first pixel, its pixels
PIECES = 2 * STRIDE  # where the triangle changes, one more than there are pieces
COLOR = 3 * STRIDE  # of pixels: their 32 bits
FARS, _WEIGHTS = 9 * STRIDE, 12 * STRIDE  # of the three corners: distance; then their weights
COLORS = 9 * STRIDE  # of the three corners, after their normals
ALPHAS, TANGENTS, UVS = 18 * STRIDE, 21 * STRIDE, 33 * STRIDE  # then these
_Y, _Z = STRIDE, 2 * STRIDE
_SCALE = 12 * STRIDE  # after value and step of six attributes
_ALPHA, _TANGENT = 13 * STRIDE, 15 * STRIDE  # value and step of alpha, of four parts of the tangent

# Of the finer functions: four coordinates (value, step in x, step in y each), distance, the scale's steps.
U, FAR, SCALE_X, SCALE_Y = 0, 12 * STRIDE, 14 * STRIDE, 15 * STRIDE


@inlined
def _changes(owners, word, previous, places, full):
    """A bit for each of the next 64 pixels: whether a run begins there. ``previous``: the triangle before."""
    columns = owners.shape[0]
    if full is None and word + WORD <= columns:
        return changes(owners, word, previous)
    mask, single, listed = np.int64(0), False, False
    if full is not None:
        single, listed = full.alone, places.shape[0] > 0
    if word + WORD <= columns and not (single or listed):
        return changes(owners, word, previous)
    for i in range(min(WORD, columns - word)):
        at = word + i
        new = single or owners[at] != previous
        if listed and at > 0:
            new = new or places[at] != places[at - 1] + 1  # it does not follow the one before it in its row
        mask |= np.int64(new) << i
        previous = owners[at]
    return mask


@inlined
def split(owners, runs, places, full):
    """Cut a block where the triangle changes; returns how many pieces there are.

    Their first pixels go to ``runs[PIECES:]``, and the end of the last one.
    """
    count, previous = 0, ~owners[0]
    for word in range(0, owners.shape[0], WORD):
        mask = _changes(owners, word, previous, places, full)
        while mask != 0:
            runs[PIECES + count] = word + lowest(mask)
            mask &= mask - 1
            count += 1
        previous = owners[min(word + WORD, owners.shape[0]) - 1]
    runs[PIECES + count] = owners.shape[0]
    return count


@inlined
def _is_cut(triangle, triangles, records):
    """Whether a corner was clipped."""
    cut = False
    for corner in range(3):
        v = np.uintp(triangles[np.uintp(3 * triangle + corner)])
        cut |= np.int32(records[v << np.uintp(1)]) == OUTSIDE
    return cut


@inlined
def find_runs(piece, pieces, owners, low, high, cut, triangles, records, runs):
    """List the runs from ``piece`` on, as far as pieces show triangles ``low`` up to ``high``, or none.

    Returns how many runs there are, where the last one ends, the piece where the search ended. With ``cut``,
    where vertices may have been clipped, a triangle that has one is taken pixel by pixel.
    """
    count, stop, lit = 0, 0, 0
    while piece < pieces:
        first, end = runs[PIECES + piece], runs[PIECES + piece + 1]
        triangle = owners[first]
        if triangle >= 0:
            if triangle < low or triangle >= high:
                break
            prefetch(triangles, 3 * triangle)
            if cut and _is_cut(triangle, triangles, records):
                for at in range(first, end):
                    runs[FIRST + count], runs[LENGTH + count] = at, 1
                    count += 1
            else:
                runs[FIRST + count], runs[LENGTH + count] = first, end - first
                count += 1
            stop = end
            lit += end - first
        piece += 1
    return count, stop, lit, piece


@inlined
def weigh(count, corners, attributes, colored, mirrored, base, linear, full):
    """Turn corners into linear functions: value at the first pixel and step, normal then colour, then scale.

    The weights of the corners are perspective-correct (Olano and Greer, 1997) and add up to one at the first
    pixel; colours must be divided by the scale, normals need not. Backs turn their normals to the eye.
    """
    one, zero = np.float32(1), np.float32(0)
    for i in range(count):
        ax, ay, aw = corners[i], corners[i + STRIDE], corners[i + 2 * STRIDE]
        bx, by, bw = corners[i + 3 * STRIDE], corners[i + 4 * STRIDE], corners[i + 5 * STRIDE]
        cx, cy, cw = corners[i + 6 * STRIDE], corners[i + 7 * STRIDE], corners[i + 8 * STRIDE]
        a, b, c = bx * cy - by * cx, cx * ay - cy * ax, ax * by - ay * bx
        clockwise = a + b + c >= 0
        sign = 1.0 if clockwise else -1.0
        a, b, c = max(a * sign, 0.0), max(b * sign, 0.0), max(c * sign, 0.0)
        total = a + b + c
        inverse = 1.0 / (total if total > 0 else 1.0)
        even = 0.0 if total > 0 else 1 / 3
        step = sign * ONE * inverse if total > 0 else 0.0
        wa, wb, wc = (
            np.float32(a * inverse + even),
            np.float32(b * inverse + even),
            np.float32(c * inverse + even),
        )
        da = np.float32((by * cw - bw * cy) * step)
        db = np.float32((cy * aw - cw * ay) * step)
        dc = np.float32((ay * bw - aw * by) * step)
        side = one if clockwise == mirrored else -one
        for axis in range(3):
            at = i + axis * STRIDE
            na, nb, nc = attributes[at], attributes[at + 3 * STRIDE], attributes[at + 6 * STRIDE]
            linear[at] = (wa * na + wb * nb + wc * nc) * side
            linear[at + 3 * STRIDE] = (da * na + db * nb + dc * nc) * side
            ra, rb, rc = one, one, one
            if colored:
                ra = attributes[COLORS + at]
                rb = attributes[COLORS + at + 3 * STRIDE]
                rc = attributes[COLORS + at + 6 * STRIDE]
            linear[at + 6 * STRIDE] = (wa * ra + wb * rb + wc * rc) * base[axis]
            linear[at + 9 * STRIDE] = (da * ra + db * rb + dc * rc) * base[axis] if colored else zero
        linear[_SCALE + i] = da + db + dc if colored else zero
        if full is not None:  # the weights and gains that ``weigh_full`` needs, in place of the corners
            corners[i], corners[i + STRIDE], corners[i + 2 * STRIDE] = (
                (by * cw - bw * cy) * step,
                (cy * aw - cw * ay) * step,
                (ay * bw - aw * by) * step,
            )
            corners[i + 3 * STRIDE], corners[i + 4 * STRIDE], corners[i + 5 * STRIDE] = (
                (bw * cx - bx * cw) * step,
                (cw * ax - cx * aw) * step,
                (aw * bx - ax * bw) * step,
            )
            corners[_WEIGHTS + i] = a * inverse + even
            corners[_WEIGHTS + i + STRIDE] = b * inverse + even
            corners[_WEIGHTS + i + 2 * STRIDE] = c * inverse + even
            corners[i + 6 * STRIDE] = np.float64(side)


@inlined
def weigh_full(count, corners, attributes, colored, mirrored, alpha, linear, functions, full):
    """After ``weigh``: the functions of alpha, tangent, texture coordinates and distance."""
    for i in range(count):
        wa, wb, wc = (
            corners[_WEIGHTS + i],
            corners[_WEIGHTS + i + STRIDE],
            corners[_WEIGHTS + i + 2 * STRIDE],
        )
        xa, xb, xc = corners[i], corners[i + STRIDE], corners[i + 2 * STRIDE]
        ya, yb, yc = corners[i + 3 * STRIDE], corners[i + 4 * STRIDE], corners[i + 5 * STRIDE]
        side = np.float32(corners[i + 6 * STRIDE])
        fa, fb, fc = corners[FARS + i], corners[FARS + i + STRIDE], corners[FARS + i + 2 * STRIDE]
        functions[FAR + i] = (wa * fa + wb * fb) + wc * fc
        functions[FAR + i + STRIDE] = (xa * fa + xb * fb) + xc * fc
        functions[SCALE_X + i] = (xa + xb) + xc
        functions[SCALE_Y + i] = (ya + yb) + yc
        linear[_ALPHA + i], linear[_ALPHA + i + STRIDE] = alpha, np.float32(0)
        if colored:
            la, lb, lc = (
                attributes[ALPHAS + i],
                attributes[ALPHAS + i + STRIDE],
                attributes[ALPHAS + i + 2 * STRIDE],
            )
            linear[_ALPHA + i] = (np.float32(wa) * la + np.float32(wb) * lb + np.float32(wc) * lc) * alpha
            linear[_ALPHA + i + STRIDE] = (
                np.float32(xa) * la + np.float32(xb) * lb + np.float32(xc) * lc
            ) * alpha
        for part in range(4):
            at = i + part * STRIDE
            if full.tangents.shape[0] > 0:
                turned = side if part < 3 or not mirrored else -side
                ta, tb, tc = (
                    attributes[TANGENTS + at],
                    attributes[TANGENTS + at + 4 * STRIDE],
                    attributes[TANGENTS + at + 8 * STRIDE],
                )
                value = np.float32(wa) * ta + np.float32(wb) * tb + np.float32(wc) * tc
                step = np.float32(xa) * ta + np.float32(xb) * tb + np.float32(xc) * tc
                linear[_TANGENT + at] = value * turned
                linear[_TANGENT + at + 4 * STRIDE] = step * turned
            if full.uv.shape[0] > 0:
                ua, ub, uc = (
                    np.float64(attributes[UVS + at]),
                    np.float64(attributes[UVS + at + 4 * STRIDE]),
                    np.float64(attributes[UVS + at + 8 * STRIDE]),
                )
                to = U + 3 * part * STRIDE + i
                functions[to] = (wa * ua + wb * ub) + wc * uc
                functions[to + STRIDE] = (xa * ua + xb * ub) + xc * uc
                functions[to + 2 * STRIDE] = (ya * ua + yb * ub) + yc * uc


@inlined
def lay(count, runs, linear, colored, space):
    """Write every run's normal, and where vertices have colours base colour and scale, pixel by pixel.

    In whole vectors, since runs are short: what is written too much, the next run mends.
    """
    one = np.float32(1)
    for run in range(count):
        first, of = runs[FIRST + run], linear[run:]
        nx, ny, nz, dnx, dny, dnz = of[0], of[_Y], of[_Z], of[3 * STRIDE], of[4 * STRIDE], of[5 * STRIDE]
        length = runs[LENGTH + run]
        if length > 2 * STEP and not colored:
            for i in range(0, length, LANES):
                along = count_from(np.float32(i))
                store_f32x16(space, first + i, along * dnx + nx)
                store_f32x16(space, first + i + _Y, along * dny + ny)
                store_f32x16(space, first + i + _Z, along * dnz + nz)
            continue
        for i in range(0, length, STEP):
            ramp(space, first + i, nx, dnx, i)
            ramp(space, first + i + _Y, ny, dny, i)
            ramp(space, first + i + _Z, nz, dnz, i)
            if colored:
                ramp(space, first + i + 3 * STRIDE, of[6 * STRIDE], of[9 * STRIDE], i)
                ramp(space, first + i + 4 * STRIDE, of[7 * STRIDE], of[10 * STRIDE], i)
                ramp(space, first + i + 5 * STRIDE, of[8 * STRIDE], of[11 * STRIDE], i)
                ramp(space, first + i + 6 * STRIDE, one, of[_SCALE], i)


@inlined
def lay_full(count, runs, x, y, linear, functions, space, distances, places, full):
    """After ``lay``: alpha, tangent, column and row, and the distance (float64), pixel by pixel."""
    zero, one, tangents = np.float32(0), np.float32(1), full.tangents.shape[0] > 0
    for run in range(count):
        first, length, of, fine = runs[FIRST + run], runs[LENGTH + run], linear[run:], functions[run:]
        column, row = np.float32(x + first), np.float32(y)
        if places.shape[0] > 0:
            column, row = np.float32(places[first] & 0xFFFF), np.float32(places[first] >> 16)
        alpha, dalpha = of[_ALPHA], of[_ALPHA + STRIDE]
        for i in range(0, length, STEP):
            ramp(space, first + i + PX, column, one, i)
            ramp(space, first + i + PY, row, zero, i)
            ramp(space, first + i + ALPHA, alpha, dalpha, i)
            if tangents:
                for part in range(4):
                    value, step = of[_TANGENT + part * STRIDE], of[_TANGENT + (4 + part) * STRIDE]
                    ramp(space, first + i + TX + part * STRIDE, value, step, i)
        if dalpha != 0:
            for i in range(first, first + length):
                space[ALPHA + i] /= space[SCALE + i]
        value, step_far, scale = fine[FAR], fine[FAR + STRIDE], fine[SCALE_X]
        for i in range(0, length, LANES):
            along = count_from(np.float64(i))
            store_f64x16(distances, WX + first + i, (along * step_far + value) / (along * scale + 1.0))
