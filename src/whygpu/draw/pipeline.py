"""A scene becomes a frame: vertex stage, raster stage, shade stage, in one of two paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

import numpy as np

from whygpu.draw.camera import framing
from whygpu.draw.fast.rules import MAX_SIDE
from whygpu.draw.frame import Frame, Statistics
from whygpu.draw.light import Background
from whygpu.draw.scene import Camera, Scene
from whygpu.draw.uniforms import uniforms
from whygpu.engine import Backend, Progress, UserError, current, scope, silent, using

__all__ = ["render"]


def render(
    scene: Scene,
    size: tuple[int, int] = (1280, 720),
    *,
    camera: Camera | None = None,
    backend: Backend | str | None = None,
    path: str = "auto",
    threads: int | None = None,
    background: Background | str | Sequence[float] | None = None,
    progress: Progress = silent,
) -> Frame:
    """Draw a scene.

    Parameters
    ----------
    scene
        What to draw; ``load`` makes one.
    size
        Width and height in pixels.
    camera
        Where to look from; None: the scene's own camera, else one that shows all of it.
    backend
        Where the products run; None: the current backend.
    path
        ``portable`` (Array API, any backend), ``fast`` (Numba kernels, the CPU's backend) or ``auto``.
    threads
        Threads of the fast path; None: the backend's. The picture does not depend on it.
    background
        ``"transparent"``, an sRGB colour (3 or 4 numbers from 0 to 1), a ``Background``; None: the scene's.
    progress
        Told which stage runs and what is being compiled.

    Raises
    ------
    UserError
        For a size, path, thread count, background or camera that cannot be.
    """
    width, height = _size(size)
    chosen = _background(scene, background)
    camera = camera or scene.camera or framing(scene, width / height)
    with using(backend):
        if _path(path, threads) == "fast":
            return _fast(scene, camera, width, height, chosen, threads, progress)
        return _portable(scene, camera, width, height, chosen, progress)


def _portable(
    scene: Scene, camera: Camera, width: int, height: int, background: Background, progress: Progress
) -> Frame:
    from whygpu.draw.portable.clip import assemble
    from whygpu.draw.portable.raster import rasterise
    from whygpu.draw.portable.shade import shade
    from whygpu.draw.portable.transform import transform

    backend = current()
    _require_float64(backend)
    geometry = scene.geometry
    seconds: dict[str, float] = {}
    progress("progress.vertex", 0.0, path="portable")
    with _stage("vertex", seconds):
        constants = uniforms(scene, camera, width, height, background)
        vertices = transform(geometry, constants)
    progress("progress.raster", 0.2, path="portable")
    with _stage("raster", seconds):
        triangles = assemble(geometry, vertices, constants)
        of_node = np.diff(geometry.triangle_start)
        double_sided = backend.asarray(np.repeat(constants.double_sided, of_node), "int64") == 1
        flip = backend.asarray(np.repeat(constants.flip, of_node), "int64") == 1
        visible = rasterise(triangles, double_sided, flip, constants)
    progress("progress.shade", 0.8, path="portable")
    with _stage("shade", seconds):
        rgba, lit = shade(geometry, vertices, visible, constants)
        depth = np.asarray(backend.to_numpy(visible.depth), np.float32)
        ids = np.asarray(backend.to_numpy(visible.ids), np.int32)
    statistics = Statistics(scene.triangles, scene.vertices, visible.tested, lit, "portable", seconds)
    shape = (height, width)
    return Frame(np.asarray(rgba).reshape(*shape, 4), depth.reshape(shape), ids.reshape(shape), statistics)


def _fast(
    scene: Scene,
    camera: Camera,
    width: int,
    height: int,
    background: Background,
    threads: int | None,
    progress: Progress,
) -> Frame:
    progress("progress.kernels", None, path="fast")
    from whygpu.draw.fast.passes import Passes, compile_beside

    shade_compiled = compile_beside()
    geometry = scene.geometry
    seconds: dict[str, float] = {}
    with _stage("vertex", seconds):
        passes = Passes(geometry, uniforms(scene, camera, width, height, background), threads)
        passes.vertex()
    with _stage("raster", seconds):
        passes.raster()
    shade_compiled()
    with _stage("shade", seconds):
        passes.shade()
    passes.close()
    statistics = Statistics(
        scene.triangles, scene.vertices, passes.pixels_tested, passes.pixels_lit, "fast", seconds
    )
    return Frame(passes.rgba, passes.depth, passes.ids, statistics)


@contextmanager
def _stage(name: str, seconds: dict[str, float]) -> Iterator[None]:
    started = perf_counter()
    with scope("draw", name):
        yield
    seconds[name] = perf_counter() - started


def _size(size: tuple[int, int]) -> tuple[int, int]:
    try:
        width, height = (int(side) for side in size)
        whole = (width, height) == tuple(size)
    except (TypeError, ValueError):
        whole = False
    if not whole or not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise UserError(f"size {size!r}: give width and height in whole pixels, each from 1 to {MAX_SIDE}")
    return width, height


def _path(path: str, threads: int | None) -> str:
    if threads is not None and threads < 1:
        raise UserError(f"threads: {threads} is not a number of threads; give 1 or more")
    if path not in ("auto", "fast", "portable"):
        raise UserError(f"path {path!r} is unknown; known: auto, fast, portable")
    if path == "fast" and not current().fast:
        raise UserError(f"path 'fast' needs the device cpu, not {current().name}; use path 'portable'")
    return ("fast" if current().fast else "portable") if path == "auto" else path


def _background(scene: Scene, background: Background | str | Sequence[float] | None) -> Background:
    if background is None:
        return scene.background
    if isinstance(background, Background):
        return background
    if background == "transparent":
        return Background((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0))
    try:
        red, green, blue, alpha = [*(float(part) for part in background), 1.0][:4]
    except (TypeError, ValueError):
        red = green = blue = alpha = float("nan")
    color = (red, green, blue, alpha)
    if not all(0 <= part <= 1 for part in color):
        raise UserError(
            f"background {background!r}: give 'transparent' or red, green, blue (and alpha) from 0 to 1"
        )
    return replace(scene.background, top=color, bottom=color)


def _require_float64(backend: Backend) -> None:
    """Positions are transformed in float64; some devices have none."""
    try:
        wide = backend.asarray([1.0], "float64").dtype == backend.xp.float64
    except (TypeError, RuntimeError):
        wide = False
    if not wide:
        raise UserError(f"device {backend.name} has no float64, which drawing needs; use cpu or torch:cpu")
