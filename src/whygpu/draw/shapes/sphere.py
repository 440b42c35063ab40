"""A sphere from a tetrahedron: four triangles, each cut into four at every level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.material import Material
from whygpu.draw.mesh import Mesh

__all__ = ["MAX_LEVEL", "sphere", "subdivided_tetrahedron"]

MAX_LEVEL = 11
"""16.8 million triangles."""


def sphere(level: int = 6, material: Material | None = None) -> Mesh:
    """A unit sphere of 4 x 4**level triangles and 2 + 2 x 4**level vertices, smooth normals."""
    points, triangles = subdivided_tetrahedron(level)
    return Mesh(
        points.astype(np.float32),
        triangles,
        points.astype(np.float32),
        material=material or Material((0.74, 0.20, 0.09), roughness=0.32),
        name="sphere",
    )


def subdivided_tetrahedron(level: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Points on the unit sphere (V, 3) and triangles (T, 3); a point that two triangles share occurs once."""
    points = np.array([[1, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]]) / np.sqrt(3)
    triangles = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int64)
    for _ in range(level):
        edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)  # (3 T, 2)
        _, first, which = np.unique(
            edges[:, 0] * len(points) + edges[:, 1], return_index=True, return_inverse=True
        )
        middle = points[edges[first, 0]] + points[edges[first, 1]]
        middle /= np.linalg.norm(middle, axis=1, keepdims=True)
        ab, bc, ca = (len(points) + which.reshape(-1, 3)).T
        a, b, c = triangles.T
        points = np.concatenate([points, middle])
        triangles = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
    return by_first_use(points, triangles.astype(np.int32))


def by_first_use(
    points: NDArray[np.float64], triangles: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Renumber the points in the order in which triangles name them: neighbours in space and in memory."""
    used, first = np.unique(triangles, return_index=True)
    order = used[np.argsort(first)]
    place = np.empty(len(points), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return points[order], place[triangles]
