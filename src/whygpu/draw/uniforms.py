"""What is the same for all vertices of a node, or for all pixels of a frame (a shader's uniforms).

The matrices are chained here, as small products of the engine, and then made *exact*: see ``exact``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.camera import projection_matrix, rays, view_matrix
from whygpu.draw.fast.rules import GUARD, HALF, POSITION_BITS
from whygpu.draw.light import Background, Light
from whygpu.draw.material import Color
from whygpu.draw.nodes import Nodes
from whygpu.draw.scene import Camera, Scene
from whygpu.draw.shadow import Shadows, map_side, shadows
from whygpu.engine import current, matmul

__all__ = ["Options", "Uniforms", "exact", "of_shadows", "uniforms"]

Matrix = NDArray[np.float64]
Floats = NDArray[np.float32]

LAMP = 16
"""Floats a light takes; see ``Uniforms.lamps``."""
KINDS = {"directional": 0, "point": 1, "spot": 2}

# The default lights, in eye space (x right, y up, z to the eye): key, fill, rim.
DEFAULT_LIGHTS = (
    Light((0.55, -0.75, -0.65), (0.86, 0.82, 0.76)),
    Light((-0.85, -0.10, -0.45), (0.27, 0.29, 0.33), casts_shadow=False),
    Light((-0.35, -0.45, 0.85), (0.55, 0.60, 0.70), casts_shadow=False),
)


@dataclass(frozen=True)
class Options:
    """What a frame is asked for beside scene, camera, size and background."""

    shadows: bool = False
    samples: int = 1
    """A pixel: 1, 4 or 16."""
    exposure: float = 0.0
    """In stops: each makes everything twice as bright."""
    normals: bool = False
    """Whether the frame carries normals."""
    lights: tuple[Light, ...] | None = None
    """In place of the scene's."""


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
    """(nodes,): 1 where backs are drawn; -1 where nothing is, since the node is not opaque."""
    mixed: NDArray[np.int64]
    """(nodes,): the same for the nodes that are not opaque: -1 where a node is."""
    material: Floats
    """(nodes, 16): base colour, metallic, emissive, roughness, alpha, alpha cutoff, alpha mode, whether it is
    unlit, normal scale, occlusion strength, exposure of what is unlit, specular factor."""
    linear: Floats
    """(nodes, 3, 3): a tangent times this is the tangent in the world."""
    viewport: Matrix
    """(6,): scale and centre of x and y in sub-pixel units, the guard band in clip space for x and y."""
    depth_scale: float
    """What w is multiplied by, to stay within float32."""
    rays: Floats
    """(3, 3): see ``camera.rays``."""
    sight: Matrix
    """(6, 3): a pixel (x, y) shows what lies at rows[0] + x rows[1] + y rows[2] plus a distance times
    (rows[3] + x rows[4] + y rows[5]), in the world."""
    distance: Matrix
    """(2,): the distance is the first plus the second times w (of an orthographic camera: times depth)."""
    orthographic: bool
    lights: Floats
    """(lights, 6): the unit vector to the light and its colour, in the world."""
    lamps: Matrix
    """(lights, 16): the same, then kind (0 directional, 1 point, 2 spot), position, 1 / reach, scale and
    offset of the cosine of a spot's cone, first shadow map (-1: none), size of a texel of it: a constant, and
    for a unit of distance. A spot's vector points against its axis."""
    shadows: Shadows
    located: bool
    """Whether the light depends on where in the world a pixel lies."""
    samples: int
    normals: bool
    """Whether the frame carries normals."""
    full: bool
    """Whether pixels need more than directional light on opaque surfaces without textures."""
    ambient: Floats
    """(2, 3): mean of sky and ground, half their difference."""
    background: NDArray[np.uint8]
    """(height, 4): sRGB of each row where nothing is."""


