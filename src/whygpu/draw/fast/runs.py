"""Interpolation along runs: stretches of a row that show one triangle.

Along a run every homogeneous attribute is linear in x. The runs of a block of pixels are found first, then
their corners fetched, then all of them weighed together as vectors, then laid out pixel by pixel: each step
a plain loop over arrays, so that neither the memory's delay nor a division holds up the next run.

``full`` (see ``full.Full``) adds alpha, tangents, texture coordinates and distance; it is None where they are
not needed.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, assignment"

import numpy as np

from whygpu.draw.fast.block import prefetch
from whygpu.draw.fast.fields import ALPHA, PX, PY, STRIDE, TW, TX, TY, TZ, WX
from whygpu.draw.fast.rules import ONE, OUTSIDE
from whygpu.engine.jit import inlined

__all__ = [
    "ALPHAS",
    "ATTRIBUTES",
    "COLORS",
    "CORNERS",
    "FAR",
    "FARS",
    "FIRST",
    "FUNCTIONS",
    "LINEAR",
    "RUNS",
    "SCALE_X",
    "SCALE_Y",
    "TANGENTS",
    "UVS",
    "U",
    "find_runs",
    "lay",
    "lay_full",
    "weigh",
    "weigh_full",
]  # fmt: skip

# Working space a pixel: int32 of runs, float64 of corners, float32 of attributes and of their linear
# functions, float64 of the linear functions that must be finer.
RUNS, CORNERS, ATTRIBUTES, LINEAR, FUNCTIONS = 2, 15, 45, 23, 16

STEP = 16
"""Pixels that are looked at together where a run is long."""
FIRST, LENGTH = 0, STRIDE  # of a run: its first pixel, its pixels
FARS, _WEIGHTS = 9 * STRIDE, 12 * STRIDE  # of the three corners: distance; then their weights
COLORS = 9 * STRIDE  # of the three corners, after their normals
ALPHAS, TANGENTS, UVS = 18 * STRIDE, 21 * STRIDE, 33 * STRIDE  # then these
_Y, _Z = STRIDE, 2 * STRIDE
_SCALE = 12 * STRIDE  # after value and step of six attributes
_ALPHA, _TANGENT = 13 * STRIDE, 15 * STRIDE  # value and step of alpha, of four parts of the tangent

# Of the finer functions: four coordinates (value, step in x, step in y each), distance, the scale's steps.
U, FAR, SCALE_X, SCALE_Y = 0, 12 * STRIDE, 14 * STRIDE, 15 * STRIDE


@inlined
def _ends(places, at):
    """Whether pixel ``at`` of a list does not follow the one before it in its row."""
    return places.shape[0] > 0 and places[at] != places[at - 1] + 1


@inlined
def _all(owners, start, triangle):
    """Whether the next pixels all show a triangle."""
    other = np.int32(0)
    for i in range(STEP):
        other |= owners[start + i] ^ triangle
    return other == 0


@inlined
def find_runs(owners, at, low, high, cut, triangles, records, runs, places, full):
    """List the runs from pixel ``at`` on, as far as pixels show triangles ``low`` up to ``high``, or none.

    Returns how many runs there are, where the last one ends, where the search ended. With ``cut``, where
    vertices may have been clipped, a triangle that has one is taken pixel by pixel.
    """
    count, stop = 0, at
    while at < owners.shape[0] and (owners[at] < 0 or low <= owners[at] < high):
        triangle, end = owners[at], at + 1
        if triangle >= 0:
            prefetch(triangles, 3 * triangle)
            single = False
            if full is not None:
                single = full.alone
            if cut:
                for corner in range(3):
                    v = np.uintp(triangles[np.uintp(3 * triangle + corner)])
                    single |= np.int32(records[v << np.uintp(1)]) == OUTSIDE
            if full is None and not single:
                while end + STEP <= owners.shape[0] and _all(owners, end, triangle):
                    end += STEP
            while not single and end < owners.shape[0] and owners[end] == triangle:
                if full is not None and _ends(places, end):
                    break
                end += 1
            runs[FIRST + count], runs[LENGTH + count] = at, end - at
            count, stop = count + 1, end
        at = end
    return count, stop, at


@inlined
def _fetch_full(run, corner, v, far, colors, corners, attributes, full):
    """Distance, alpha, tangent and texture coordinates of one corner."""
    corners[FARS + corner * STRIDE + run] = far
    if colors.shape[0] > 0:
        attributes[ALPHAS + corner * STRIDE + run] = colors[v, 3]
    for part in range(4):
        if full.tangents.shape[0] > 0:
            attributes[TANGENTS + (4 * corner + part) * STRIDE + run] = full.tangents[v, part]
        if full.uv.shape[0] > 0:
            attributes[UVS + (4 * corner + part) * STRIDE + run] = full.uv[v, part]


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
    """Write every run's normal, and where vertices have colours base colour and scale, pixel by pixel."""
    for run in range(count):
        length, target = runs[LENGTH + run], space[runs[FIRST + run] :]
        of = linear[run:]
        nx, ny, nz, dnx, dny, dnz = of[0], of[_Y], of[_Z], of[3 * STRIDE], of[4 * STRIDE], of[5 * STRIDE]
        if length == 1:  # so it is mostly in a fine mesh
            target[0], target[_Y], target[_Z] = nx, ny, nz
        else:
            for i in range(length):
                step = np.float32(i)
                target[i], target[_Y + i], target[_Z + i] = nx + dnx * step, ny + dny * step, nz + dnz * step
        if not colored:
            continue
        red, green, blue = of[6 * STRIDE], of[7 * STRIDE], of[8 * STRIDE]
        dred, dgreen, dblue, scale = of[9 * STRIDE], of[10 * STRIDE], of[11 * STRIDE], of[_SCALE]
        for i in range(length):
            step = np.float32(i)
            target[3 * STRIDE + i] = red + dred * step
            target[4 * STRIDE + i] = green + dgreen * step
            target[5 * STRIDE + i] = blue + dblue * step
            target[6 * STRIDE + i] = np.float32(1) + scale * step


