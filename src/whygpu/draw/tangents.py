"""Tangents: which way a texture's u runs over a surface, for normal maps.

The frame that normal maps are made for (M. Mikkelsen, "Simulation of Wrinkled Surfaces Revisited", 2008): a
triangle's tangent is the direction in which u grows; at a vertex the triangles around it are averaged by
angle and laid into the plane of the normal; vertices that agree in position, normal and texture coordinates
count as one; triangles whose texture is mirrored never mix with those where it is not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.mesh import Mesh

__all__ = ["tangents"]

Floats = NDArray[np.float64]


def tangents(mesh: Mesh) -> NDArray[np.float32]:
    """(V, 4): the unit tangent along u, and the side w: normal x tangent times w points *against* v.

    glTF's v runs down the image and a normal texture's green points up, so w is +1 where an image is not
    mirrored. The texture coordinates are those of the material's normal texture (or set 0). Where they say
    nothing (no such set, no area), any direction across the normal is taken.
    """
    texture = mesh.material.normal_texture
    uv = mesh.uv[texture.uv if texture else 0]
    assert mesh.normals is not None
    normals = _unit(mesh.normals.astype(np.float64))
    result = np.column_stack([_across(normals), np.ones(len(normals))])  # (V, 4)
    if uv is None or not len(mesh.triangles):
        return result.astype(np.float32)
    t = mesh.triangles
    along, area = _faces(mesh.positions[t].astype(np.float64), uv[t].astype(np.float64))
    weights = _angles(mesh.positions[t].astype(np.float64))  # (T, 3)
    groups = _welded(mesh, uv)[t]  # (T, 3)
    best = np.zeros(len(normals))
    for side in (1.0, -1.0):
        faces = area * side > 0
        sums, total = _gathered(groups[faces], along[faces], weights[faces], int(groups.max()) + 1)
        own = np.full(len(normals), -1, np.int64)
        own[t[faces].ravel()] = groups[faces].ravel()
        wins = (own >= 0) & (total[own] > best)  # a vertex on a mirror's seam takes the larger side
        flat = sums[own] - normals * (sums[own] * normals).sum(1, keepdims=True)
        length = np.linalg.norm(flat, axis=1)
        wins &= length > 1e-12
        result[wins, :3] = flat[wins] / length[wins, None]
        result[wins, 3] = side
        best[wins] = total[own][wins]
    return result.astype(np.float32)


def _faces(p: Floats, uv: Floats) -> tuple[Floats, Floats]:
    """Each triangle's unit tangent (T, 3), and its area in the image with v up, signed (T,)."""
    p1, p2 = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
    (u1, v1), (u2, v2) = (uv[:, 1] - uv[:, 0]).T, (uv[:, 2] - uv[:, 0]).T
    area = u2 * v1 - u1 * v2  # v runs down
    along = (p2 * v1[:, None] - p1 * v2[:, None]) * np.sign(area)[:, None]
    return _unit(along), area


def _angles(p: Floats) -> Floats:
    """The angle at each corner, (T, 3), radians."""
    found = []
    for corner in range(3):
        a = _unit(p[:, (corner + 1) % 3] - p[:, corner])
        b = _unit(p[:, (corner + 2) % 3] - p[:, corner])
        found.append(np.arccos(np.clip((a * b).sum(1), -1, 1)))
    return np.stack(found, axis=1)


def _welded(mesh: Mesh, uv: NDArray[np.float32]) -> NDArray[np.int64]:
    """A number for each vertex, (V,), the same where position, normal and texture coordinates are."""
    assert mesh.normals is not None
    rows = np.ascontiguousarray(np.column_stack([mesh.positions, mesh.normals, uv]) + np.float32(0))
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    found: NDArray[np.int64] = np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return found


def _gathered(groups: NDArray[np.int64], along: Floats, weights: Floats, count: int) -> tuple[Floats, Floats]:
    """Sums of the faces' tangents around each group (count, 3), and of their weights (count,)."""
    flat = groups.ravel()
    total: Floats = np.bincount(flat, weights.ravel(), count).astype(np.float64)
    columns = [np.bincount(flat, (weights * along[:, None, axis]).ravel(), count) for axis in range(3)]
    return np.stack(columns, axis=1), total


def _across(normals: Floats) -> Floats:
    """A unit vector across each normal, (V, 3)."""
    axis = np.eye(3)[np.argmin(np.abs(normals), axis=1)]
    return _unit(np.cross(normals, axis))


def _unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: Floats = vectors / np.where(length > 0, length, 1.0)
    return unit
