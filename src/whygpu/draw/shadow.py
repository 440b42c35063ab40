"""Cameras that look from the lights: what they see is lit, the rest is in shadow (Williams, 1978).

A directional light sees the scene through an orthographic camera fitted to it, a spot light through a
perspective one, a point light through six, the faces of a cube.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.camera import projection_matrix, view_matrix
from whygpu.draw.light import Light
from whygpu.draw.scene import Camera

__all__ = ["Shadows", "map_side", "shadows"]

Matrix = NDArray[np.float64]

MARGIN = 4
"""Texels that a map shows beyond what it must, for the filter."""
MIN_SIDE, MAX_SIDE = 256, 2048
_AXES = [
    (sign * float(i == 0), sign * float(i == 1), sign * float(i == 2)) for i in range(3) for sign in (1, -1)
]


@dataclass(frozen=True, eq=False)
class Shadows:
    """All shadow maps of a frame."""

    side: int
    """Texels along a map's side."""
    cameras: tuple[Camera, ...]
    """One a map."""
    matrices: Matrix
    """(maps, 4, 4): times (x, y, z, 1) in the world is (column w, row w, depth w, w) in the map."""
    first: tuple[int, ...]
    """Of each light its first map; -1: it casts no shadow."""
    texel: tuple[tuple[float, float], ...]
    """Of each light a texel's size in the world: a constant, and what it grows for a unit of distance."""


def map_side(width: int, height: int) -> int:
    """Texels along the side of a shadow map: a few more than the picture has pixels."""
    side = int(1.2 * max(width, height)) // 64 * 64
    return min(max(side, MIN_SIDE), MAX_SIDE)


def shadows(lights: Sequence[Light], casting: Sequence[bool], corners: Matrix, side: int) -> Shadows:
    """Cameras for the lights that are ``casting`` shadows; ``corners`` (n, 3) of boxes enclose the scene."""
    cameras: list[Camera] = []
    first, texel = [], []
    for light, casts in zip(lights, casting, strict=True):
        own, size = _cameras(light, corners, side) if casts else ([], (0.0, 0.0))
        first.append(len(cameras) if own else -1)
        texel.append(size)
        cameras += own
    if not cameras:
        return Shadows(side, (), np.empty((0, 4, 4)), tuple(first), tuple(texel))
    to_map = np.array(
        [[side / 2, 0, 0, side / 2], [0, -side / 2, 0, side / 2], [0, 0, 0.5, 0.5], [0, 0, 0, 1]]
    )
    matrices = [to_map @ projection_matrix(camera, 1.0) @ view_matrix(camera) for camera in cameras]
    return Shadows(side, tuple(cameras), np.array(matrices), tuple(first), tuple(texel))


def _cameras(light: Light, corners: Matrix, side: int) -> tuple[list[Camera], tuple[float, float]]:
    if light.kind == "directional":
        return _sun(light, corners, side)
    eye = np.asarray(light.position, np.float64)
    farthest = float(np.linalg.norm(corners - eye, axis=1).max()) or 1.0
    far = min(light.reach, farthest * 1.01)
    near = far * 2e-3
    if light.kind == "spot":
        half = math.tan(math.radians(min(light.outer, 80.0))) * side / (side - 2 * MARGIN)
        directions = [tuple(np.asarray(light.direction) / np.linalg.norm(light.direction))]
    else:
        half = side / (side - 2 * MARGIN)
        directions = list(_AXES)
    fov = 2 * math.degrees(math.atan(half))
    step = max(1.0, float(np.abs(eye).max()))  # so long that adding it to a far eye is not lost
    cameras = [
        Camera(tuple(eye), tuple(eye + step * np.asarray(d)), _up(d), fov, near, far, name="shadow")
        for d in directions
    ]
    return cameras, (0.0, 2 * half / side)


def _sun(light: Light, corners: Matrix, side: int) -> tuple[list[Camera], tuple[float, float]]:
    """An orthographic camera just large enough for the scene."""
    along = np.asarray(light.direction, np.float64)
    along = along / np.linalg.norm(along)
    up = _up(tuple(along))
    turned = (
        view_matrix(Camera((0.0, 0.0, 0.0), tuple(along), up))[:3, :3] @ corners.T
    )  # (3, n), z to the light
    low, high = turned.min(1), turned.max(1)
    extent = max(float((high - low)[:2].max()), 1e-3 * float(high[2] - low[2]), 1e-30)
    height = extent * side / (side - 2 * MARGIN)
    deep = max(float(high[2] - low[2]), extent)
    turn = view_matrix(Camera((0.0, 0.0, 0.0), tuple(along), up))[:3, :3]
    middle = (low + high) / 2
    eye = turn.T @ np.array([middle[0], middle[1], high[2] + 0.01 * deep])
    camera = Camera(
        tuple(eye), tuple(eye + along * deep), up, near=0.0, far=1.03 * deep, height=height, name="shadow"
    )
    return [camera], (height / side, 0.0)


def _up(direction: Sequence[float]) -> tuple[float, float, float]:
    """An up direction that is not along ``direction``."""
    return (0.0, 0.0, 1.0) if abs(direction[1]) > 0.9 * float(np.linalg.norm(direction)) else (0.0, 1.0, 0.0)
