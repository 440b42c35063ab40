"""A block of landscape: mountain, lake, forest, a cabin and clouds; about two million triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.light import Background, Light
from whygpu.draw.material import Material
from whygpu.draw.mesh import Mesh
from whygpu.draw.scene import Node, Scene, View
from whygpu.draw.shapes.noise import fractal
from whygpu.draw.shapes.sphere import subdivided_tetrahedron
from whygpu.draw.shapes.terrain import SIDE, SUN, Ground, ground, ground_mesh, walls, water

__all__ = ["landscape"]

Floats = NDArray[np.float64]

TREES = 2000
CABIN = (4.6, 3.0)
SKY = Background((0.36, 0.58, 0.80, 1.0), (0.88, 0.91, 0.90, 1.0))


def landscape(points: int = 700) -> Scene:
    """The scene, lit by a low sun, seen from the front and above."""
    random = np.random.default_rng(5)
    land = ground(points)
    trees = _places(land, random)  # (trees, 4): x, y, z, size
    shadow = _shadow(land, trees)
    meshes = [
        ground_mesh(land, shadow),
        water(land, shadow, points // 3),
        walls(land),
        _forest(trees, land, shadow, random),
        _clouds(random),
        *_cabin(land),
    ]
    return Scene(
        tuple(Node(mesh) for mesh in meshes),
        lights=(
            Light(tuple((-SUN).tolist()), (1.28, 1.10, 0.84)),
            Light((-0.5, -0.5, -0.7), (0.10, 0.13, 0.17)),
        ),
        sky=(0.30, 0.38, 0.50),
        ground=(0.12, 0.11, 0.09),
        view=View(24.0, 24.0, 28.0),
        background=SKY,
        name="frame",
    )


def _places(land: Ground, random: np.random.Generator) -> Floats:
    """Where trees stand: on gentle, not too high ground, in groves; (trees, 4)."""
    x, z = random.uniform(-SIDE + 0.15, SIDE - 0.15, (2, TREES * 12))
    y, slope = land.at(land.height, x, z), land.at(land.slope, x, z)
    grove = fractal(x * 0.35, z * 0.35, 3, 60)
    clear = np.hypot(x - CABIN[0], z - CABIN[1]) > 0.75
    good = (
        (y > 0.16)
        & (y < 2.25)
        & (slope < 0.95)
        & (grove > -0.10 + 0.08 * random.normal(size=x.shape))
        & clear
    )
    chosen = np.flatnonzero(good)[:TREES]
    size = random.uniform(0.24, 0.46, len(chosen)) * (1 - 0.16 * np.clip(y[chosen], 0, 2))
    return np.stack([x[chosen], y[chosen] - 0.02, z[chosen], size], axis=1)


def _shadow(land: Ground, trees: Floats) -> Floats:
    """How much of the sun is hidden from each point of the ground, 0 to 1; march towards the sun."""
    n = len(land.x)
    step = land.x[1] - land.x[0]
    top = land.height.copy()
    for x, y, z, size in trees:  # a tree is a cone
        reach = max(1, int(0.34 * size / step))
        i, j = round((z + SIDE) / step), round((x + SIDE) / step)
        rows, columns = (
            slice(max(i - reach, 0), min(i + reach + 1, n)),
            slice(max(j - reach, 0), min(j + reach + 1, n)),
        )
        away = np.hypot(land.z[rows, None] - z, land.x[None, columns] - x) / (0.34 * size)
        cone = y + 1.5 * size * np.clip(1.0 - away, 0, 1)
        top[rows, columns] = np.maximum(top[rows, columns], np.where(away < 1, cone, -9))
    flat = float(np.hypot(SUN[0], SUN[2]))
    hidden = np.full_like(top, -1.0)
    for k in range(1, int(5.5 / (SUN[1] / flat) / step)):
        di, dj = round(k * SUN[2] / flat), round(k * SUN[0] / flat)
        shifted = _shifted(top, di, dj)
        hidden = np.maximum(hidden, shifted - (land.height + k * step * SUN[1] / flat))
    soft: Floats = np.clip(hidden / 0.05 + 0.2, 0, 1)
    for axis in (0, 1):
        soft = (np.roll(soft, 1, axis) + soft + np.roll(soft, -1, axis)) / 3
    return soft


def _shifted(grid: Floats, di: int, dj: int) -> Floats:
    """``grid[i + di, j + dj]``, far below outside."""
    n = len(grid)
    out = np.full_like(grid, -9.0)
    rows, columns = (slice(max(-d, 0), min(n - d, n)) for d in (di, dj))
    source_rows, source_columns = (slice(max(d, 0), min(n + d, n)) for d in (di, dj))
    if rows.start < rows.stop and columns.start < columns.stop:
        out[rows, columns] = grid[source_rows, source_columns]
    return out


def _conifer() -> tuple[Floats, NDArray[np.int64], Floats]:
    """A tree of height 1.5: three skirts of branches and a trunk; positions, triangles, colours."""
    positions: list[Floats] = []
    triangles: list[NDArray[np.int64]] = []
    colors: list[Floats] = []
    sides = 14
    turn = 2 * np.pi * np.arange(sides) / sides
    tiers = ((0.16, 0.80, 0.34), (0.48, 1.15, 0.265), (0.82, 1.50, 0.18))
    needles, tips, bark = (
        np.array([0.018, 0.060, 0.022]),
        np.array([0.075, 0.150, 0.040]),
        np.array([0.10, 0.05, 0.025]),
    )
    for low, high, radius in tiers:
        start = sum(len(p) for p in positions)
        profile = (
            (0.35, 0.07),
            (1.0, 0.0),
            (0.60, 0.34),
            (0.26, 0.70),
            (0.02, 1.0),
        )  # share of radius, of height
        for ring, (out, up) in enumerate(profile):
            zigzag = 1 + (0.13 if ring == 1 else 0.05) * np.cos(turn * sides / 2)
            r = radius * out * zigzag
            droop = -0.035 * (ring == 1) * np.cos(turn * sides / 2)
            y = low + (high - low) * up + droop
            positions.append(
                np.stack([r * np.cos(turn), np.broadcast_to(y, turn.shape), r * np.sin(turn)], axis=1)
            )
            share = {0: 0.0, 1: 0.75, 2: 0.45, 3: 0.6, 4: 1.0}[ring]
            colors.append(np.tile(needles * (1 - share) + tips * share, (sides, 1)))
        triangles.append(_tube(start, len(profile), sides))
    start = sum(len(p) for p in positions)
    for level, thick in ((-0.10, 0.045), (0.30, 0.035)):
        positions.append(
            np.stack([thick * np.cos(turn), np.full(sides, level), thick * np.sin(turn)], axis=1)
        )
        colors.append(np.tile(bark, (sides, 1)))
    triangles.append(_tube(start, 2, sides))
    return np.concatenate(positions), np.concatenate(triangles), np.concatenate(colors)


def _tube(start: int, rings: int, sides: int) -> NDArray[np.int64]:
    """Triangles between rings of vertices, from the lowest up, seen from outside."""
    i, j = np.meshgrid(np.arange(rings - 1), np.arange(sides), indexing="ij")
    a, b = start + i * sides + j, start + i * sides + (j + 1) % sides
    return np.stack([a, a + sides, b, b, a + sides, b + sides], axis=-1).reshape(-1, 3)


def _forest(trees: Floats, land: Ground, shadow: Floats, random: np.random.Generator) -> Mesh:
    """Every tree, turned, scaled and tinted."""
    shape, triangles, colors = _conifer()
    turn = random.uniform(0, 2 * np.pi, len(trees))
    c, s = np.cos(turn)[:, None], np.sin(turn)[:, None]
    wide = (trees[:, 3] * random.uniform(0.85, 1.15, len(trees)))[:, None]
    x = trees[:, :1] + wide * (c * shape[:, 0] + s * shape[:, 2])  # (trees, v)
    z = trees[:, 2:3] + wide * (c * shape[:, 2] - s * shape[:, 0])
    y = trees[:, 1:2] + trees[:, 3:] * shape[:, 1]
    dim = 1 - 0.5 * land.at(shadow, trees[:, 0] + 0.25 * SUN[0], trees[:, 2] + 0.25 * SUN[2])
    tint = random.uniform(0.75, 1.3, (len(trees), 1, 3)) ** np.array([1.3, 0.7, 1.0]) * dim[:, None, None]
    tint = np.broadcast_to(colors * tint * (0.55 + 0.45 * shape[:, 1:2] / 1.5), (*x.shape, 3))
    all_triangles = triangles + (np.arange(len(trees)) * len(shape))[:, None, None]
    return Mesh(
        np.stack([x, y, z], axis=-1).reshape(-1, 3).astype(np.float32),
        all_triangles.reshape(-1, 3).astype(np.int32),
        colors=tint.reshape(-1, 3).astype(np.float32),
        material=Material((1, 1, 1), roughness=0.85),
        name="forest",
    )


def _clouds(random: np.random.Generator) -> Mesh:
    """Heaps of flattened balls."""
    ball, triangles = subdivided_tetrahedron(5)
    positions: list[Floats] = []
    indices: list[NDArray[np.int32]] = []
    for x, y, z, size in (
        (-5.6, 5.3, -3.2, 0.95),
        (6.4, 5.9, -5.4, 1.15),
        (-0.6, 6.6, -7.2, 0.8),
        (7.2, 4.9, 3.2, 0.62),
    ):
        for k in range(14):
            along = (k % 7 - 3) / 3
            radius = size * (1 - 0.55 * abs(along)) * random.uniform(0.60, 0.82)
            offset = np.array(
                [along * 1.35 * size, 0.18 * size * random.normal(), 0.30 * size * random.normal()]
            )
            puff = ball * radius * np.array([1.0, 0.78, 0.95])
            indices.append(triangles + len(ball) * len(positions))
            positions.append(puff + offset + np.array([x, y, z]))
    return Mesh(
        np.concatenate(positions),
        np.concatenate(indices),
        material=Material((0.92, 0.92, 0.94), roughness=1.0, emissive=(0.10, 0.11, 0.13)),
        name="clouds",
    )


def _box(
    low: tuple[float, ...], high: tuple[float, ...], color: tuple[float, ...], name: str, glow: float = 0.0
) -> Mesh:
    from whygpu.draw.shapes.cube import cube

    unit = cube(1.0)
    size, center = np.subtract(high, low), np.add(high, low) / 2
    emissive = tuple(glow * part for part in color)
    return Mesh(
        unit.positions * size + center,
        unit.triangles,
        unit.normals,
        material=Material(color, roughness=0.8, emissive=emissive),  # type: ignore[arg-type]
        name=name,
    )


def _cabin(land: Ground) -> list[Mesh]:
    """A log house with lit windows and a steep roof, by the lake."""
    x, z = CABIN
    y = float(land.at(land.height, np.array([x]), np.array([z]))[0]) - 0.02
    wood, warm = (0.26, 0.12, 0.05), (1.0, 0.62, 0.20)
    parts = [
        _box((x - 0.30, y - 0.2, z - 0.22), (x + 0.30, y + 0.27, z + 0.22), wood, "cabin"),
        _box((x - 0.20, y + 0.08, z + 0.215), (x - 0.07, y + 0.19, z + 0.226), warm, "window", 0.9),
        _box((x + 0.07, y + 0.08, z + 0.215), (x + 0.20, y + 0.19, z + 0.226), warm, "window", 0.9),
        _box((x + 0.12, y + 0.30, z - 0.12), (x + 0.20, y + 0.62, z - 0.04), (0.22, 0.19, 0.17), "chimney"),
    ]
    eaves, ridge, reach = y + 0.24, y + 0.56, 0.36
    west, east, back, front = x - reach, x + reach, z - 0.30, z + 0.30
    corners = np.array(
        [
            [west, eaves, back],
            [east, eaves, back],
            [east, eaves, front],
            [west, eaves, front],
            [west, ridge, z],
            [east, ridge, z],
        ]
    )
    faces = [[3, 2, 5], [3, 5, 4], [1, 0, 4], [1, 4, 5], [0, 3, 4], [2, 1, 5], [0, 1, 2], [0, 2, 3]]
    flat = corners[np.array(faces)].reshape(-1, 3)  # each face its own corners: sharp edges
    roof = Mesh(
        flat,
        np.arange(len(flat), dtype=np.int32).reshape(-1, 3),
        material=Material((0.42, 0.075, 0.045), roughness=0.7),
        name="roof",
    )
    return [*parts, roof]
