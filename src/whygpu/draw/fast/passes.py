"""The passes of the fast path: their kernels, and what the ledger is told."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from whygpu import engine
from whygpu.draw.fast.account import account
from whygpu.draw.fast.block import LANES
from whygpu.draw.fast.fields import BLOCK
from whygpu.draw.fast.full import Full
from whygpu.draw.fast.lists import Lists
from whygpu.draw.fast.raster import raster
from whygpu.draw.fast.rules import ONE, OUTSIDE
from whygpu.draw.fast.samples import PATTERNS
from whygpu.draw.fast.shade import shade
from whygpu.draw.fast.shadow import BEYOND
from whygpu.draw.fast.transform import transform
from whygpu.draw.fast.workspace import Workspace
from whygpu.draw.frame import Frame
from whygpu.draw.geometry import Geometry
from whygpu.draw.light import Background
from whygpu.draw.scene import Camera, Scene
from whygpu.draw.uniforms import Options, Uniforms
from whygpu.draw.uniforms import uniforms as make_uniforms
from whygpu.engine import jit

__all__ = ["Passes", "compile_beside", "compile_shade"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Matrix = NDArray[np.float64]


class Passes:
    """One frame on the engine's threads.

    Call ``shadows`` where there are any, ``vertex``, ``raster``, ``shade``, ``close``, in this order.
    """

    def __init__(
        self, geometry: Geometry, uniforms: Uniforms, threads: int | None, out: Frame | None = None
    ) -> None:
        self.geometry, self.uniforms = geometry, uniforms
        self.team = engine.team(threads or engine.current().threads)
        height, width = uniforms.height, uniforms.width
        if out is not None and out.ids.shape == (height, width):
            self.depth, self.ids, self.rgba = out.depth, out.ids, out.rgba
        else:
            self.depth = np.empty((height, width), np.float32)
            self.ids = np.empty((height, width), np.int32)
            self.rgba = np.empty((height, width, 4), np.uint8)
        self.normals = np.zeros((height, width, 3), np.float32) if uniforms.normals else None
        self.maps = np.empty((0, 1, 1), np.float32)
        self.lists: Lists | None = None
        self.pixels_tested = self.pixels_lit = 0
        try:
            self.space: Workspace = geometry.spare.pop()
        except IndexError:
            self.space = Workspace(geometry, self.team.size)
        if self.space.threads != self.team.size:
            self.space = Workspace(geometry, self.team.size)

    def close(self) -> None:
        """Leave the working space to the next frame."""
        self.geometry.spare[:] = [self.space]

    def shadows(self, constants: list[Uniforms]) -> None:
        """Draw the depth that each light's cameras see."""
        side = self.uniforms.shadows.side
        texels = np.empty(len(constants) * side * side + BEYOND, np.float32)
        self.maps = texels[:-BEYOND].reshape(len(constants), side, side)
        unused = np.empty((side, side), np.int32)
        for depth, uniforms in zip(self.maps, constants, strict=True):
            self._transform(uniforms)
            self._raster(uniforms, uniforms.viewport, depth, unused)

    def vertex(self) -> None:
        """Transform all vertices."""
        self._transform(self.uniforms)

    def raster(self, hidden: int = 0) -> None:
        """Find the nearest triangle of every pixel; the first ``hidden`` ones hide, but are not shown."""
        u = self.uniforms
        if u.samples == 1:
            nearest, ids = self.depth[None], self.ids[None]
            self.pixels_tested += self._raster(u, u.viewport, self.depth, self.ids)
        else:
            nearest = np.empty((u.samples, u.height, u.width), np.float32)
            ids = np.empty((u.samples, u.height, u.width), np.int32)
            self._multisample(nearest, ids)
        if u.samples > 1 or hidden or (u.mixed >= 0).any():
            self.lists = Lists(self.team, self.geometry, u, self.space, nearest, ids, hidden)
            self.lists.plan()

    def shade(self) -> None:
        """Colour every pixel."""
        u = self.uniforms
        pixels = self.rgba.view(np.int32)[:, :, 0]
        background = u.background.view(np.int32)[:, 0]
        if self.lists is None:
            self._shade(self.ids, background, pixels, self._full())
            return
        lists, facing = self.lists, self.normals
        full = self._full()
        assert full is not None
        lit = self._shade(lists.shown, background, pixels, full)
        for batch in lists.batches(self.depth, self.ids, facing is not None):
            listed = full._replace(
                places=batch.places,
                colors=batch.colors,
                facing=batch.facing,
                alone=u.samples > 1,
                listed=1,
            )
            empty = np.zeros(len(batch.places), np.int32)
            lit += self._shade(batch.owners, empty, batch.places, listed)
            lists.blend(batch, self.depth, self.ids, pixels, full.facing)
        self.pixels_tested += lists.tested
        self.pixels_lit = int(np.count_nonzero(self.ids >= 0))

    def _transform(self, u: Uniforms) -> None:
        g, space = self.geometry, self.space
        started = perf_counter()
        self.team.run(
            transform, g.positions.reshape(-1), g.vertex_start, u.clip, u.grid, u.viewport, u.depth_scale,
            space.fixed.reshape(-1), space.found[2],
        )  # fmt: skip
        seconds = perf_counter() - started
        if engine.listening():
            counts = np.diff(g.vertex_start).tolist()
            products = [("model-view-projection", "float64", 1, m, 4, 4, 28) for m in counts]
            account(products, [("divide, snap", 12 * sum(counts), 4 * sum(counts))], seconds)

    def _raster(self, u: Uniforms, viewport: Matrix, depth: Floats, ids: Ints) -> int:
        """Run the raster stage; returns how many pixels were tested."""
        g, space = self.geometry, self.space
        screen = space.screen(u.width, u.height)
        space.next[:] = 0
        started = perf_counter()
        self.team.run(
            raster, g.positions, g.triangles.reshape(-1), g.triangle_start, u.flip, u.double_sided, u.clip,
            u.grid, viewport, *space.flat, space.kept, screen.counts, screen.begin, space.ordered,
            space.next[0], space.judged, space.wide, space.clip, space.pieces, space.pieces.view(np.float32),
            space.words, space.reals, screen.keys, depth, ids, space.found[0],
        )  # fmt: skip
        seconds = perf_counter() - started
        tested = int(space.found[0].sum())
        if engine.listening():
            triangles, pixels = len(g.triangles), depth.size
            others = [
                ("primitive assembly", 12 * triangles, 76 * triangles),
                ("depth test", 8 * tested, 16 * tested + 24 * pixels),
            ]
            account([("edge functions", "int64", 1, tested, 3, 3, 0)], others, seconds)
        return tested

    def _multisample(self, nearest: Floats, ids: Ints) -> None:
        """Run the raster stage once for each sample, the picture moved so that it lies on pixels' centres."""
        u, fixed = self.uniforms, self.space.fixed
        inside = fixed[:, 0] != OUTSIDE
        at = np.zeros(2, np.int32)
        for sample, offset in enumerate(PATTERNS[u.samples]):
            place = np.array(offset, np.int32) * (ONE // 16)
            for axis in range(2):
                column = fixed[:, axis]
                np.subtract(column, place[axis] - at[axis], out=column, where=inside)
            at = place
            viewport = u.viewport.copy()
            viewport[1] -= place[0]
            viewport[3] -= place[1]
            self.pixels_tested += self._raster(u, viewport, nearest[sample], ids[sample])
        for axis in range(2):
            np.add(fixed[:, axis], at[axis], out=fixed[:, axis], where=inside)

    def _full(self) -> Full | None:
        """What the full variant of the shade kernel needs; None for the plain one."""
        g, u, space = self.geometry, self.uniforms, self.space
        if not u.full:
            return None
        t = g.textures
        return Full(
            g.uv, g.tangents, t.texels, t.levels, t.samplers, t.transforms, u.linear, u.sight,
            u.distance, u.orthographic, u.located, u.lamps, self.maps, u.shadows.matrices, space.functions,
            space.places, space.coordinates, False, 0, np.empty((1, BLOCK), np.int32),
            np.empty((0, 4), np.float32),
            np.empty((0, 0, 3), np.float32) if self.normals is None else self.normals,
        )  # fmt: skip

    def _shade(self, ids: Ints, background: Ints, out: Ints, full: Full | None) -> int:
        g, u, space = self.geometry, self.uniforms, self.space
        space.next[:] = 0
        started = perf_counter()
        self.team.run(
            shade, g.positions, g.colors, g.triangles.reshape(-1), g.triangle_start, u.flip, u.clip, u.grid,
            u.viewport, u.depth_scale, space.flat[2], g.normals.reshape(-1).view(np.int32),
            u.normal.astype(np.float32),
            bool(space.found[2].any()), u.material, u.rays, u.lights, u.ambient, background, ids,
            space.next[1], space.runs, space.raw, space.corners, space.attributes, space.linear, space.block,
            out, space.found[1], full,
        )  # fmt: skip
        seconds = perf_counter() - started
        lit = int(space.found[1].sum())
        self.pixels_lit += lit
        if engine.listening():
            self._account_shade(lit, ids.size, full, seconds)
        return lit

    def _account_shade(self, lit: int, pixels: int, full: Full | None, seconds: float) -> None:
        g, u = self.geometry, self.uniforms
        columns = 3 + (3 if full is None else 4) * bool(len(g.colors)) + 4 * bool(len(g.tangents))
        products = [
            ("barycentric weights", "float32", lit, 1, 3, 3, 60),
            ("interpolation", "float32", lit, 1, columns, 3, 12 * columns),
            ("normal transform", "float32", 1, lit, 3, 3, 0),
        ]
        others = [
            ("lighting", (75 + 50 * len(u.lights)) * lit, 0),
            ("sRGB encode", 90 * lit, 8 * pixels),
        ]
        if full is not None and len(g.uv):
            slots = int((g.textures.samplers[:, :, 1] > 0).sum(1).max())
            products.append(("texture coordinates", "float64", lit, 3, 4, 3, 32))
            others.append(("texture sampling", 150 * slots * lit, 64 * slots * lit))
        if full is not None and len(self.maps):
            cast = int((u.lamps[:, 13] >= 0).sum())
            others.append(("shadow test", 100 * cast * lit, 64 * cast * lit))
        account(products, others, seconds)


def compile_beside(uniforms: Uniforms) -> Callable[[], None]:
    """Where no kernel is cached yet, compile ``shade`` beside the others; call the result before shading."""
    return jit.beside(shade, f"from {__name__} import compile_shade; compile_shade({uniforms.full})")


def compile_shade(full: bool) -> None:
    """Shade a picture of nothing: the process that ``compile_beside`` starts does this."""
    scene = Scene(())
    constants = make_uniforms(scene, Camera(), LANES, 1, Background(), Options(normals=full))
    passes = Passes(scene.geometry, constants, 1)
    passes.ids[:] = -1
    passes.shade()
