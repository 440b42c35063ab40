"""A cube: 12 triangles; 24 vertices, since each of its 8 corners has three normals."""

from __future__ import annotations

import numpy as np

from whygpu.draw.material import Material
from whygpu.draw.mesh import Mesh

__all__ = ["cube"]

# Linear RGB by face: +x, -x, +y, -y, +z, -z.
FACES = (
    (0.85, 0.16, 0.06),
    (0.62, 0.30, 0.03),
    (0.90, 0.62, 0.10),
    (0.10, 0.35, 0.60),
    (0.02, 0.36, 0.42),
    (0.25, 0.10, 0.45),
)


def cube(side: float = 2.0, material: Material | None = None) -> Mesh:
    """A cube about the origin with one colour a face."""
    positions, normals, colors = [], [], []
    for face, color in enumerate(FACES):
        axis, sign = face // 2, 1 - 2 * (face % 2)
        normal = np.zeros(3)
        normal[axis] = sign
        right = np.roll(np.abs(normal), 1)
        up = np.cross(normal, right)  # right, up, normal are right-handed
        for u, v in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
            positions.append((normal + u * right + v * up) * side / 2)
            normals.append(normal)
            colors.append(color)
    first = 4 * np.arange(6)[:, None, None]
    triangles = (first + np.array([[0, 1, 2], [0, 2, 3]])).reshape(-1, 3)
    return Mesh(
        np.array(positions, np.float32),
        triangles.astype(np.int32),
        np.array(normals, np.float32),
        np.array(colors, np.float32),
        material or Material((1.0, 1.0, 1.0), roughness=0.4),
        "cube",
    )
