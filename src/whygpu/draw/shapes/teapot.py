"""The Utah teapot (Martin Newell, 1975): 32 bicubic Bezier patches.

Its body, rim, lid and bottom are surfaces of revolution, each patch a quarter turn, so that only their
profile is listed; handle and spout are listed for y >= 0 and mirrored. Coordinates are Newell's, z up, as
published in F. Crow, "The Origins of the Teapot", IEEE Computer Graphics and Applications 7(1), 1987; others
added the bottom.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.material import Material
from whygpu.draw.mesh import Mesh

__all__ = ["MAX_LEVEL", "patches", "teapot"]

Floats = NDArray[np.float64]

MAX_LEVEL = 8
"""4.2 million triangles."""

ROUND = 0.56
"""How far a quarter circle's inner control points reach, in radii (a true circle's best: 0.5523)."""

PROFILES = (  # radius and height of four control points each, from the outside in or from the top down
    ((1.4, 2.4), (1.3375, 2.53125), (1.4375, 2.53125), (1.5, 2.4)),  # rim
    ((1.5, 2.4), (1.75, 1.875), (2.0, 1.35), (2.0, 0.9)),  # body
    ((2.0, 0.9), (2.0, 0.45), (1.5, 0.225), (1.5, 0.15)),
    ((0.0, 3.15), (0.8, 3.15), (0.0, 2.85), (0.2, 2.7)),  # the lid's knob
    ((0.2, 2.7), (0.4, 2.55), (1.3, 2.55), (1.3, 2.4)),  # lid
    ((1.5, 0.15), (1.5, 0.075), (1.425, 0.0), (0.0, 0.0)),  # bottom
)

SIDES = (  # (x, z) of the middle, and half widths in y: two rows of four control points make a patch's half
    # handle: the inner curve, the outer curve, how far both reach sideways
    (
        ((-1.6, 2.025), (-2.3, 2.025), (-2.7, 2.025), (-2.7, 1.8)),
        ((-1.5, 2.25), (-2.5, 2.25), (-3.0, 2.25), (-3.0, 1.8)),
        (0.3, 0.3, 0.3, 0.3),
    ),
    (
        ((-2.7, 1.8), (-2.7, 1.575), (-2.5, 1.125), (-2.0, 0.9)),
        ((-3.0, 1.8), (-3.0, 1.35), (-2.65, 0.9375), (-1.9, 0.6)),
        (0.3, 0.3, 0.3, 0.3),
    ),
    # spout: the upper curve, the lower curve
    (
        ((1.7, 1.425), (2.6, 1.425), (2.3, 2.1), (2.7, 2.4)),
        ((1.7, 0.6), (3.1, 0.825), (2.4, 2.025), (3.3, 2.4)),
        (0.66, 0.66, 0.25, 0.25),
    ),
    (
        ((2.7, 2.4), (2.8, 2.475), (2.9, 2.475), (2.8, 2.4)),
        ((3.3, 2.4), (3.525, 2.49375), (3.45, 2.5125), (3.2, 2.4)),
        (0.25, 0.25, 0.15, 0.15),
    ),
)


def teapot(level: int = 4, material: Material | None = None) -> Mesh:
    """32 patches of 4**``level`` quads, two triangles each; y up, smooth normals."""
    steps = 2**level
    control = patches()  # (32, 4, 4, 3)
    t = np.arange(steps + 1) / steps
    value, slope = _bernstein(t)  # (steps + 1, 4) each
    points = np.einsum("ui,vj,pijk->puvk", value, value, control)
    along_u = np.einsum("ui,vj,pijk->puvk", slope, value, control)
    along_v = np.einsum("ui,vj,pijk->puvk", value, slope, control)
    normals = np.cross(along_u, along_v)
    length = np.linalg.norm(normals, axis=-1, keepdims=True)
    # Where a patch comes to a point (the knob's top, the bottom's middle) the surface is level
    level_there = np.array([0.0, 0.0, 1.0]) * np.where(points[..., 2:] > 1, 1.0, -1.0)
    normals = np.where(length > 1e-9, normals / np.where(length > 1e-9, length, 1), level_there)
    row = np.arange(steps)
    a = (row[:, None] * (steps + 1) + row[None, :]).ravel()
    b, c, d = a + steps + 1, a + steps + 2, a + 1
    quads = np.stack([a, b, c, a, c, d], axis=1).reshape(-1, 3)  # (2 steps**2, 3)
    first = (steps + 1) ** 2 * np.arange(len(control))
    triangles = (quads[None] + first[:, None, None]).reshape(-1, 3)
    return Mesh(
        _upright(points).astype(np.float32),
        triangles.astype(np.int32),
        _upright(normals).astype(np.float32),
        # One sees into it, between lid and rim: both sides are drawn
        material=material or Material((0.72, 0.50, 0.22), roughness=0.3, double_sided=True),
        name="teapot",
    )


def patches() -> Floats:
    """The control points, (32, 4, 4, 3), z up; the first index runs so that u x v points outwards."""
    found = []
    for profile in PROFILES:
        for quarter in range(4):
            found.append(_turned(np.array([_ring(*point) for point in profile]), quarter))
    for inner, outer, width in SIDES:
        half = _half(np.array(inner), np.array(outer), np.array(width))
        found.append(half)
        found.append((half * (1, -1, 1))[:, ::-1])  # mirrored, and turned to face outwards again
    return np.stack(found)


def _ring(radius: float, height: float) -> Floats:
    """Four control points of a quarter circle from +x to +y, (4, 3)."""
    inner = 0.45 if (radius, height) == (0.8, 3.15) else ROUND * radius  # the knob's is Newell's, not 0.448
    return np.array(
        [(radius, 0, height), (radius, inner, height), (inner, radius, height), (0, radius, height)]
    )


def _turned(patch: Floats, quarters: int) -> Floats:
    """Turned about z by quarter turns, exactly."""
    for _ in range(quarters):
        patch = np.stack([-patch[..., 1], patch[..., 0], patch[..., 2]], axis=-1)
    return patch


def _half(inner: Floats, outer: Floats, width: Floats) -> Floats:
    """A patch from the first curve round the side y > 0 to the second, (4, 4, 3)."""
    rows = []
    for (x0, z0), (x1, z1), y in zip(inner, outer, width, strict=True):
        rows.append([(x0, 0, z0), (x0, y, z0), (x1, y, z1), (x1, 0, z1)])
    return np.array(rows, np.float64)


def _bernstein(t: Floats) -> tuple[Floats, Floats]:
    """The four cubic Bernstein polynomials and their slopes, (n, 4) each."""
    s = 1 - t
    value = np.stack([s**3, 3 * s * s * t, 3 * s * t * t, t**3], axis=1)
    slope = np.stack([-3 * s * s, 3 * s * (s - 2 * t), 3 * t * (2 * s - t), 3 * t * t], axis=1)
    return value, slope


def _upright(vectors: Floats) -> Floats:
    """z up to y up, (V, 3)."""
    x, y, z = vectors.reshape(-1, 3).T
    return np.stack([x, z, -y], axis=1)
