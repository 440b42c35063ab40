"""Triangles that cross the near or far plane or leave the guard band, cut before the divide by w.

One plane after the other cuts a triangle into none, one or two triangles (Sutherland and Hodgman, 1974,
on triangles). A new vertex is computed from the inner end of its edge to the outer one, so that two
triangles that share an edge agree on it to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whygpu.draw.geometry import Geometry
from whygpu.draw.portable.transform import Vertices, to_screen
from whygpu.draw.uniforms import Uniforms
from whygpu.engine import current, other

__all__ = ["Triangles", "assemble", "clip_triangles"]


@dataclass(frozen=True, eq=False)
class Triangles:
    """Triangles ready to rasterise, in ascending order of source."""

    corners: Any
    """(n, 3) int64: rows of the arrays below."""
    source: Any
    """(n,) int64: ids of the triangles that they are, or are pieces of."""
    screen: Any
    """(V + new, 2) int64: snapped positions."""
    depth: Any
    """(V + new,) float32."""


def assemble(geometry: Geometry, vertices: Vertices, uniforms: Uniforms, drawn: Any) -> Triangles:
    """Take the triangles that need no clipping as they are, and the pieces of those that do.

    ``drawn`` (T,) bool says which triangles are wanted.
    """
    backend = current()
    xp = backend.xp
    corners = backend.asarray(geometry.triangles, "int64")  # (T, 3)
    count = corners.shape[0]
    source = xp.arange(count, dtype=xp.int64, device=backend.device)
    flat = xp.reshape(corners, (-1,))
    with other("primitive assembly", size=36 * count):
        out = xp.reshape(xp.take(vertices.outside, flat, axis=0), (count, 3))
        code = xp.reshape(xp.take(vertices.outcode, flat, axis=0), (count, 3))
        needs = xp.any(out, axis=1)
        beyond = (code[:, 0] & code[:, 1] & code[:, 2]) != 0  # all of it beyond one side
        (whole,) = xp.nonzero(drawn & ~needs)
        (cut,) = xp.nonzero(drawn & needs & ~beyond)
    triangles = Triangles(
        xp.take(corners, whole, axis=0), xp.take(source, whole, axis=0), vertices.screen, vertices.depth
    )
    if cut.shape[0] == 0:
        return triangles
    with other("clipping", size=96 * cut.shape[0]):
        ends = xp.reshape(xp.take(corners, cut, axis=0), (-1,))
        polygons = xp.reshape(xp.take(vertices.clip, ends, axis=0), (-1, 3, 4))
        pieces, source = clip_triangles(xp, polygons, cut, uniforms)
        return _with_pieces(xp, triangles, pieces, source, uniforms)


def clip_triangles(xp: Any, triangles: Any, source: Any, uniforms: Uniforms) -> tuple[Any, Any]:
    """Cut (n, 3, 4) clip-space triangles by near, far and the guard band; returns pieces and sources."""
    guard_x, guard_y = (float(v) for v in uniforms.viewport[4:])
    for axis, sign, guard in (
        (2, 1.0, 1.0),  # near: z >= -w
        (2, -1.0, 1.0),  # far: z <= w
        (0, 1.0, guard_x),  # left
        (0, -1.0, guard_x),  # right
        (1, 1.0, guard_y),  # bottom
        (1, -1.0, guard_y),  # top
    ):
        distance = triangles[:, :, 3] * guard + triangles[:, :, axis] * sign  # (n, 3), inside >= 0
        triangles, source = _cut(xp, triangles, source, distance)
    (in_front,) = xp.nonzero(xp.all(triangles[:, :, 3] > 0, axis=1))
    return xp.take(triangles, in_front, axis=0), xp.take(source, in_front, axis=0)


def _cut(xp: Any, triangles: Any, source: Any, distance: Any) -> tuple[Any, Any]:
    """Keep the part of every triangle whose distance from a plane is not negative."""
    inside = distance >= 0
    count = xp.sum(xp.astype(inside, xp.int64), axis=1)
    pieces, sources = [], []

    def take(wanted: Any, first: Any) -> tuple[list[Any], list[Any], Any]:
        """Corners, distances and sources of some triangles, turned so that corner ``first`` leads."""
        (rows,) = xp.nonzero(wanted)
        corner, away = xp.take(triangles, rows, axis=0), xp.take(distance, rows, axis=0)
        first = xp.take(first, rows, axis=0)
        a, d = _turned(xp, corner, first), _turned(xp, away[:, :, None], first)
        return a, d, xp.take(source, rows, axis=0)

    whole = count == 3
    (rows,) = xp.nonzero(whole)
    pieces.append(xp.take(triangles, rows, axis=0))
    sources.append(xp.take(source, rows, axis=0))

    odd_one_in = _first(xp, inside)
    (a, b, c), (da, db, dc), own = take(count == 1, odd_one_in)
    pieces.append(xp.stack([a, _cross(a, b, da, db), _cross(a, c, da, dc)], axis=1))
    sources.append(own)

    odd_one_out = _first(xp, ~inside)
    (a, b, c), (da, db, dc), own = take(count == 2, odd_one_out)
    on_b, on_c = _cross(b, a, db, da), _cross(c, a, dc, da)
    pieces += [xp.stack([b, c, on_c], axis=1), xp.stack([b, on_c, on_b], axis=1)]
    sources += [own, own]
    return xp.concat(pieces, axis=0), xp.concat(sources, axis=0)


def _cross(inner: Any, outer: Any, inner_distance: Any, outer_distance: Any) -> Any:
    """Where an edge meets the plane, (n, 4)."""
    return inner + (outer - inner) * (inner_distance / (inner_distance - outer_distance))


def _first(xp: Any, flags: Any) -> Any:
    """Index of the only true flag of three, (n,) int64."""
    return xp.astype(flags[:, 1], xp.int64) + xp.astype(flags[:, 2], xp.int64) * 2


def _turned(xp: Any, corners: Any, first: Any) -> list[Any]:
    """The three corners from ``first`` on, the order of turning kept; each (n, ...)."""
    result = []
    for step in range(3):
        place = (first + step) % 3
        at = [xp.astype(place == i, corners.dtype)[:, None] for i in range(3)]
        result.append(corners[:, 0, ...] * at[0] + corners[:, 1, ...] * at[1] + corners[:, 2, ...] * at[2])
    return result


def _with_pieces(xp: Any, triangles: Triangles, pieces: Any, source: Any, uniforms: Uniforms) -> Triangles:
    """Append the pieces' vertices and bring all triangles into ascending order of source."""
    device = current().device
    clip = xp.reshape(pieces, (-1, 4))
    inside = xp.zeros(clip.shape[0], dtype=xp.bool, device=device)
    screen, depth, _ = to_screen(xp, clip, inside, uniforms)
    start = triangles.screen.shape[0]
    new = xp.arange(start, start + clip.shape[0], dtype=xp.int64, device=device)
    corners = xp.concat([triangles.corners, xp.reshape(new, (-1, 3))], axis=0)
    source = xp.concat([triangles.source, source], axis=0)
    order = xp.argsort(source, stable=True)
    return Triangles(
        xp.take(corners, order, axis=0),
        xp.take(source, order, axis=0),
        xp.concat([triangles.screen, screen], axis=0),
        xp.concat([triangles.depth, depth], axis=0),
    )
