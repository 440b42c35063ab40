"""What is the same for all vertices of a node, or for all pixels of a frame (a shader's uniforms).

The matrices are chained here, as small products of the engine, and then made *exact*: see ``exact``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.camera import cross, projection_matrix, rays, view_matrix
from whygpu.draw.fast.rules import GUARD, HALF, POSITION_BITS
from whygpu.draw.light import Background, Light
from whygpu.draw.scene import Camera, Scene
from whygpu.engine import current, matmul

__all__ = ["Uniforms", "exact", "uniforms"]

Matrix = NDArray[np.float64]
Floats = NDArray[np.float32]

MATERIAL = 8
"""Floats a node's material takes: base colour, metallic, emissive, roughness."""

# The default lights, in eye space (x right, y up, z to the eye): key, fill, rim.
DEFAULT_LIGHTS = (
    Light((0.55, -0.75, -0.65), (0.86, 0.82, 0.76)),
    Light((-0.85, -0.10, -0.45), (0.27, 0.29, 0.33)),
    Light((-0.35, -0.45, 0.85), (0.55, 0.60, 0.70)),
)


@dataclass(frozen=True, eq=False)
class Uniforms:
    """One frame's constants, all C-contiguous."""

    width: int
    height: int
    clip: Matrix
    """(nodes, 4, 4): (x, y, z, 1) in a mesh's space times this is clip space; exact, see ``exact``."""
    grid: Matrix
    """(nodes, 3): adding and subtracting this rounds a coordinate to its axis' grid."""
    normal: Matrix
    """(nodes, 3, 3): a normal times this is the normal in the world, not yet of length 1."""
    flip: NDArray[np.int64]
    """(nodes,): 1 where the transform mirrors, so that front faces wind clockwise."""
    double_sided: NDArray[np.int64]
    """(nodes,): 1 where backs are drawn."""
    material: Floats
    """(nodes, 8): base colour, metallic, emissive, roughness."""
    viewport: Matrix
    """(6,): scale and centre of x and y in sub-pixel units, the guard band in clip space for x and y."""
    depth_scale: float
    """What w is multiplied by, to stay within float32."""
    rays: Floats
    """(3, 3): see ``camera.rays``."""
    lights: Floats
    """(lights, 6): the unit vector to the light and its colour, in the world."""
    ambient: Floats
    """(2, 3): mean of sky and ground, half their difference."""
    background: NDArray[np.uint8]
    """(height, 4): sRGB of each row where nothing is."""


def uniforms(scene: Scene, camera: Camera, width: int, height: int, background: Background) -> Uniforms:
    """Chain model, view and projection of every node and gather the rest."""
    view = view_matrix(camera)
    world_to_clip = _product(projection_matrix(camera, width / height), view, "projection-view matrix")
    nodes = len(scene.nodes)
    clip, grid = np.zeros((nodes, 4, 4)), np.zeros((nodes, 3))
    normal, flip = np.zeros((nodes, 3, 3)), np.zeros(nodes, np.int64)
    double_sided = np.array([node.mesh.material.double_sided for node in scene.nodes], np.int64)
    material = np.zeros((nodes, MATERIAL), np.float32)
    for i, node in enumerate(scene.nodes):
        chained = _product(world_to_clip, node.transform, "model-view-projection matrix")
        clip[i], grid[i] = exact(chained.T, node.mesh.reach)
        linear = node.transform[:3, :3]
        normal[i], flip[i] = _cofactors(linear)
        look = node.mesh.material
        material[i] = *look.base_color, look.metallic, *look.emissive, look.roughness
    return Uniforms(
        width,
        height,
        clip,
        grid,
        normal,
        flip,
        double_sided,
        material,
        _viewport(width, height),
        1.0 if camera.height is not None else 1.0 / camera.far,
        rays(camera, width, height).astype(np.float32),
        _lights(scene, view),
        _ambient(scene),
        _rows(background, height),
    )


