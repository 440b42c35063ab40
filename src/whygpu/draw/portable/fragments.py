"""Which triangles show in which pixel: one where all is opaque and sampled once, else a list for each pixel.

A pixel is sampled at its centre or at several places (multisampling): then the scene is rasterised once for
each place, the picture moved by that much. What is not opaque is kept wherever it lies before what is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whygpu.draw.fast.rules import ONE
from whygpu.draw.fast.samples import PATTERNS
from whygpu.draw.geometry import Geometry
from whygpu.draw.portable.clip import Triangles, assemble
from whygpu.draw.portable.raster import Visible, covered, rasterise
from whygpu.draw.portable.transform import Vertices
from whygpu.draw.uniforms import Uniforms
from whygpu.engine import current, other

__all__ = ["Fragments", "gather", "gather_opaque"]


@dataclass(frozen=True, eq=False)
class Fragments:
    """Pixels and the triangles that show in them, n pairs, ordered by pixel, then front to back."""

    pixel: Any
    """(n,) int64."""
    triangle: Any
    """(n,) int64."""
    depth: Any
    """(n,) float32: at the nearest sample that shows it."""
    mask: Any
    """(n,) int64: bit s is set where sample s shows the triangle."""


@dataclass(frozen=True, eq=False)
class Faces:
    """What is known of each triangle, (T,) bool."""

    flip: Any
    """Front faces wind clockwise."""
    both: Any
    """Backs are drawn too."""
    solid: Any
    """It is opaque ..."""
    mixed: Any
    """... or masked or blended."""


def gather(
    geometry: Geometry, vertices: Vertices, uniforms: Uniforms, hidden: int
) -> tuple[Fragments, Visible]:
    """List the fragments of a frame; also what is opaque and nearest, of all samples, by pixel.

    The first ``hidden`` triangles hide others, but are not seen.
    """
    xp = current().xp
    faces = _faces(geometry, uniforms)
    lists: list[tuple[Any, ...]] = []
    nearest: Visible | None = None
    for sample, offset in enumerate(PATTERNS[uniforms.samples]):
        moved, constants = _moved(vertices, uniforms, offset)
        visible = rasterise(
            assemble(geometry, moved, constants, faces.solid), faces.both, faces.flip, constants
        )
        lists += [(*entry, sample) for entry in _opaque(xp, visible, hidden)]
        if (uniforms.mixed >= 0).any():
            triangles = assemble(geometry, moved, constants, faces.mixed)
            found, tested = _mixed(xp, triangles, faces, constants, visible, hidden)
            lists += [(*entry, sample) for entry in found]
            visible = replace(visible, tested=visible.tested + tested)
        visible = _without(xp, visible, hidden)
        nearest = visible if nearest is None else _nearer(xp, nearest, visible)
    assert nearest is not None
    with other("fragment sort", size=48 * sum(entry[0].shape[0] for entry in lists)):
        return _merged(xp, lists), nearest


def gather_opaque(geometry: Geometry, vertices: Vertices, uniforms: Uniforms) -> Visible:
    """What is opaque and nearest, by pixel."""
    faces = _faces(geometry, uniforms)
    return rasterise(assemble(geometry, vertices, uniforms, faces.solid), faces.both, faces.flip, uniforms)


def _faces(geometry: Geometry, uniforms: Uniforms) -> Faces:
    backend = current()
    of_node = np.diff(geometry.triangle_start)

    def of_triangle(values: Any) -> Any:
        return backend.asarray(np.repeat(values, of_node), "int64") == 1

    both = (uniforms.double_sided > 0) | (uniforms.mixed > 0)
    return Faces(*map(of_triangle, (uniforms.flip, both, uniforms.double_sided >= 0, uniforms.mixed >= 0)))


def _without(xp: Any, visible: Visible, hidden: int) -> Visible:
    """The picture with nothing where one of the first ``hidden`` triangles is nearest."""
    if not hidden:
        return visible
    gone = visible.ids < hidden
    one, none = xp.ones_like(visible.depth), xp.zeros_like(visible.ids) - 1
    return replace(visible, depth=xp.where(gone, one, visible.depth), ids=xp.where(gone, none, visible.ids))


def _moved(vertices: Vertices, uniforms: Uniforms, offset: tuple[int, int]) -> tuple[Vertices, Uniforms]:
    """The picture moved so that a sample lies on the pixels' centres."""
    x, y = (part * (ONE // 16) for part in offset)
    if x == y == 0:
        return vertices, uniforms
    viewport = uniforms.viewport.copy()
    viewport[1] -= x
    viewport[3] -= y
    by = current().asarray(np.array([x, y]), "int64")
    return replace(vertices, screen=vertices.screen - by), replace(uniforms, viewport=viewport)


def _opaque(xp: Any, visible: Visible, hidden: int) -> list[tuple[Any, Any, Any, bool]]:
    (pixel,) = xp.nonzero(visible.ids >= hidden)
    return [(pixel, xp.take(visible.depth, pixel, axis=0), xp.take(visible.ids, pixel, axis=0), True)]


def _mixed(
    xp: Any, triangles: Triangles, faces: Faces, uniforms: Uniforms, visible: Visible, hidden: int
) -> tuple[list[tuple[Any, Any, Any, bool]], int]:
    """What is not opaque and lies before what is; and how many pixels were tested."""
    entries, tested = [], 0
    for (pixel, depth, source), looked in covered(triangles, faces.both, faces.flip, uniforms):
        (seen,) = xp.nonzero((depth < xp.take(visible.depth, pixel, axis=0)) & (source >= hidden))
        entries.append((*(xp.take(a, seen, axis=0) for a in (pixel, depth, source)), False))
        tested += looked
    return entries, tested


def _nearer(xp: Any, a: Visible, b: Visible) -> Visible:
    """Pixel by pixel the nearer of two samples, the lower id on a tie."""
    second = (b.depth < a.depth) | ((b.depth == a.depth) & (b.ids < a.ids))
    return Visible(xp.where(second, b.depth, a.depth), xp.where(second, b.ids, a.ids), a.tested + b.tested)


def _merged(xp: Any, lists: list[tuple[Any, ...]]) -> Fragments:
    """One entry for each pixel and triangle, with the mask of its samples, in order."""
    pixel, depth, triangle = (xp.concat([entry[i] for entry in lists], axis=0) for i in range(3))
    behind = xp.concat([xp.zeros_like(e[0]) + int(e[3]) for e in lists], axis=0)
    bit = xp.concat([xp.zeros_like(e[0]) + (1 << e[4]) for e in lists], axis=0)
    if pixel.shape[0] == 0:
        return Fragments(pixel, triangle, depth, bit)
    order = xp.argsort(depth, stable=True)  # so that the first of each triangle is its nearest sample
    for key in (triangle, pixel):
        order = xp.take(order, xp.argsort(xp.take(key, order, axis=0), stable=True), axis=0)
    pixel, depth, triangle, behind, bit = (
        xp.take(a, order, axis=0) for a in (pixel, depth, triangle, behind, bit)
    )
    new = (pixel[1:] != pixel[:-1]) | (triangle[1:] != triangle[:-1])
    yes = xp.ones_like(pixel[:1]) == 1
    (first,) = xp.nonzero(xp.concat([yes, new], axis=0))
    (last,) = xp.nonzero(xp.concat([new, yes], axis=0))
    sums = xp.cumulative_sum(bit)
    mask = xp.take(sums, last, axis=0) - xp.take(sums, first, axis=0) + xp.take(bit, first, axis=0)
    pixel, depth, triangle, behind = (xp.take(a, first, axis=0) for a in (pixel, depth, triangle, behind))
    order = xp.argsort(depth, stable=True)  # ids ascend already
    for key in (behind, pixel):
        order = xp.take(order, xp.argsort(xp.take(key, order, axis=0), stable=True), axis=0)
    return Fragments(*(xp.take(a, order, axis=0) for a in (pixel, triangle, depth, mask)))
