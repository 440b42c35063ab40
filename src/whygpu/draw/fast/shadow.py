"""How much of a light arrives at a place; the rules are those of ``portable.shadow``, to the last bit."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

import numpy as np

from whygpu.engine.jit import inlined

__all__ = ["STEEP", "WIDER", "shadow"]

STEEP = 0.1
"""The smallest cosine between a surface and a light that the bias follows."""
WIDER = 1.5
"""Texels over which the filter sees the surface rise."""


@inlined
def _face(lamp, x, y, z):
    """Which map shows a place: a point light's has the largest coordinate's axis and sign."""
    first = np.int64(lamp[13])
    if lamp[6] != 1:
        return first
    x, y, z = x - lamp[7], y - lamp[8], z - lamp[9]
    ax, ay, az = abs(x), abs(y), abs(z)
    if ax >= ay and ax >= az:
        return first + (x < 0)
    return first + 2 + (y < 0) if ay >= az else first + 4 + (z < 0)


@inlined
def shadow(lamp, maps, matrices, x, y, z, lx, ly, lz, away, cosine):
    """The share of light, float32 from 0 to 1; see ``portable.shadow``."""
    slope = np.float64(cosine) if cosine > np.float32(STEEP) else np.float64(np.float32(STEEP))
    rise = 1.0 + WIDER * np.sqrt(1.0 - (slope * slope if slope < 1 else 1.0)) / slope
    step = (lamp[14] + lamp[15] * away) * rise
    x, y, z = x + np.float64(lx) * step, y + np.float64(ly) * step, z + np.float64(lz) * step
    face = _face(lamp, x, y, z)
    m, side = matrices[face], maps.shape[1]
    column = ((m[0, 0] * x + m[0, 1] * y) + m[0, 2] * z) + m[0, 3]
    row = ((m[1, 0] * x + m[1, 1] * y) + m[1, 2] * z) + m[1, 3]
    depth = ((m[2, 0] * x + m[2, 1] * y) + m[2, 2] * z) + m[2, 3]
    w = ((m[3, 0] * x + m[3, 1] * y) + m[3, 2] * z) + m[3, 3]
    one = np.float32(1)
    if not w > 0:
        return one
    inverse = 1.0 / w
    column, row, depth = column * inverse, row * inverse, depth * inverse
    inside = column >= 1 and row >= 1 and column < side - 1 and row < side - 1
    if not (inside and depth < 1):
        return one
    left, top = np.floor(column), np.floor(row)
    fx, fy = np.float32(column - left), np.float32(row - top)
    x0, y0 = np.uintp(np.int64(left) - 1), np.uintp(np.int64(top) - 1)
    total, zero = np.float32(0), np.float32(0)
    for j in range(3):
        near = maps[face, y0 + np.uintp(j)]
        line = one - fx if depth <= np.float64(near[x0]) else zero
        line += one if depth <= np.float64(near[x0 + np.uintp(1)]) else zero
        line += fx if depth <= np.float64(near[x0 + np.uintp(2)]) else zero
        total += line * (one - fy if j == 0 else (fy if j == 2 else one))
    return total * np.float32(0.25)