def exact(matrix: Matrix, reach: Matrix) -> tuple[Matrix, Matrix]:
    """Round a row-vector clip matrix (4, 4) so that every product with it is exact in float64.

    A sum of rounded products depends on the order in which hardware adds, and BLAS, PyTorch, a GPU and
    our kernels add in different orders: pixels would differ. So each axis' coordinates are rounded to a
    grid with ``POSITION_BITS`` bits below the mesh's ``reach`` there (float32 has 24), and the matrix so
    that all products of a column are multiples of one step and no partial sum needs more than float64's 53
    bits. Then no addition rounds, and the order does not matter. The matrix moves by less than 2**-26 of a
    column's largest term: a camera a hair elsewhere, the same for all vertices.

    Returns
    -------
    matrix, grid
        The rounded matrix; ``(p + grid) - grid`` rounds coordinates (..., 3) to their grids.
    """
    exponents = np.frexp(reach)[1]  # reach <= 2**exponent
    units = np.ldexp(1.0, exponents - POSITION_BITS)  # (3,)
    rounded = np.zeros((4, 4))
    for j in range(4):
        bound = float(np.ldexp(np.abs(matrix[:3, j]), exponents).sum()) + abs(float(matrix[3, j]))
        step = math.ldexp(1.0, math.frexp(bound)[1] - 52)  # of the sums in this column
        rounded[:3, j] = np.round(matrix[:3, j] / (step / units)) * (step / units)
        rounded[3, j] = np.round(matrix[3, j] / step) * step
    return rounded, 1.5 * np.ldexp(units, 52)


def _product(a: Matrix, b: Matrix, name: str) -> Matrix:
    """A small product on the current backend, back in NumPy: (4, 4) @ (4, 4)."""
    backend = current()
    product = matmul(backend.asarray(a, "float64"), backend.asarray(b, "float64"), name=name)
    result: Matrix = np.asarray(backend.to_numpy(product), np.float64)
    return result


def _cofactors(linear: Matrix) -> tuple[Matrix, bool]:
    """What turns normals, (3, 3) for row vectors, and whether the transform mirrors.

    The cofactors are the inverse transpose times the determinant; they exist where the inverse does not.
    """
    a, b, c = linear
    cofactors = np.stack([cross(b, c), cross(c, a), cross(a, b)])
    mirrors = float(a @ cofactors[0]) < 0
    largest = float(np.abs(cofactors).max())
    scaled: Matrix = (cofactors / largest if largest > 0 else np.eye(3)).T
    return -scaled if mirrors else scaled, mirrors


def _viewport(width: int, height: int) -> Matrix:
    """y points down in a picture and up in clip space."""
    sx, sy = float(width * HALF), float(height * HALF)
    return np.array([sx, sx, -sy, sy, 2.0 * GUARD / width, 2.0 * GUARD / height])


def _lights(scene: Scene, view: Matrix) -> Floats:
    lights = DEFAULT_LIGHTS if scene.lights is None else scene.lights
    rows = []
    for light in lights:
        towards = -np.asarray(light.direction, np.float64)
        if scene.lights is None:
            towards = view[:3, :3].T @ towards  # from eye space to the world
        rows.append([*(towards / np.linalg.norm(towards)), *light.color])
    return np.array(rows, np.float32).reshape(-1, 6)


def _ambient(scene: Scene) -> Floats:
    sky, ground = np.asarray(scene.sky), np.asarray(scene.ground)
    return np.stack([sky + ground, sky - ground]).astype(np.float32) / np.float32(2)


def _rows(background: Background, height: int) -> NDArray[np.uint8]:
    down = (np.arange(height) + 0.5)[:, None] / height
    colors = np.asarray(background.top) * (1 - down) + np.asarray(background.bottom) * down  # (height, 4)
    rows: NDArray[np.uint8] = np.round(np.clip(colors, 0, 1) * 255).astype(np.uint8)
    return rows
