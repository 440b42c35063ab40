"""Vertices: model, view and projection, the divide by w and the snap to the sub-pixel grid, in one pass."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

import numpy as np

from whygpu.draw.fast.rules import BOTTOM, FAR, LEFT, LIMIT, NEAR, OUTSIDE, RIGHT, TOP
from whygpu.engine.jit import inlined, kernel

__all__ = ["clip_position", "snapped", "transform"]

ROUND = 1.5 * 2.0**52
"""Adding and subtracting it rounds a float64 to a whole number, half to even, without a call."""


@inlined
def _clip_space(x, y, z, matrix, grid):
    """A position in clip space; exact, so that every order of adding gives these bits."""
    px, py, pz = (x + grid[0]) - grid[0], (y + grid[1]) - grid[1], (z + grid[2]) - grid[2]
    cx = px * matrix[0, 0] + py * matrix[1, 0] + pz * matrix[2, 0] + matrix[3, 0]
    cy = px * matrix[0, 1] + py * matrix[1, 1] + pz * matrix[2, 1] + matrix[3, 1]
    cz = px * matrix[0, 2] + py * matrix[1, 2] + pz * matrix[2, 2] + matrix[3, 2]
    cw = px * matrix[0, 3] + py * matrix[1, 3] + pz * matrix[2, 3] + matrix[3, 3]
    return cx, cy, cz, cw


@inlined
def clip_position(positions, vertex, matrix, grid):
    """A vertex in clip space, from ``positions`` (V, 3)."""
    x, y, z = positions[vertex, 0], positions[vertex, 1], positions[vertex, 2]
    return _clip_space(np.float64(x), np.float64(y), np.float64(z), matrix, grid)


@inlined
def snapped(x, y, z, w, viewport):
    """Clip space to the picture: snapped x and y in sub-pixel units, depth from 0 to 1."""
    inverse = 1.0 / w
    sx = ((x * inverse * viewport[0] + viewport[1]) + ROUND) - ROUND
    sy = ((y * inverse * viewport[2] + viewport[3]) + ROUND) - ROUND
    sx, sy = min(max(sx, -1.0 * LIMIT), 1.0 * LIMIT), min(max(sy, -1.0 * LIMIT), 1.0 * LIMIT)
    return np.int32(sx), np.int32(sy), np.float32(z * inverse * 0.5 + 0.5)


@inlined
def _outcode(x, y, z, w):
    """The sides of the view volume that a vertex lies beyond."""
    depth = np.int32(z < -w) * np.int32(NEAR) | np.int32(z > w) * np.int32(FAR)
    across = np.int32(x < -w) * np.int32(LEFT) | np.int32(x > w) * np.int32(RIGHT)
    down = np.int32(y < -w) * np.int32(BOTTOM) | np.int32(y > w) * np.int32(TOP)
    return depth | across | down


@inlined
def _positions(positions, matrix, grid, viewport, depth_scale, records):
    """Flat positions (3 n,) to flat records (4 n,); returns how many must be clipped.

    Without a branch, and on flat arrays, whose strides the compiler knows: so it becomes vector instructions.
    """
    found, one = 0, 1.0
    for i in range(positions.shape[0] // 3):
        x, y, z = positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]
        x, y, z, w = _clip_space(np.float64(x), np.float64(y), np.float64(z), matrix, grid)
        inside = (z >= -w) & (z <= w) & (abs(x) <= viewport[4] * w) & (abs(y) <= viewport[5] * w) & (w > 0)
        sx, sy, depth = snapped(x if inside else 0.0, y if inside else 0.0, z, w if inside else one, viewport)
        records[4 * i] = sx if inside else np.int32(OUTSIDE)
        records[4 * i + 1] = sy if inside else _outcode(x, y, z, w)
        records[4 * i + 2] = np.float32(depth).view(np.int32)
        records[4 * i + 3] = np.float32(w * depth_scale).view(np.int32)
        found += not inside
    return found


@kernel
def transform(
    rank, size, barrier, positions, vertex_start, clip, grid, viewport, depth_scale, fixed, outside
):
    """Transform this rank's share of all vertices; ``positions`` and ``fixed`` are flat.

    ``fixed`` (4 V,) int32 are the records: snapped x, snapped y, the bits of depth and of w in float32.
    A vertex that must be clipped has x = OUTSIDE and y = its outcode; ``outside[rank]`` counts them.
    """
    found = 0
    vertices = positions.shape[0] // 3
    low, high = vertices * rank // size, vertices * (rank + 1) // size
    for node in range(clip.shape[0]):
        first, last = max(low, vertex_start[node]), min(high, vertex_start[node + 1])
        if first < last:
            found += _positions(
                positions[3 * first : 3 * last], clip[node], grid[node], viewport, depth_scale,
                fixed[4 * first : 4 * last],
            )  # fmt: skip
    outside[rank] = found
