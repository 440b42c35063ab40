"""Vertices: model, view and projection, the divide by w and the snap to the sub-pixel grid, in one pass."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

import numpy as np

from whygpu.draw.fast.rules import BOTTOM, FAR, LEFT, LIMIT, NEAR, OUTSIDE, RIGHT, TOP
from whygpu.engine.jit import inlined, kernel

__all__ = ["clip_position", "snapped", "transform"]

ROUND = 1.5 * 2.0**52
"""Adding and subtracting it rounds a float64 to a whole number, half to even, without a call."""


@inlined
def clip_position(positions, vertex, matrix, grid):
    """A vertex in clip space; exact, so that every order of adding gives these bits."""
    px = (np.float64(positions[vertex, 0]) + grid[0]) - grid[0]
    py = (np.float64(positions[vertex, 1]) + grid[1]) - grid[1]
    pz = (np.float64(positions[vertex, 2]) + grid[2]) - grid[2]
    x = px * matrix[0, 0] + py * matrix[1, 0] + pz * matrix[2, 0] + matrix[3, 0]
    y = px * matrix[0, 1] + py * matrix[1, 1] + pz * matrix[2, 1] + matrix[3, 1]
    z = px * matrix[0, 2] + py * matrix[1, 2] + pz * matrix[2, 2] + matrix[3, 2]
    w = px * matrix[0, 3] + py * matrix[1, 3] + pz * matrix[2, 3] + matrix[3, 3]
    return x, y, z, w


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
    code = 0
    if z < -w:
        code |= NEAR
    if z > w:
        code |= FAR
    if x < -w:
        code |= LEFT
    if x > w:
        code |= RIGHT
    if y < -w:
        code |= BOTTOM
    if y > w:
        code |= TOP
    return code


@kernel
def transform(
    rank, size, barrier, positions, normals, vertex_start, clip, grid, turn, viewport, depth_scale,
    fixed, real, world_normals, outside,
):  # fmt: skip
    """Transform this rank's share of all vertices.

    ``fixed`` (V, 4) int32 and ``real``, its float32 view, are the records: snapped x, snapped y, depth, w.
    A vertex that must be clipped has x = OUTSIDE and y = its outcode; ``outside[rank]`` counts them.
    """
    found = 0
    vertices = positions.shape[0]
    low, high = vertices * rank // size, vertices * (rank + 1) // size
    guard_x, guard_y = viewport[4], viewport[5]
    for node in range(clip.shape[0]):
        matrix, step, t = clip[node], grid[node], turn[node]
        for v in range(max(low, vertex_start[node]), min(high, vertex_start[node + 1])):
            x, y, z, w = clip_position(positions, v, matrix, step)
            if z >= -w and z <= w and abs(x) <= guard_x * w and abs(y) <= guard_y * w and w > 0:
                sx, sy, depth = snapped(x, y, z, w, viewport)
                fixed[v, 0], fixed[v, 1], real[v, 2] = sx, sy, depth
            else:
                fixed[v, 0], fixed[v, 1] = OUTSIDE, _outcode(x, y, z, w)
                found += 1
            real[v, 3] = np.float32(w * depth_scale)
            nx, ny, nz = normals[v, 0], normals[v, 1], normals[v, 2]
            world_normals[v, 0] = nx * t[0, 0] + ny * t[1, 0] + nz * t[2, 0]
            world_normals[v, 1] = nx * t[0, 1] + ny * t[1, 1] + nz * t[2, 1]
            world_normals[v, 2] = nx * t[0, 2] + ny * t[1, 2] + nz * t[2, 2]
    outside[rank] = found
