"""A penguin that waves: about 50,000 vertices and 100,000 triangles, the size of a game's character."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.light import Background
from whygpu.draw.material import Material
from whygpu.draw.mesh import Mesh
from whygpu.draw.scene import Node, Scene, View
from whygpu.draw.shapes.surface import smooth_union, surface_nets

__all__ = ["character"]

Floats = NDArray[np.float32]

# Linear RGB.
COAT, BELLY = (0.020, 0.028, 0.050), (0.86, 0.84, 0.80)
ORANGE, BLUSH = (0.90, 0.30, 0.03), (0.85, 0.30, 0.25)
SCARF, EYE = (0.70, 0.035, 0.035), (0.006, 0.006, 0.008)

SKY = Background((0.45, 0.62, 0.74, 1.0), (0.86, 0.90, 0.90, 1.0))

EYES = ((-0.205, 1.66, 0.465), (0.205, 1.66, 0.465))


def character() -> Scene:
    """The scene, seen from the front, a little from the side and from above."""
    positions, triangles, normals = surface_nets(_figure, (-1.25, -0.12, -0.85), (1.25, 2.30, 1.10), 0.01702)
    body = Mesh(
        positions,
        triangles,
        normals,
        _colors(positions),
        Material((1.0, 1.0, 1.0), roughness=0.45),
        "penguin",
    )
    return Scene((Node(body),), view=View(18.0, 9.0, 30.0), background=SKY, name="character")


def _ellipsoid(
    x: Floats, y: Floats, z: Floats, center: tuple[float, ...], radii: tuple[float, ...]
) -> Floats:
    """About the distance to an ellipsoid: exact at its surface, right in direction."""
    px, py, pz = ((v - np.float32(c)) for v, c in zip((x, y, z), center, strict=True))
    rx, ry, rz = (np.float32(r) for r in radii)
    near = np.sqrt((px / rx) ** 2 + (py / ry) ** 2 + (pz / rz) ** 2)
    far = np.sqrt((px / rx**2) ** 2 + (py / ry**2) ** 2 + (pz / rz**2) ** 2)
    distance: Floats = near * (near - 1) / np.maximum(far, np.float32(1e-4))
    return distance


def _capsule(
    x: Floats, y: Floats, z: Floats, a: tuple[float, ...], b: tuple[float, ...], ra: float, rb: float
) -> Floats:
    """About the distance to a round cone from ``a`` to ``b``."""
    along = np.subtract(b, a).astype(np.float32)
    px, py, pz = ((v - np.float32(c)) for v, c in zip((x, y, z), a, strict=True))
    t = np.clip((px * along[0] + py * along[1] + pz * along[2]) / np.float32(along @ along), 0, 1)
    gap = np.sqrt((px - t * along[0]) ** 2 + (py - t * along[1]) ** 2 + (pz - t * along[2]) ** 2)
    distance: Floats = gap - (np.float32(ra) + t * np.float32(rb - ra))
    return distance


def _flipper(x: Floats, y: Floats, z: Floats, side: int) -> Floats:
    """A flat wing: the left one hangs, the right one (side -1, to the viewer's left) waves."""
    if side < 0:
        a, b = (-0.56, 1.18, 0.02), (-1.03, 1.72, 0.10)
    else:
        a, b = (0.57, 1.15, 0.02), (0.86, 0.52, 0.12)
    stretched = (z - np.float32(0.06)) * np.float32(1.9) + np.float32(0.06)  # flat: half as thick as wide
    return _capsule(x, y, stretched, a, b, 0.19, 0.10) * np.float32(0.6)


def _feet(x: Floats, y: Floats, z: Floats) -> Floats:
    parts = []
    for side in (-1.0, 1.0):
        for toe in (-0.10, 0.0, 0.10):
            start, end = (side * 0.27, 0.06, 0.18), (side * 0.30 + toe * 1.6, 0.035, 0.56 - abs(toe) * 0.5)
            parts.append(_capsule(x, y, z, start, end, 0.105, 0.075))
    return functools.reduce(lambda a, b: smooth_union(a, b, 0.06), parts)


def _beak(x: Floats, y: Floats, z: Floats) -> Floats:
    return _capsule(x * np.float32(0.8), y, z, (0.0, 1.515, 0.46), (0.0, 1.475, 0.74), 0.095, 0.022)


def _scarf(x: Floats, y: Floats, z: Floats) -> Floats:
    """A ring about the neck and an end that hangs down in front."""
    tilt = y - np.float32(1.235) + np.float32(0.10) * z
    ring = np.sqrt(
        (np.sqrt(x**2 + (z * np.float32(1.06)) ** 2) - np.float32(0.515)) ** 2 + tilt**2
    ) - np.float32(0.105)
    tail = _capsule(x, y, z * np.float32(1.0), (0.22, 1.20, 0.55), (0.31, 0.76, 0.665), 0.085, 0.10)
    knot = _ellipsoid(x, y, z, (0.21, 1.215, 0.56), (0.115, 0.115, 0.10))
    return smooth_union(smooth_union(ring, tail, 0.06), knot, 0.05)


def _skin(x: Floats, y: Floats, z: Floats) -> Floats:
    """Body, head, flippers and tail in one smooth surface."""
    body = _ellipsoid(x, y, z, (0.0, 0.72, 0.0), (0.66, 0.78, 0.58))
    head = _ellipsoid(x, y, z, (0.0, 1.62, 0.04), (0.50, 0.47, 0.47))
    skin = smooth_union(body, head, 0.30)
    for side in (-1, 1):
        skin = smooth_union(skin, _flipper(x, y, z, side), 0.16)
    tail = _capsule(x, y, z, (0.0, 0.22, -0.42), (0.0, 0.10, -0.70), 0.16, 0.05)
    tuft = _capsule(x, y, z, (0.0, 2.05, 0.02), (0.03, 2.19, -0.06), 0.055, 0.024)
    return smooth_union(smooth_union(skin, tail, 0.14), tuft, 0.10)


def _eyes(x: Floats, y: Floats, z: Floats) -> Floats:
    return np.minimum(*(_ellipsoid(x, y, z, eye, (0.062, 0.080, 0.040)) for eye in EYES))


def _figure(x: Floats, y: Floats, z: Floats) -> Floats:
    """The whole penguin as one distance function."""
    figure = smooth_union(_skin(x, y, z), _feet(x, y, z), 0.08)
    figure = smooth_union(figure, _beak(x, y, z), 0.05)
    figure = smooth_union(figure, _scarf(x, y, z), 0.12)
    return smooth_union(figure, _eyes(x, y, z), 0.04)


def _colors(positions: Floats) -> Floats:
    """Linear RGB of each vertex, (V, 3): by part, edges as soft as the mesh is fine."""
    x, y, z = positions.T
    color: Floats = np.tile(np.array(COAT, np.float32), (len(positions), 1))

    def paint(where: Floats, with_: tuple[float, float, float]) -> None:
        amount = np.clip(where, 0, 1)[:, None]
        color[:] = color * (1 - amount) + np.array(with_, np.float32) * amount

    soft = np.float32(0.022)
    front = np.clip((z - 0.12) / 0.10, 0, 1)
    belly = 1 - np.sqrt((x / 0.50) ** 2 + ((y - 0.66) / 0.62) ** 2)
    paint(np.minimum(belly / (2.2 * soft), front), BELLY)
    for side in (-1, 1):  # the heart-shaped face
        face = 1 - np.sqrt(((x - side * 0.175) / 0.235) ** 2 + ((y - 1.60) / 0.285) ** 2)
        paint(np.minimum(face / (4 * soft), front), BELLY)
        cheek = 1 - np.sqrt(((x - side * 0.30) / 0.085) ** 2 + ((y - 1.49) / 0.06) ** 2)
        paint(0.55 * np.minimum(np.clip(cheek * 1.5, 0, 1), front), BLUSH)
    paint((soft - _beak(x, y, z)) / soft, ORANGE)
    paint((soft - _feet(x, y, z)) / soft, ORANGE)
    paint((soft - _scarf(x, y, z)) / soft, SCARF)
    paint((soft - _eyes(x, y, z)) / soft * 1.5 - 0.5, EYE)
    for eye in EYES:  # a glint
        dx, dy = x - eye[0] - 0.022, y - eye[1] - 0.030
        paint(np.where(z > 0.3, (0.020 - np.sqrt(dx**2 + dy**2)) / 0.012, 0), (0.95, 0.95, 0.95))
    return color