@inlined
def lay_full(count, runs, x, y, linear, functions, space, distances, places, full):
    """After ``lay``: alpha, tangent, column and row, and the distance (float64), pixel by pixel."""
    one, tangents = np.float32(1), full.tangents.shape[0] > 0
    for run in range(count):
        first, length = runs[FIRST + run], runs[LENGTH + run]
        target, far, of, fine = space[first:], distances[first:], linear[run:], functions[run:]
        column, row = np.float32(x + first), np.float32(y)
        if places.shape[0] > 0:
            column, row = np.float32(places[first] & 0xFFFF), np.float32(places[first] >> 16)
        alpha, dalpha = of[_ALPHA], of[_ALPHA + STRIDE]
        value, step_far, scale = fine[FAR], fine[FAR + STRIDE], fine[SCALE_X]
        for i in range(length):
            step = np.float32(i)
            target[PX + i], target[PY + i] = column + step, row
            target[ALPHA + i] = (alpha + dalpha * step) / (target[6 * STRIDE + i] if dalpha != 0 else one)
            far[WX + i] = (value + step_far * np.float64(i)) / (1.0 + scale * np.float64(i))
        if tangents:
            tx, ty, tz, tw = (of[_TANGENT], of[_TANGENT + _Y], of[_TANGENT + _Z], of[_TANGENT + 3 * STRIDE])
            dx, dy, dz = of[_TANGENT + 4 * STRIDE], of[_TANGENT + 5 * STRIDE], of[_TANGENT + 6 * STRIDE]
            dw = of[_TANGENT + 7 * STRIDE]
            for i in range(length):
                step = np.float32(i)
                target[TX + i], target[TY + i] = tx + dx * step, ty + dy * step
                target[TZ + i], target[TW + i] = tz + dz * step, tw + dw * step
