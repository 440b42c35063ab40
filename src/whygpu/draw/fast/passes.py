"""The three passes of the fast path: their working space, their kernels, and what the ledger is told."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from whygpu import engine
from whygpu.draw.fast.bins import BIN_SPACE, BIN_WORDS, ROWS
from whygpu.draw.fast.block import LANES
from whygpu.draw.fast.clip import MAX_PIECES
from whygpu.draw.fast.raster import raster
from whygpu.draw.fast.runs import ATTRIBUTES, BLOCK, CORNERS, LINEAR, RUNS
from whygpu.draw.fast.shade import FIELDS, shade
from whygpu.draw.fast.small import REALS, WORDS
from whygpu.draw.fast.transform import transform
from whygpu.draw.geometry import Geometry
from whygpu.draw.light import Background
from whygpu.draw.scene import Camera, Scene
from whygpu.draw.uniforms import Uniforms
from whygpu.draw.uniforms import uniforms as make_uniforms
from whygpu.engine import jit

__all__ = ["Passes", "Workspace", "compile_beside", "compile_shade"]

APART = 16
"""Unused int64 between two threads' counters, so that they share no cache line."""


class Workspace:
    """Arrays that one frame needs and the next can use again: fresh memory costs more than the work on it.

    24 bytes a triangle, 28 a vertex, and about half a megabyte a thread.
    """

    def __init__(self, geometry: Geometry, size: int, width: int, height: int) -> None:
        self.fits = (size, width, height)
        vertices, triangles, bands = len(geometry.positions), len(geometry.triangles), -(-height // ROWS)
        self.fixed = np.empty((vertices, 4), np.int32)
        self.real = self.fixed.view(np.float32)
        self.flat = [self.fixed.reshape(-1).view(kind) for kind in (np.int32, np.float32, np.int64)]
        self.world_normals = np.empty((vertices, 3), np.float32)
        self.kept = np.empty((triangles, 2), np.int32)
        self.ordered = np.empty((2 * triangles, 2), np.int32)
        self.counts = np.empty((size, bands + 1 + APART), np.int64)
        self.begin = np.empty(bands + 2, np.int64)
        self.judged = np.empty((size, BIN_SPACE), np.int32)
        self.wide = np.empty((size, BIN_WORDS), np.int64)
        self.words = np.zeros((size, WORDS), np.int64)
        self.reals = np.zeros((size, REALS))
        self.clip = np.empty((size, 2, MAX_PIECES, 3, 4))
        self.pieces = np.empty((size, 3 * MAX_PIECES, 4), np.int32)
        self.keys = _aligned(size, ROWS * (-(-width // LANES) * LANES))
        self.runs = np.empty((size, RUNS * BLOCK), np.int32)
        self.corners = np.empty((size, CORNERS * BLOCK))
        self.attributes = np.empty((size, ATTRIBUTES * BLOCK), np.float32)
        self.linear = np.empty((size, LINEAR * BLOCK), np.float32)
        self.block = np.ones((size, FIELDS * BLOCK), np.float32)
        self.next = np.zeros((2, 8), np.int64)  # counters that threads share, a cache line each
        self.found = np.zeros((3, size), np.int64)  # pixels tested, pixels lit, vertices clipped


def _aligned(rows: int, columns: int) -> NDArray[np.int64]:
    """(rows, columns) int64, the rows at the start of a cache line where ``columns`` is a multiple of 8."""
    space = np.empty(rows * columns + 8, np.int64)
    start = -space.ctypes.data % 64 // 8
    return space[start : start + rows * columns].reshape(rows, columns)


class Passes:
    """One frame on the engine's threads: call ``vertex``, ``raster``, ``shade``, ``close`` in this order."""

    def __init__(self, geometry: Geometry, uniforms: Uniforms, threads: int | None) -> None:
        self.geometry, self.uniforms = geometry, uniforms
        self.team = engine.team(threads or engine.current().threads)
        height, width = uniforms.height, uniforms.width
        self.depth = np.empty((height, width), np.float32)
        self.ids = np.empty((height, width), np.int32)
        self.rgba = np.empty((height, width, 4), np.uint8)
        self.pixels_tested = self.pixels_lit = 0
        try:
            self.space: Workspace = geometry.spare.pop()
        except IndexError:
            self.space = Workspace(geometry, self.team.size, width, height)
        if self.space.fits != (self.team.size, width, height):
            self.space = Workspace(geometry, self.team.size, width, height)
        self.space.next[:] = 0

    def close(self) -> None:
        """Leave the working space to the next frame."""
        self.geometry.spare[:] = [self.space]

    def vertex(self) -> None:
        """Transform all vertices and normals."""
        g, u, space = self.geometry, self.uniforms, self.space
        started = perf_counter()
        self.team.run(
            transform, g.positions.reshape(-1), g.normals.reshape(-1), g.vertex_start, u.clip, u.grid,
            u.normal.astype(np.float32), u.viewport, u.depth_scale, space.fixed.reshape(-1),
            space.world_normals.reshape(-1), space.found[2],
        )  # fmt: skip
        seconds = perf_counter() - started
        if engine.listening():
            counts = np.diff(g.vertex_start).tolist()
            products = [("model-view-projection", "float64", 1, m, 4, 4, 28) for m in counts]
            products += [("normal transform", "float32", 1, m, 3, 3, 24) for m in counts]
            _account(products, [("divide, snap", 12 * sum(counts), 4 * sum(counts))], seconds)

    def raster(self) -> None:
        """Find the nearest triangle of every pixel."""
        g, u, space = self.geometry, self.uniforms, self.space
        started = perf_counter()
        self.team.run(
            raster, g.positions, g.triangles.reshape(-1), g.triangle_start, u.flip, u.double_sided, u.clip,
            u.grid, u.viewport, *space.flat, space.kept, space.counts, space.begin, space.ordered,
            space.next[0], space.judged, space.wide, space.clip, space.pieces, space.pieces.view(np.float32),
            space.words, space.reals, space.keys, self.depth, self.ids, space.found[0],
        )  # fmt: skip
        seconds = perf_counter() - started
        self.pixels_tested = tested = int(space.found[0].sum())
        if engine.listening():
            triangles, pixels = len(g.triangles), self.depth.size
            others = [
                ("primitive assembly", 12 * triangles, 76 * triangles),
                ("depth test", 8 * tested, 16 * tested + 24 * pixels),
            ]
            _account([("edge functions", "int64", 1, tested, 3, 3, 0)], others, seconds)

    def shade(self) -> None:
        """Colour every pixel."""
        g, u, space = self.geometry, self.uniforms, self.space
        started = perf_counter()
        self.team.run(
            shade, g.positions, g.colors, g.triangles, g.triangle_start, u.flip, u.clip, u.grid, u.viewport,
            u.depth_scale, space.fixed, space.real, space.world_normals, bool(space.found[2].any()),
            u.material, u.rays, u.lights, u.ambient, u.background.view(np.int32)[:, 0], self.ids,
            space.next[1], space.runs, space.corners, space.attributes, space.linear, space.block,
            self.rgba.view(np.int32)[:, :, 0], space.found[1],
        )  # fmt: skip
        seconds = perf_counter() - started
        self.pixels_lit = pixels = int(space.found[1].sum())
        if engine.listening():
            attributes = 6 if len(g.colors) else 3
            products = [
                ("barycentric weights", "float32", pixels, 1, 3, 3, 60),
                ("interpolation", "float32", pixels, 1, attributes, 3, 12 * attributes),
            ]
            others = [
                ("lighting", (60 + 36 * len(u.lights)) * pixels, 0),
                ("sRGB encode", 90 * pixels, 8 * self.depth.size),
            ]
            _account(products, others, seconds)


def compile_beside() -> Callable[[], None]:
    """Where no kernel is cached yet, compile ``shade`` beside the others; call the result before shading."""
    return jit.beside(shade, f"from {__name__} import compile_shade; compile_shade()")


def compile_shade() -> None:
    """Shade a picture of nothing: the process that ``compile_beside`` starts does this."""
    scene = Scene(())
    passes = Passes(scene.geometry, make_uniforms(scene, Camera(), LANES, 1, Background()), 1)
    passes.ids[:] = -1
    passes.shade()


def _account(
    products: list[tuple[str, str, int, int, int, int, int]],
    others: list[tuple[str, int, int]],
    seconds: float,
) -> None:
    """Tell the ledger what a fused kernel contains; its time is divided in proportion to FLOP.

    ``products`` are (name, dtype, batch, m, n, k, bytes a row of the result), ``others`` (name, FLOP, bytes).
    Edge functions live in registers from the triangle's set-up to the depth test: they move no bytes.
    """
    flop = [2 * batch * m * n * k for _, _, batch, m, n, k, _ in products] + [work for _, work, _ in others]
    second = seconds / max(1, sum(flop))
    for (name, dtype, batch, m, n, k, row), work in zip(products, flop, strict=False):
        engine.report(
            name, batch=batch, m=m, n=n, k=k, dtype=dtype, size=row * batch * m, seconds=work * second
        )
    for name, work, size in others:
        engine.report_other(name, flop=work, size=size, seconds=work * second)
