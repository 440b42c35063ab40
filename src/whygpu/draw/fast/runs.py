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
from whygpu.draw.fast.rules import HALF, ONE, OUTSIDE
from whygpu.draw.fast.transform import clip_position
from whygpu.engine.jit import inlined

__all__ = [
    "ATTRIBUTES", "CORNERS", "FAR", "FUNCTIONS", "LINEAR", "RUNS", "SCALE_X", "SCALE_Y", "U",
    "fetch", "find_runs", "lay", "lay_full", "weigh", "weigh_full",
]  # fmt: skip

# Working space a pixel: int32 of runs, float64 of corners, float32 of attributes and of their linear
# functions, float64 of the linear functions that must be finer.
RUNS, CORNERS, ATTRIBUTES, LINEAR, FUNCTIONS = 2, 15, 45, 23, 16

_FIRST, _LENGTH = 0, STRIDE  # of a run: its first pixel, its pixels
_FARS, _WEIGHTS = 9 * STRIDE, 12 * STRIDE  # of the three corners: distance; then their weights
_COLORS = 9 * STRIDE  # of the three corners, after their normals
_ALPHAS, _TANGENTS, _UVS = 18 * STRIDE, 21 * STRIDE, 33 * STRIDE  # then these
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
def find_runs(owners, at, low, high, cut, triangles, fixed, runs, places, full):
    """List the runs from pixel ``at`` on, as far as pixels show triangles ``low`` up to ``high``, or none.

    Returns how many runs there are, where the last one ends, where the search ended. With ``cut``, where
    vertices may have been clipped, a triangle that has one is taken pixel by pixel.
    """
    count, stop = 0, at
    while at < owners.shape[0] and (owners[at] < 0 or low <= owners[at] < high):
        triangle, end = owners[at], at + 1
        if triangle >= 0:
            prefetch(triangles, triangle)
            single = False
            if full is not None:
                single = full.alone
            if cut:
                for corner in range(3):
                    single |= fixed[np.uintp(triangles[triangle, corner]), 0] == OUTSIDE
            while not single and end < owners.shape[0] and owners[end] == triangle:
                if full is not None and _ends(places, end):
                    break
                end += 1
            runs[_FIRST + count], runs[_LENGTH + count] = at, end - at
            count, stop = count + 1, end
        at = end
    return count, stop, at


@inlined
def _center(places, at, cx, cy):
    """The centre of a pixel: where the list says, if there is one."""
    if places.shape[0] > 0:
        return np.int64(places[at] & 0xFFFF) * ONE + HALF, np.int64(places[at] >> 16) * ONE + HALF
    return np.int64(cx), np.int64(cy)


@inlined
def _fetch_full(run, corner, v, far, colors, corners, attributes, full):
    """Distance, alpha, tangent and texture coordinates of one corner."""
    corners[_FARS + corner * STRIDE + run] = far
    if colors.shape[0] > 0:
        attributes[_ALPHAS + corner * STRIDE + run] = colors[v, 3]
    for part in range(4):
        if full.tangents.shape[0] > 0:
            attributes[_TANGENTS + (4 * corner + part) * STRIDE + run] = full.tangents[v, part]
        if full.uv.shape[0] > 0:
            attributes[_UVS + (4 * corner + part) * STRIDE + run] = full.uv[v, part]


