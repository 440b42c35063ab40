"""Tangents where a file brings none: along growing u, at every vertex."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["vertex_tangents"]


def vertex_tangents(
    positions: ArrayLike, normals: ArrayLike, uv: ArrayLike, triangles: ArrayLike
) -> NDArray[np.float32]:
    """Tangents (V, 4) float32: the unit vector along u, at right angles to the normal, and the side of v.

    Each triangle's gradient of u (Lengyel, 2001), weighted by its angle at the vertex as in MikkTSpace, is
    summed around the vertex; vertices are not split. Where u does not change, any direction serves.
    """
    p, n = np.asarray(positions, np.float64), np.asarray(normals, np.float64)
    t, st = np.asarray(triangles), np.asarray(uv, np.float64)
    n = n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-30)
    corner, coordinate = p[t], st[t]  # (T, 3, 3), (T, 3, 2)
    e1, e2 = corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]
    d1, d2 = coordinate[:, 1] - coordinate[:, 0], coordinate[:, 2] - coordinate[:, 0]
    area = d1[:, 0] * d2[:, 1] - d2[:, 0] * d1[:, 1]  # twice the signed area in the texture
    sign = np.sign(area)[:, None]
    along_u = _unit(sign * (e1 * d2[:, 1:] - e2 * d1[:, 1:]))
    along_v = _unit(sign * (e2 * d1[:, :1] - e1 * d2[:, :1]))
    sums = np.zeros((2, len(p), 3))
    for i in range(3):
        a, b = (_unit(corner[:, (i + k) % 3] - corner[:, i]) for k in (1, 2))
        angle = np.arccos(np.clip((a * b).sum(1), -1, 1))[:, None]
        for which, direction in enumerate((along_u, along_v)):
            for axis in range(3):
                weights = (direction * angle)[:, axis]
                sums[which, :, axis] += np.bincount(t[:, i], weights, minlength=len(p))
    tangent = sums[0] - n * (n * sums[0]).sum(1, keepdims=True)
    length = np.linalg.norm(tangent, axis=1, keepdims=True)
    tangent = np.where(length > 1e-12, tangent / np.maximum(length, 1e-30), _across(n))
    side = np.where((np.cross(n, tangent) * sums[1]).sum(1, keepdims=True) < 0, -1.0, 1.0)
    return np.concatenate([tangent, side], axis=1).astype(np.float32)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(length > 0, vectors / np.where(length > 0, length, 1.0), 0.0)


def _across(normals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Some unit vector at right angles to each normal."""
    axis = np.eye(3)[np.abs(normals).argmin(1)] if len(normals) else np.zeros((0, 3))
    return _unit(np.cross(axis, normals))
