"""A closed mesh around everything that a distance function calls inside.

The naive form of surface nets (Gibson, 1998): one vertex in every grid cell that the surface crosses, in
the middle of its crossings, one quad around every grid edge that it crosses.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["smooth_union", "surface_nets"]

Floats = NDArray[np.float32]
Field = Callable[[Floats, Floats, Floats], Floats]


def smooth_union(a: Floats, b: Floats, width: float) -> Floats:
    """The nearer of two surfaces, rounded where they meet over ``width`` (a cubic polynomial)."""
    near = np.maximum(width - np.abs(a - b), 0) / width
    union: Floats = np.minimum(a, b) - near**3 * np.float32(width / 6)
    return union


def surface_nets(
    field: Field, low: tuple[float, float, float], high: tuple[float, float, float], step: float
) -> tuple[Floats, NDArray[np.int32], Floats]:
    """Mesh ``field`` = 0 in a box on a grid of ``step``; the box's border must be outside (positive).

    Returns positions (V, 3), triangles (T, 3) counter-clockwise from outside, unit normals (V, 3).
    """
    axes = [np.arange(a, b + step, step, dtype=np.float32) for a, b in zip(low, high, strict=True)]
    values = field(axes[0][:, None, None], axes[1][None, :, None], axes[2][None, None, :])
    inside = values < 0
    cells, points = _cell_points(values, inside)
    number = np.full(inside.shape, -1, np.int32)
    number[tuple(cells.T)] = np.arange(len(cells), dtype=np.int32)
    triangles = _quads(inside, number)
    positions = (points * step + np.array(low)).astype(np.float32)
    for _ in range(3):  # Newton: onto the surface itself
        gradient, value = _gradient(field, positions, step / 4)
        positions = positions - gradient * (value / np.maximum((gradient**2).sum(1), 0.2))[:, None]
    gradient, _ = _gradient(field, positions, step / 4)
    normals = gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-6)
    return positions.astype(np.float32), triangles, normals.astype(np.float32)


def _cell_points(values: Floats, inside: NDArray[np.bool_]) -> tuple[NDArray[np.intp], Floats]:
    """The crossed cells (V, 3) and, in grid units, the mean of each one's crossings (V, 3)."""
    shape = [n - 1 for n in inside.shape]
    count = np.zeros(shape, np.int8)
    for corner in np.ndindex(2, 2, 2):
        count += inside[tuple(slice(c, c + n) for c, n in zip(corner, shape, strict=True))]
    cells = np.argwhere((count > 0) & (count < 8))  # (V, 3)
    at = {c: values[tuple((cells + c).T)] for c in np.ndindex(2, 2, 2)}
    total, crossings = np.zeros((len(cells), 3)), np.zeros(len(cells))
    for a, start in at.items():
        for axis in range(3):
            if a[axis]:
                continue
            b = (*a[:axis], 1, *a[axis + 1 :])
            crossed = (start < 0) != (at[b] < 0)
            where = start / np.where(crossed, start - at[b], 1)
            point = np.array(a, np.float64) + where[:, None] * np.eye(3)[axis]
            total += np.where(crossed[:, None], point, 0)
            crossings += crossed
    return cells, (cells + total / crossings[:, None]).astype(np.float32)


def _quads(inside: NDArray[np.bool_], number: NDArray[np.int32]) -> NDArray[np.int32]:
    """Two triangles around every grid edge whose ends differ, (T, 3)."""
    found = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        here = np.moveaxis(inside, axis, 0)
        edges = np.argwhere(np.moveaxis(here[:-1] != here[1:], 0, axis))
        edges = edges[(edges[:, u] > 0) & (edges[:, v] > 0)]
        step_u, step_v = np.eye(3, dtype=np.intp)[u], np.eye(3, dtype=np.intp)[v]
        ring = [
            number[tuple((edges - du * step_u - dv * step_v).T)]
            for du, dv in ((1, 1), (0, 1), (0, 0), (1, 0))
        ]
        a, b, c, d = ring
        outward = inside[tuple(edges.T)]  # from inside to outside along the axis
        b, d = np.where(outward, b, d), np.where(outward, d, b)
        found.append(np.stack([a, b, c, a, c, d], axis=1).reshape(-1, 3))
    return np.concatenate(found)


def _gradient(field: Field, points: Floats, step: float) -> tuple[Floats, Floats]:
    """Slope (n, 3) and value (n,) of the field."""
    x, y, z = (np.ascontiguousarray(points[:, i]) for i in range(3))
    slope = np.stack(
        [
            field(x + step, y, z) - field(x - step, y, z),
            field(x, y + step, z) - field(x, y - step, z),
            field(x, y, z + step) - field(x, y, z - step),
        ],
        axis=1,
    )
    return (slope / (2 * step)).astype(np.float32), field(x, y, z)