@inlined
def fetch(
    count, runs, owners, x, y, triangles, fixed, real, positions, matrix, grid, viewport, depth_scale,
    normals, colors, corners, attributes, places, full,
):  # fmt: skip
    """Fetch each run's corners, as (x w, y w, w) from its first pixel's centre, and their attributes.

    From the snapped position, or from clip space where the vertex was clipped and has none; see portable
    ``corner_positions``.
    """
    cy = y * ONE + HALF
    for run in range(count):
        for corner in range(3):
            v = triangles[owners[runs[_FIRST + run]], corner]
            prefetch(fixed, v)
            prefetch(normals, v)
    for run in range(count):
        first = runs[_FIRST + run]
        cx, triangle = (x + first) * ONE + HALF, owners[first]
        if full is not None:
            cx, cy = _center(places, first, cx, cy)
        for corner in range(3):
            v = np.uintp(triangles[triangle, corner])
            at = 3 * corner * STRIDE + run
            w = np.float64(real[v, 3])
            far = w
            px, py = np.float64(fixed[v, 0] - cx) * w, np.float64(fixed[v, 1] - cy) * w
            if full is not None:
                far = np.float64(real[v, 2]) if full.orthographic else w
            if fixed[v, 0] == OUTSIDE:
                px, py, pz, pw = clip_position(positions, np.int64(v), matrix, grid)
                px = (px * viewport[0] + pw * viewport[1]) * depth_scale - cx * w
                py = (py * viewport[2] + pw * viewport[3]) * depth_scale - cy * w
                if full is not None:
                    far = pz * 0.5 + 0.5 if full.orthographic else w
            corners[at], corners[at + STRIDE], corners[at + 2 * STRIDE] = px, py, w
            for axis in range(3):
                attributes[at + axis * STRIDE] = normals[v, axis]
                if colors.shape[0] > 0:
                    attributes[_COLORS + at + axis * STRIDE] = colors[v, axis]
            if full is not None:
                _fetch_full(run, corner, v, far, colors, corners, attributes, full)


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
                ra = attributes[_COLORS + at]
                rb = attributes[_COLORS + at + 3 * STRIDE]
                rc = attributes[_COLORS + at + 6 * STRIDE]
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
        fa, fb, fc = corners[_FARS + i], corners[_FARS + i + STRIDE], corners[_FARS + i + 2 * STRIDE]
        functions[FAR + i] = (wa * fa + wb * fb) + wc * fc
        functions[FAR + i + STRIDE] = (xa * fa + xb * fb) + xc * fc
        functions[SCALE_X + i] = (xa + xb) + xc
        functions[SCALE_Y + i] = (ya + yb) + yc
        linear[_ALPHA + i], linear[_ALPHA + i + STRIDE] = alpha, np.float32(0)
        if colored:
            la, lb, lc = (
                attributes[_ALPHAS + i],
                attributes[_ALPHAS + i + STRIDE],
                attributes[_ALPHAS + i + 2 * STRIDE],
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
                    attributes[_TANGENTS + at],
                    attributes[_TANGENTS + at + 4 * STRIDE],
                    attributes[_TANGENTS + at + 8 * STRIDE],
                )
                value = np.float32(wa) * ta + np.float32(wb) * tb + np.float32(wc) * tc
                step = np.float32(xa) * ta + np.float32(xb) * tb + np.float32(xc) * tc
                linear[_TANGENT + at] = value * turned
                linear[_TANGENT + at + 4 * STRIDE] = step * turned
            if full.uv.shape[0] > 0:
                ua, ub, uc = (
                    np.float64(attributes[_UVS + at]),
                    np.float64(attributes[_UVS + at + 4 * STRIDE]),
                    np.float64(attributes[_UVS + at + 8 * STRIDE]),
                )
                to = U + 3 * part * STRIDE + i
                functions[to] = (wa * ua + wb * ub) + wc * uc
                functions[to + STRIDE] = (xa * ua + xb * ub) + xc * uc
                functions[to + 2 * STRIDE] = (ya * ua + yb * ub) + yc * uc


@inlined
def lay(count, runs, linear, space):
    """Write every run's normal, colour and scale, pixel by pixel: seven fields of ``space``."""
    for run in range(count):
        length, target = runs[_LENGTH + run], space[runs[_FIRST + run] :]
        of = linear[run:]
        nx, ny, nz, dnx, dny, dnz = of[0], of[_Y], of[_Z], of[3 * STRIDE], of[4 * STRIDE], of[5 * STRIDE]
        red, green, blue = of[6 * STRIDE], of[7 * STRIDE], of[8 * STRIDE]
        dred, dgreen, dblue, scale = of[9 * STRIDE], of[10 * STRIDE], of[11 * STRIDE], of[_SCALE]
        for i in range(length):
            step = np.float32(i)
            target[i], target[_Y + i], target[_Z + i] = nx + dnx * step, ny + dny * step, nz + dnz * step
            target[3 * STRIDE + i] = red + dred * step
            target[4 * STRIDE + i] = green + dgreen * step
            target[5 * STRIDE + i] = blue + dblue * step
            target[6 * STRIDE + i] = np.float32(1) + scale * step


@inlined
def lay_full(count, runs, x, y, linear, functions, space, distances, places, full):
    """After ``lay``: alpha, tangent, column and row, and the distance (float64), pixel by pixel."""
    one, tangents = np.float32(1), full.tangents.shape[0] > 0
    for run in range(count):
        first, length = runs[_FIRST + run], runs[_LENGTH + run]
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