def uniforms(
    scene: Scene,
    camera: Camera,
    width: int,
    height: int,
    background: Background,
    options: Options | None = None,
) -> Uniforms:
    """Chain model, view and projection of every node and gather the rest."""
    options, nodes = options or Options(), scene.geometry.nodes
    view = view_matrix(camera)
    world_to_clip = _product(projection_matrix(camera, width / height), view, "projection-view matrix")
    chained = _product(world_to_clip, nodes.transforms, "model-view-projection matrix")  # (nodes, 4, 4)
    clip, grid = exact(chained.transpose(0, 2, 1), nodes.reach)
    gain = 2.0**options.exposure
    lights = _in_world(scene.lights if options.lights is None else options.lights, view)
    casting = [options.shadows and light.casts_shadow for light in lights]
    maps = shadows(lights, casting, scene.geometry.bounds, map_side(width, height))
    towards = rays(camera, width, height)
    sight, distance = _sight(camera, width, height, towards)
    rows = _lights(tuple(lights), gain)
    return Uniforms(
        width=width,
        height=height,
        clip=clip,
        grid=grid,
        normal=nodes.normal,
        flip=nodes.flip,
        double_sided=np.where(nodes.opaque, nodes.double_sided, -1),
        mixed=np.where(nodes.opaque, -1, nodes.double_sided),
        material=_materials(nodes, gain),
        linear=nodes.linear,
        viewport=_viewport(width, height),
        depth_scale=1.0 if camera.height is not None else 1.0 / camera.far,
        rays=towards.astype(np.float32),
        sight=sight,
        distance=distance,
        orthographic=camera.height is not None,
        lights=rows,
        lamps=_lamps(lights, rows, maps),
        ambient=_ambient(scene.sky, scene.ground, gain),
        background=_rows(background, height),
        shadows=maps,
        located=bool(maps.cameras) or any(light.kind != "directional" for light in lights),
        samples=options.samples,
        normals=options.normals,
        full=nodes.full or _is_full(lights, maps, options),
    )


def of_shadows(scene: Scene, constants: Uniforms) -> list[Uniforms]:
    """The constants with which each shadow map is drawn: all that is not blended, backs and fronts alike."""
    drawn = np.where(scene.geometry.nodes.casts, 1, -1)
    side, nothing = constants.shadows.side, Background()
    plain = Options(lights=())
    return [
        replace(uniforms(scene, camera, side, side, nothing, plain), double_sided=drawn)
        for camera in constants.shadows.cameras
    ]


def _is_full(lights: Sequence[Light], maps: Shadows, options: Options) -> bool:
    """Whether the shading needs more than normals, colours and directional lights."""
    return (
        bool(maps.cameras)
        or options.samples > 1
        or options.normals
        or any(light.kind != "directional" for light in lights)
    )


def _materials(nodes: Nodes, gain: float) -> Floats:
    """What emits light and what is unlit is exposed here, the rest by its lights."""
    rows = nodes.materials.copy()
    rows[:, [4, 5, 6, 14]] *= gain
    return rows.astype(np.float32)


def _sight(camera: Camera, width: int, height: int, towards: Matrix) -> tuple[Matrix, Matrix]:
    """How a pixel and a distance give a place in the world; ``towards``: the camera's rays."""
    eye = np.asarray(camera.eye, np.float64)
    zero = np.zeros((2, 3))
    if camera.height is None:
        return np.concatenate([eye[None], zero, -towards]), np.array([0.0, camera.far])
    right, up = view_matrix(camera)[:2, :3]
    step = camera.height / height  # a pixel's side
    corner = eye - right * (width / 2 - 0.5) * step + up * (height / 2 - 0.5) * step
    place = np.stack([corner, right * step, -up * step, -towards[0]])
    return np.concatenate([place, zero]), np.array([camera.near, camera.far - camera.near])


