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
from whygpu.draw.fast.vectors import LANES, keep_three_wide, three, three_wide
from whygpu.engine.jit import inlined
from whygpu.engine.simd import (
    choose,
    count_from,
    larger,
    load_f64x16,
    narrow,
    splat_f32,
    store_f32x16,
    store_f64x16,
    widen,
    zero_f32,
)

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
def _dot(weights, values):
    """What three corners have, weighed."""
    return weights[0] * values[0] + weights[1] * values[1] + weights[2] * values[2]


@inlined
def _narrow(three):
    return narrow(three[0]), narrow(three[1]), narrow(three[2])


@inlined
def weigh(count, corners, attributes, colored, mirrored, base, linear, full):
    """Turn corners into linear functions: value at the first pixel and step, normal then colour, then scale.

    The weights of the corners are perspective-correct (Olano and Greer, 1997) and add up to one at the first
    pixel; colours, where vertices have some, must be divided by the scale, normals need not. Backs turn their
    normals to the eye.
    """
    for i in range(0, count, LANES):
        ax, ay, aw = three_wide(corners, i, STRIDE)
        bx, by, bw = three_wide(corners, i + 3 * STRIDE, STRIDE)
        cx, cy, cw = three_wide(corners, i + 6 * STRIDE, STRIDE)
        a, b, c = bx * cy - by * cx, cx * ay - cy * ax, ax * by - ay * bx
        sign = choose(0.0, a + b + c, -1.0, 1.0)  # whether they lie clockwise
        a, b, c = larger(a * sign, 0.0), larger(b * sign, 0.0), larger(c * sign, 0.0)
        total = a + b + c
        inverse = 1.0 / choose(total, 0.0, total, 1.0)
        even = choose(total, 0.0, 0.0, 1 / 3)
        step = choose(total, 0.0, sign * inverse * (1.0 * ONE), 0.0)
        weights = a * inverse + even, b * inverse + even, c * inverse + even
        across = (by * cw - bw * cy) * step, (cy * aw - cw * ay) * step, (ay * bw - aw * by) * step
        shares, gains = _narrow(weights), _narrow(across)
        side = narrow(sign) * (np.float32(1) if mirrored else np.float32(-1))
        for axis in range(3):
            at = i + axis * STRIDE
            normal = three(attributes, at, 3 * STRIDE)
            store_f32x16(linear, at, _dot(shares, normal) * side)
            store_f32x16(linear, at + 3 * STRIDE, _dot(gains, normal) * side)
            if colored:
                color = three(attributes, at + COLORS, 3 * STRIDE)
                store_f32x16(linear, at + 6 * STRIDE, _dot(shares, color) * base[axis])
                store_f32x16(linear, at + 9 * STRIDE, _dot(gains, color) * base[axis])
        if colored:
            store_f32x16(linear, _SCALE + i, gains[0] + gains[1] + gains[2])
        if full is not None:  # what ``weigh_full`` needs, in place of the corners
            down = (bw * cx - bx * cw) * step, (cw * ax - cx * aw) * step, (aw * bx - ax * bw) * step
            keep_three_wide(corners, i, across)
            keep_three_wide(corners, i + 3 * STRIDE, down)
            keep_three_wide(corners, i + _WEIGHTS, weights)
            store_f64x16(corners, i + 6 * STRIDE, widen(side))


@inlined
def weigh_full(count, corners, attributes, colored, mirrored, alpha, linear, functions, full):
    """After ``weigh``: the functions of alpha, tangent, texture coordinates and distance."""
    for i in range(0, count, LANES):
        weights, across = three_wide(corners, _WEIGHTS + i, STRIDE), three_wide(corners, i, STRIDE)
        down, side = three_wide(corners, i + 3 * STRIDE, STRIDE), narrow(load_f64x16(corners, i + 6 * STRIDE))
        shares, gains = _narrow(weights), _narrow(across)
        far = three_wide(corners, FARS + i, STRIDE)
        store_f64x16(functions, FAR + i, _dot(weights, far))
        store_f64x16(functions, FAR + STRIDE + i, _dot(across, far))
        store_f64x16(functions, SCALE_X + i, across[0] + across[1] + across[2])
        store_f64x16(functions, SCALE_Y + i, down[0] + down[1] + down[2])
        store_f32x16(linear, _ALPHA + i, splat_f32(alpha))
        store_f32x16(linear, _ALPHA + STRIDE + i, zero_f32())
        if colored:
            alphas = three(attributes, ALPHAS + i, STRIDE)
            store_f32x16(linear, _ALPHA + i, _dot(shares, alphas) * alpha)
            store_f32x16(linear, _ALPHA + STRIDE + i, _dot(gains, alphas) * alpha)
        for part in range(4):
            at = i + part * STRIDE
            if full.tangents.shape[0] > 0:
                tangent = three(attributes, TANGENTS + at, 4 * STRIDE)
                turned = side * np.float32(-1) if part == 3 and mirrored else side
                store_f32x16(linear, _TANGENT + at, _dot(shares, tangent) * turned)
                store_f32x16(linear, _TANGENT + 4 * STRIDE + at, _dot(gains, tangent) * turned)
            if full.uv.shape[0] > 0:
                a, b, c = three(attributes, UVS + at, 4 * STRIDE)
                place, to = (widen(a), widen(b), widen(c)), U + 3 * part * STRIDE + i
                store_f64x16(functions, to, _dot(weights, place))
                store_f64x16(functions, to + STRIDE, _dot(across, place))
                store_f64x16(functions, to + 2 * STRIDE, _dot(down, place))


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
