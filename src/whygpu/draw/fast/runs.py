"""Interpolation along runs: stretches of a row that show one triangle.

Along a run every homogeneous attribute is linear in x. The runs of a block of pixels are found first, then
their corners fetched, then all of them weighed together as vectors, then laid out pixel by pixel: each step
a plain loop over arrays, so that neither the memory's delay nor a division holds up the next run.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, assignment"

import numpy as np

from whygpu.draw.fast.block import prefetch
from whygpu.draw.fast.rules import HALF, ONE, OUTSIDE
from whygpu.draw.fast.transform import clip_position
from whygpu.engine.jit import inlined

__all__ = ["BLOCK", "CORNERS", "LINEAR", "RUNS", "fetch", "find_runs", "lay", "weigh"]

BLOCK = 256
"""Pixels that are shaded together; their working space stays in the first-level cache."""
RUNS, CORNERS, ATTRIBUTES, LINEAR = 2, 9, 18, 13
"""Working space a pixel: int32 of runs, float64 of corners, float32 of attributes, of linear functions."""

_FIRST, _LENGTH = 0, BLOCK  # of a run: its first pixel, its pixels
_COLORS = 9 * BLOCK  # of the three corners, after their normals
_Y, _Z = BLOCK, 2 * BLOCK
_SCALE = 12 * BLOCK  # after value and step of six attributes


@inlined
def find_runs(owners, at, low, high, cut, triangles, fixed, runs):
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
            if cut:
                for corner in range(3):
                    single |= fixed[np.uintp(triangles[triangle, corner]), 0] == OUTSIDE
            while not single and end < owners.shape[0] and owners[end] == triangle:
                end += 1
            runs[_FIRST + count], runs[_LENGTH + count] = at, end - at
            count, stop = count + 1, end
        at = end
    return count, stop, at


@inlined
def fetch(
    count, runs, owners, x, y, triangles, fixed, real, positions, matrix, grid, viewport, depth_scale,
    normals, colors, corners, attributes,
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
        for corner in range(3):
            v = np.uintp(triangles[triangle, corner])
            at = 3 * corner * BLOCK + run
            w = np.float64(real[v, 3])
            px, py = np.float64(fixed[v, 0] - cx) * w, np.float64(fixed[v, 1] - cy) * w
            if fixed[v, 0] == OUTSIDE:
                px, py, _, pw = clip_position(positions, np.int64(v), matrix, grid)
                px = (px * viewport[0] + pw * viewport[1]) * depth_scale - cx * w
                py = (py * viewport[2] + pw * viewport[3]) * depth_scale - cy * w
            corners[at], corners[at + BLOCK], corners[at + 2 * BLOCK] = px, py, w
            for axis in range(3):
                attributes[at + axis * BLOCK] = normals[v, axis]
                if colors.shape[0] > 0:
                    attributes[_COLORS + at + axis * BLOCK] = colors[v, axis]


@inlined
def weigh(count, corners, attributes, colored, mirrored, base, linear):
    """Turn corners into linear functions: value at the first pixel and step, normal then colour, then scale.

    The weights of the corners are perspective-correct (Olano and Greer, 1997) and add up to one at the first
    pixel; colours must be divided by the scale, normals need not. Backs turn their normals to the eye.
    """
    one, zero = np.float32(1), np.float32(0)
    for i in range(count):
        ax, ay, aw = corners[i], corners[i + BLOCK], corners[i + 2 * BLOCK]
        bx, by, bw = corners[i + 3 * BLOCK], corners[i + 4 * BLOCK], corners[i + 5 * BLOCK]
        cx, cy, cw = corners[i + 6 * BLOCK], corners[i + 7 * BLOCK], corners[i + 8 * BLOCK]
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
            at = i + axis * BLOCK
            na, nb, nc = attributes[at], attributes[at + 3 * BLOCK], attributes[at + 6 * BLOCK]
            linear[at] = (wa * na + wb * nb + wc * nc) * side
            linear[at + 3 * BLOCK] = (da * na + db * nb + dc * nc) * side
            ra, rb, rc = one, one, one
            if colored:
                ra = attributes[_COLORS + at]
                rb = attributes[_COLORS + at + 3 * BLOCK]
                rc = attributes[_COLORS + at + 6 * BLOCK]
            linear[at + 6 * BLOCK] = (wa * ra + wb * rb + wc * rc) * base[axis]
            linear[at + 9 * BLOCK] = (da * ra + db * rb + dc * rc) * base[axis] if colored else zero
        linear[_SCALE + i] = da + db + dc if colored else zero


@inlined
def lay(count, runs, linear, space):
    """Write every run's normal, colour and scale, pixel by pixel: seven fields of ``space``."""
    for run in range(count):
        length, target = runs[_LENGTH + run], space[runs[_FIRST + run] :]
        of = linear[run:]
        nx, ny, nz, dnx, dny, dnz = of[0], of[_Y], of[_Z], of[3 * BLOCK], of[4 * BLOCK], of[5 * BLOCK]
        red, green, blue = of[6 * BLOCK], of[7 * BLOCK], of[8 * BLOCK]
        dred, dgreen, dblue, scale = of[9 * BLOCK], of[10 * BLOCK], of[11 * BLOCK], of[_SCALE]
        for i in range(length):
            step = np.float32(i)
            target[i], target[_Y + i], target[_Z + i] = nx + dnx * step, ny + dny * step, nz + dnz * step
            target[3 * BLOCK + i] = red + dred * step
            target[4 * BLOCK + i] = green + dgreen * step
            target[5 * BLOCK + i] = blue + dblue * step
            target[6 * BLOCK + i] = np.float32(1) + scale * step
