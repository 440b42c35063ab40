"""A tube along a (2, 3) torus knot, closed on itself: no edge is open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.material import Material
from whygpu.draw.mesh import Mesh

__all__ = ["torus_knot"]

Floats = NDArray[np.float64]


def torus_knot(along: int = 1024, around: int = 48, radius: float = 0.34) -> Mesh:
    """2 x ``along`` x ``around`` triangles, half as many vertices; the colour runs through the hues."""
    t = np.arange(along) / along
    center, tangent = _curve(t), _curve(t + 1e-4) - _curve(t - 1e-4)
    normal, binormal = _frame(tangent, t)
    turn = 2 * np.pi * np.arange(around) / around
    outward = (
        np.cos(turn)[None, :, None] * normal[:, None] + np.sin(turn)[None, :, None] * binormal[:, None]
    )  # (along, around, 3)
    positions = center[:, None] + radius * outward
    i, j = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    a, b = i * around + j, (i + 1) % along * around + j
    c, d = i * around + (j + 1) % around, (i + 1) % along * around + (j + 1) % around
    triangles = np.stack([a, d, b, a, c, d], axis=-1).reshape(-1, 3)
    # Lift the tube's inner side a little darker, so that crossings read even without shadows.
    depth = 0.72 + 0.28 * np.clip(np.linalg.norm(positions[..., :2], axis=-1) / 3 - 0.1, 0, 1)
    colors = _hue(t)[:, None] * depth[..., None]
    return Mesh(
        positions.reshape(-1, 3).astype(np.float32),
        triangles.astype(np.int32),
        outward.reshape(-1, 3).astype(np.float32),
        colors.reshape(-1, 3).astype(np.float32),
        Material((1.0, 1.0, 1.0), roughness=0.28),
        "torus-knot",
    )


def _curve(t: Floats) -> Floats:
    """Twice round the axis while three times round the tube of a torus, (n, 3)."""
    p, q = 4 * np.pi * t, 6 * np.pi * t
    ring = 2.0 + 0.85 * np.cos(q)
    return np.stack([ring * np.cos(p), ring * np.sin(p), 0.95 * np.sin(q)], axis=1)


def _frame(tangent: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Two unit vectors across the curve; the first away from the torus: they close without a twist."""
    p, q = 4 * np.pi * t, 6 * np.pi * t
    away = np.stack([np.cos(q) * np.cos(p), np.cos(q) * np.sin(p), np.sin(q)], axis=1)
    tangent = tangent / np.linalg.norm(tangent, axis=1, keepdims=True)
    away -= tangent * (away * tangent).sum(1, keepdims=True)
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    return away, np.cross(tangent, away)


def _hue(t: Floats) -> Floats:
    """A closed tour of warm and cool linear colours, (n, 3)."""
    stops = np.array(
        [[0.90, 0.20, 0.08], [0.95, 0.58, 0.08], [0.10, 0.50, 0.38], [0.08, 0.28, 0.75], [0.55, 0.10, 0.50]]
    )
    place = t * len(stops)
    low = np.floor(place).astype(int) % len(stops)
    blend = (1 - np.cos(np.pi * (place % 1)))[:, None] / 2
    colors: Floats = stops[low] * (1 - blend) + stops[(low + 1) % len(stops)] * blend
    return colors
