"""The landscape's ground: a lake before a mountain, coloured by height and slope, with baked light."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.material import Material
from whygpu.draw.mesh import Mesh
from whygpu.draw.shapes.noise import fractal

__all__ = ["BASE", "SIDE", "SUN", "Ground", "ground", "ground_mesh", "walls", "water"]

Floats = NDArray[np.float64]

SIDE = 10.0
"""Half the side of the square."""
BASE = -1.3
"""How deep the block is cut."""
SUN = np.array([-0.62, 0.55, 0.42]) / np.linalg.norm([-0.62, 0.55, 0.42])
"""Towards the sun."""

# Linear RGB.
SAND, GRASS, MEADOW = (0.52, 0.40, 0.22), (0.085, 0.17, 0.030), (0.20, 0.27, 0.055)
ROCK, DARK_ROCK, SNOW = (0.23, 0.20, 0.175), (0.115, 0.105, 0.10), (0.84, 0.88, 0.94)
EARTH, CLAY = (0.155, 0.085, 0.045), (0.30, 0.17, 0.085)


@dataclass(frozen=True, eq=False)
class Ground:
    """Heights on a square grid, (n, n), rows along z and columns along x."""

    x: Floats
    z: Floats
    height: Floats
    slope: Floats
    """Rise over run."""

    def at(self, grid: Floats, x: Floats, z: Floats) -> Floats:
        """Nearest value of a grid at positions."""
        n = len(self.x)
        i, j = (np.clip(np.round((v + SIDE) / (2 * SIDE) * (n - 1)).astype(int), 0, n - 1) for v in (z, x))
        found: Floats = grid[i, j]
        return found


def ground(points: int) -> Ground:
    """Make the heights: ``points`` along each side. Height 0 is the lake's level."""
    axis = np.linspace(-SIDE, SIDE, points)
    x, z = axis[None, :], axis[:, None]
    warp_x = x + 0.9 * fractal(x * 0.25 + 7, z * 0.25, 3, 40)
    warp_z = z + 0.9 * fractal(x * 0.25, z * 0.25 + 3, 3, 50)
    peak = np.exp(-(((warp_x - 2.6) / 4.2) ** 2 + ((warp_z + 4.6) / 3.7) ** 2))
    second = np.exp(-(((warp_x + 5.6) / 2.9) ** 2 + ((warp_z + 6.0) / 2.6) ** 2))
    crest = fractal(warp_x * 0.30, warp_z * 0.30, 8, 3, ridged=True)
    hills = fractal(x * 0.22, z * 0.22, 6, 9)
    height = 0.55 + 0.75 * hills + peak * (3.6 + 1.9 * crest) + second * (1.9 + 1.2 * crest)
    lake = np.exp(-(((warp_x + 1.6) / 5.4) ** 2 + ((warp_z - 4.6) / 3.4) ** 2))
    height = height - 1.9 * lake - 0.10 * np.abs(crest) * (1 - peak)
    shore = np.sign(height) * np.abs(height) ** 1.12  # flatter beaches
    step = axis[1] - axis[0]
    down, across = np.gradient(shore, step)
    return Ground(axis, axis, np.maximum(shore, BASE + 0.4), np.hypot(down, across))


def ground_mesh(land: Ground, shadow: Floats) -> Mesh:
    """The ground's surface; ``shadow`` (n, n) is how much of the sun is hidden."""
    n = len(land.x)
    x, z = np.meshgrid(land.x, land.z)
    i, j = np.meshgrid(np.arange(n - 1), np.arange(n - 1), indexing="ij")
    a = i * n + j
    b, c, d = a + 1, a + n, a + n + 1
    triangles = np.stack([a, c, b, b, c, d], axis=-1).reshape(-1, 3)
    positions = np.stack([x, land.height, z], axis=-1).reshape(-1, 3)
    colors = _cover(land, x, z) * _light(land, shadow)[..., None]
    return Mesh(
        positions,
        triangles,
        colors=colors.reshape(-1, 3).astype(np.float32),
        material=Material((1, 1, 1), roughness=0.9),
        name="ground",
    )


def water(land: Ground, shadow: Floats, points: int) -> Mesh:
    """The lake: a grid at height 0 with small waves, lighter where it is shallow."""
    axis = np.linspace(-SIDE, SIDE, points)
    x, z = np.meshgrid(axis, axis)
    bed = land.at(land.height, x, z)
    depth = np.clip(-bed, 0, 2)
    deep, shallow = np.array([0.004, 0.050, 0.085]), np.array([0.07, 0.30, 0.27])
    blend = np.exp(-depth * 3.2)[..., None]
    foam = (np.clip(0.045 - depth, 0, 0.045) / 0.045)[..., None] * 0.45
    colors = (deep * (1 - blend) + shallow * blend) * (1 - foam) + foam * 0.8
    colors = colors * (1 - 0.45 * land.at(shadow, x, z))[..., None]
    ripple = 0.055 * fractal(x * 1.7, z * 3.1, 3, 70)
    down, across = np.gradient(ripple, axis[1] - axis[0])
    normals = np.stack([-across, np.ones_like(x), -down], axis=-1)
    i, j = np.meshgrid(np.arange(points - 1), np.arange(points - 1), indexing="ij")
    a = i * points + j
    b, c, d = a + 1, a + points, a + points + 1
    wet = (
        np.minimum(np.minimum(bed.ravel()[a], bed.ravel()[b]), np.minimum(bed.ravel()[c], bed.ravel()[d]))
        < 0.05
    )
    triangles = np.stack([a, c, b, b, c, d], axis=-1)[wet].reshape(-1, 3)
    used, renumbered = np.unique(triangles, return_inverse=True)
    positions = np.stack([x, np.zeros_like(x), z], axis=-1).reshape(-1, 3)
    return Mesh(
        positions[used],
        renumbered.reshape(-1, 3).astype(np.int32),
        normals.reshape(-1, 3)[used],
        colors.reshape(-1, 3)[used],
        Material((1, 1, 1), roughness=0.16),
        "water",
    )


