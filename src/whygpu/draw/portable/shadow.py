"""How much of a light arrives: the share of a few texels of its shadow map that lie behind a place."""

from __future__ import annotations

from typing import Any

from whygpu.draw.fast.shadow import STEEP, WIDER
from whygpu.draw.geometry import Geometry
from whygpu.draw.portable.fragments import gather_opaque
from whygpu.draw.portable.transform import transform
from whygpu.draw.uniforms import Uniforms
from whygpu.engine import current

__all__ = ["draw_maps", "shadow"]


def draw_maps(geometry: Geometry, constants: list[Uniforms]) -> Any:
    """Depth as each light's cameras see it, (maps * side * side,) float32."""
    xp = current().xp
    maps = []
    for uniforms in constants:
        vertices = transform(geometry, uniforms)
        maps.append(gather_opaque(geometry, vertices, uniforms).depth)
    return xp.concat(maps, axis=0)


def shadow(
    xp: Any, maps: Any, uniforms: Uniforms, lamp: Any, place: Any, towards: Any, away: Any, cosine: Any
) -> Any:
    """How much of a light reaches each place, (n, 1) float32 from 0 to 1: the mean of 2 x 2 bilinear
    taps, which are 3 x 3 texels.

    ``place`` (n, 3) float64 in the world, ``towards`` (n, 3) the unit vector to the light, ``away`` (n,) the
    distance from it, ``cosine`` (n,) of the surface's slope to the light. A place is moved to the light by
    as much as the surface rises within the filter, so that it does not shadow itself.
    """
    side = uniforms.shadows.side
    slope = xp.where(cosine > STEEP, cosine, xp.zeros_like(cosine) + STEEP)
    slope = xp.astype(slope, xp.float64)
    rise = 1.0 + WIDER * xp.sqrt(1.0 - xp.where(slope < 1, slope * slope, xp.ones_like(slope))) / slope
    texel = float(lamp[14]) + float(lamp[15]) * away
    place = place + xp.astype(towards, xp.float64) * (texel * rise)[:, None]
    face = _face(xp, lamp, place)
    rows = current().asarray(uniforms.shadows.matrices[:, [0, 1, 2, 3], :].reshape(-1, 16), "float64")
    m = xp.take(rows, face, axis=0)  # (n, 16)
    column, row, depth, w = (
        ((m[:, i] * place[:, 0] + m[:, i + 1] * place[:, 1]) + m[:, i + 2] * place[:, 2]) + m[:, i + 3]
        for i in (0, 4, 8, 12)
    )
    seen = w > 0
    inverse = 1.0 / xp.where(seen, w, xp.ones_like(w))
    x, y, depth = column * inverse, row * inverse, depth * inverse
    seen = seen & (x >= 1) & (y >= 1) & (x < side - 1) & (y < side - 1) & (depth < 1)
    x, y = (xp.where(seen, a, xp.ones_like(a)) for a in (x, y))
    left, top = xp.astype(xp.floor(x), xp.int64), xp.astype(xp.floor(y), xp.int64)
    right, below = xp.astype(x - xp.floor(x), xp.float32), xp.astype(y - xp.floor(y), xp.float32)
    start = (face * side + top - 1) * side + left - 1
    total = xp.zeros_like(right)
    for i, wide in enumerate(_weights(xp, right)):
        column = xp.zeros_like(right)
        for j, high in enumerate(_weights(xp, below)):
            there = xp.astype(xp.take(maps, start + (j * side + i), axis=0), xp.float64)
            column = column + xp.where(depth <= there, high, xp.zeros_like(high))
        total = total + column * wide
    total = total * 0.25
    return xp.where(seen, total, xp.ones_like(total))[:, None]


def _weights(xp: Any, part: Any) -> tuple[Any, Any, Any]:
    """Of three texels in a row, for the mean of two bilinear taps (times 2)."""
    return 1.0 - part, xp.ones_like(part), part


def _face(xp: Any, lamp: Any, place: Any) -> Any:
    """Which map shows a place: a point light's has the largest coordinate's axis and sign."""
    first = xp.zeros_like(xp.astype(place[:, 0], xp.int64)) + int(lamp[13])
    if lamp[6] != 1:
        return first
    x, y, z = (place[:, i] - float(lamp[7 + i]) for i in range(3))
    ax, ay, az = xp.abs(x), xp.abs(y), xp.abs(z)
    on_x, on_y = (ax >= ay) & (ax >= az), ay >= az
    along = xp.where(on_x, x, xp.where(on_y, y, z))
    axis = xp.where(
        on_x, xp.zeros_like(first), xp.where(on_y, xp.zeros_like(first) + 2, xp.zeros_like(first) + 4)
    )
    return first + axis + xp.astype(along < 0, xp.int64)