def exact(matrix: Matrix, reach: Matrix) -> tuple[Matrix, Matrix]:
    """Round row-vector clip matrices (n, 4, 4) so that every product with them is exact in float64.

    A sum of rounded products depends on the order in which hardware adds, and BLAS, PyTorch, a GPU and
    our kernels add in different orders: pixels would differ. So each axis' coordinates are rounded to a
    grid with ``POSITION_BITS`` bits below the mesh's ``reach`` there (float32 has 24), and the matrix so
    that all products of a column are multiples of one step and no partial sum needs more than float64's 53
    bits. Then no addition rounds, and the order does not matter. The matrix moves by less than 2**-26 of a
    column's largest term: a camera a hair elsewhere, the same for all vertices.

    Returns
    -------
    matrix, grid
        The rounded matrices; ``(p + grid) - grid`` rounds coordinates (..., 3) to their grids.
    """
    exponents = np.frexp(reach)[1]  # reach <= 2**exponent
    units = np.ldexp(1.0, exponents - POSITION_BITS)  # (n, 3)
    linear, moved = matrix[:, :3], matrix[:, 3]
    bound = np.ldexp(np.abs(linear), exponents[:, :, None]).sum(1) + np.abs(moved)  # (n, 4)
    step = np.ldexp(1.0, np.frexp(bound)[1] - 52)  # of the sums in a column
    steps = step[:, None, :] / units[:, :, None]
    rounded = np.concatenate([np.round(linear / steps) * steps, (np.round(moved / step) * step)[:, None]], 1)
    return rounded, 1.5 * np.ldexp(units, 52)


def _product(a: Matrix, b: Matrix, name: str) -> Matrix:
    """A small product on the current backend, back in NumPy: (4, 4) @ (..., 4, 4)."""
    backend = current()
    product = matmul(backend.asarray(a, "float64"), backend.asarray(b, "float64"), name=name)
    result: Matrix = np.asarray(backend.to_numpy(product), np.float64)
    return result


def _viewport(width: int, height: int) -> Matrix:
    """y points down in a picture and up in clip space."""
    sx, sy = float(width * HALF), float(height * HALF)
    return np.array([sx, sx, -sy, sy, 2.0 * GUARD / width, 2.0 * GUARD / height])


def _in_world(lights: Sequence[Light] | None, view: Matrix) -> Sequence[Light]:
    """The lights; the default ones move with the eye."""
    if lights is not None:
        return lights
    turn = view[:3, :3].T  # from eye space to the world
    return [replace(light, direction=tuple((turn @ light.direction).tolist())) for light in DEFAULT_LIGHTS]


@functools.lru_cache(16)
def _lights(lights: tuple[Light, ...], gain: float) -> Floats:
    rows = []
    for light in lights:
        towards = -np.asarray(light.direction, np.float64)
        rows.append([*(towards / np.linalg.norm(towards)), *(np.asarray(light.color) * gain)])
    return np.array(rows, np.float32).reshape(-1, 6)


def _lamps(lights: Sequence[Light], vectors: Floats, maps: Shadows) -> Matrix:
    rows = np.zeros((len(lights), LAMP))
    rows[:, :6] = vectors
    for row, light, first, texel in zip(rows, lights, maps.first, maps.texel, strict=True):
        inner, outer = (math.cos(math.radians(angle)) for angle in (light.inner, light.outer))
        scale = 1 / max(0.001, inner - outer)  # KHR_lights_punctual
        row[6:] = (
            KINDS[light.kind], *light.position, 1 / light.reach, scale, -outer * scale, first, *texel,
        )  # fmt: skip
    return rows


@functools.lru_cache(16)
def _ambient(sky: Color, ground: Color, gain: float) -> Floats:
    above, below = np.asarray(sky), np.asarray(ground)
    return np.stack([above + below, above - below]).astype(np.float32) / np.float32(2) * np.float32(gain)


@functools.lru_cache(8)
def _rows(background: Background, height: int) -> NDArray[np.uint8]:
    down = (np.arange(height) + 0.5)[:, None] / height
    colors = np.asarray(background.top) * (1 - down) + np.asarray(background.bottom) * down  # (height, 4)
    rows: NDArray[np.uint8] = np.round(np.clip(colors, 0, 1) * 255).astype(np.uint8)
    return rows