def walls(land: Ground) -> Mesh:
    """The block's four cut sides, earth in layers, and the lake's where it reaches them; and its bottom."""
    found: list[tuple[Floats, NDArray[np.int64], Floats]] = []
    edges = (
        (land.x, np.full_like(land.x, SIDE), land.height[-1]),
        (land.x[::-1], np.full_like(land.x, -SIDE), land.height[0, ::-1]),
        (np.full_like(land.x, SIDE), land.z[::-1], land.height[::-1, -1]),
        (np.full_like(land.x, -SIDE), land.z, land.height[:, 0]),
    )
    for x, z, top in edges:
        found.append(_wall(x, z, np.full_like(top, BASE), top, None))
        if (top < 0).any():
            found.append(_wall(x, z, np.minimum(top, 0), np.zeros_like(top), np.array([0.010, 0.095, 0.125])))
    corners = SIDE * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float64)
    bottom = np.insert(corners, 1, BASE, axis=1)
    found.append((bottom, np.array([[0, 1, 2], [0, 2, 3]]), np.tile(EARTH, (4, 1))))
    starts = np.cumsum([0, *(len(part[0]) for part in found)])
    return Mesh(
        np.concatenate([part[0] for part in found]),
        np.concatenate([part[1] + start for part, start in zip(found, starts, strict=False)]),
        colors=np.concatenate([part[2] for part in found]),
        material=Material((1, 1, 1), roughness=0.85),
        name="walls",
    )


def _wall(
    x: Floats, z: Floats, low: Floats, high: Floats, color: Floats | None
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """A strip between two heights in layers; returns positions, triangles, colours."""
    rows, n = 28, len(x)
    t = np.linspace(0, 1, rows)[:, None]
    y = low * (1 - t) + high * t  # (rows, n)
    positions = np.stack([np.broadcast_to(x, y.shape), y, np.broadcast_to(z, y.shape)], axis=-1)
    if color is None:
        along = x + z
        layer = np.sin((y + 0.10 * fractal(along[None, :] * 0.5, y, 3, 90)) * 9.0)
        mix = (0.5 + 0.5 * np.tanh(3 * layer))[..., None]
        colors = np.array(EARTH) * (1 - mix) + np.array(CLAY) * mix
        under = np.clip((high - y) / 0.10, 0, 1)[..., None]  # turf at the top
        colors = colors * under + np.array(GRASS) * 0.8 * (1 - under)
    else:
        colors = np.broadcast_to(color, positions.shape) * (0.7 + 0.5 * t[..., None])
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(n - 1), indexing="ij")
    a = i * n + j
    triangles = np.stack([a, a + 1, a + n, a + 1, a + n + 1, a + n], axis=-1).reshape(-1, 3)
    return positions.reshape(-1, 3), triangles, colors.reshape(-1, 3)


def _cover(land: Ground, x: Floats, z: Floats) -> Floats:
    """What grows or lies where, linear RGB (n, n, 3)."""
    patch = fractal(x * 0.9, z * 0.9, 4, 20)
    fine = fractal(x * 6, z * 6, 3, 30)
    h = land.height + 0.16 * fine
    color = _blend(np.array(GRASS), np.array(MEADOW), np.clip(0.5 + 1.1 * patch, 0, 1))
    color = _blend(np.array(SAND), color, _rise(h, 0.05, 0.20))
    stone = _blend(np.array(DARK_ROCK), np.array(ROCK), np.clip(0.5 + 1.3 * fine + 0.6 * patch, 0, 1))
    color = _blend(color, stone, np.maximum(_rise(land.slope + 0.3 * fine, 0.75, 1.15), _rise(h, 1.9, 2.7)))
    snow = _rise(h + 0.5 * patch, 2.75, 3.15) * (1 - _rise(land.slope + 0.25 * fine, 1.25, 1.9))
    return _blend(color, np.array(SNOW), snow)


def _light(land: Ground, shadow: Floats) -> Floats:
    """Sun shadow and the shade of hollows, (n, n)."""
    mean = land.height
    for axis in (0, 1, 0, 1):
        mean = _smooth(mean, len(land.x) // 24, axis)
    hollow = np.clip((mean - land.height) * 0.75, -0.12, 0.45)
    return (1 - hollow) * (1 - 0.58 * shadow)


def _smooth(grid: Floats, reach: int, axis: int) -> Floats:
    """Mean over 2 ``reach`` + 1 neighbours."""
    pad = [(0, 0), (0, 0)]
    pad[axis] = (reach + 1, reach)
    total = np.cumsum(np.pad(grid, pad, mode="edge"), axis=axis)
    n = grid.shape[axis]
    window = 2 * reach + 1
    high, low = np.take(total, np.arange(window, n + window), axis), np.take(total, np.arange(n), axis)
    smoothed: Floats = (high - low) / window
    return smoothed


def _rise(value: Floats, low: float, high: float) -> Floats:
    t = np.clip((value - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def _blend(a: Floats, b: Floats, amount: Floats) -> Floats:
    return a * (1 - amount[..., None]) + b * amount[..., None]
