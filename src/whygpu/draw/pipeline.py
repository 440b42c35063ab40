"""A scene becomes a frame: vertex stage, raster stage, shade stage, in one of two paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from time import perf_counter

from whygpu.draw.camera import framing
from whygpu.draw.fast.rules import MAX_SIDE
from whygpu.draw.fast.samples import PATTERNS
from whygpu.draw.frame import Frame, Statistics
from whygpu.draw.light import Background, Light
from whygpu.draw.lines import with_lines
from whygpu.draw.scene import Camera, Scene, View
from whygpu.draw.uniforms import Options, Uniforms, of_shadows, uniforms
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
    lights: Sequence[Light] | None = None,
    shadows: bool = False,
    samples: int = 1,
    wireframe: bool | str = False,
    exposure: float = 0.0,
    normals: bool = False,
    out: Frame | None = None,
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
    lights
        In place of the scene's.
    shadows
        Whether lights cast shadows (those that may: ``Light.casts_shadow``).
    samples
        Where each pixel is sampled for coverage and depth: 1, 4 or 16 places; colours once a triangle.
    wireframe
        Show the edges of triangles alone: ``True`` or ``"hidden"`` without those that lie behind a triangle,
        ``"through"`` all of them.
    exposure
        In stops: 1 makes everything twice as bright.
    normals
        Whether the frame carries the normals of what is seen.
    out
        A frame of the same size that is no longer needed: the fast path draws into its arrays, which spares
        the time for fresh memory, and the frame returned has these very arrays.
    progress
        Told which stage runs and what is being compiled.

    Raises
    ------
    UserError
        For a size, path, thread count, background, camera or option that cannot be.
    """
    width, height = _size(size)
    chosen = _background(scene, background)
    options = _options(lights, shadows, samples, exposure, normals)
    camera = camera or scene.camera or _framing(scene, width / height)
    with using(backend):
        which = _path(path, threads)
        with scope("draw", "vertex"):
            edges = _wireframe(wireframe)
            drawn = with_lines(scene, camera, width, height, edges)
        hidden = scene.triangles if edges == "hidden" else 0
        request = Request(drawn, camera, width, height, chosen, options, hidden)
        return _fast(request, threads, out, progress) if which == "fast" else _portable(request, progress)


@dataclass(frozen=True, eq=False)
class Request:
    """One frame, as both paths get it."""

    scene: Scene
    camera: Camera
    width: int
    height: int
    background: Background
    options: Options
    hidden: int
    """So many triangles, the first ones, hide what is behind them but are not shown themselves."""

    def uniforms(self) -> Uniforms:
        """The frame's constants."""
        return uniforms(self.scene, self.camera, self.width, self.height, self.background, self.options)


def _portable(request: Request, progress: Progress) -> Frame:
    from whygpu.draw.portable.fragments import gather
    from whygpu.draw.portable.shade import compose, shade, to_numpy
    from whygpu.draw.portable.shadow import draw_maps
    from whygpu.draw.portable.transform import transform

    _require_float64(current())
    geometry = request.scene.geometry
    seconds: dict[str, float] = {}
    progress("progress.vertex", 0.0, path="portable")
    with _stage("vertex", seconds):
        constants = request.uniforms()
    maps = None
    if constants.shadows.cameras:
        with _stage("shadow", seconds):
            maps = draw_maps(geometry, of_shadows(request.scene, constants))
    with _stage("vertex", seconds):
        vertices = transform(geometry, constants)
    progress("progress.raster", 0.2, path="portable")
    with _stage("raster", seconds):
        fragments, visible = gather(geometry, vertices, constants, request.hidden)
    progress("progress.shade", 0.8, path="portable")
    with _stage("shade", seconds):
        shaded = shade(geometry, vertices, fragments, constants, maps)
        picture, lit = compose(geometry, fragments, shaded, visible, constants)
        rgba, depth, ids, normals = to_numpy(picture, request.height, request.width)
    scene = request.scene
    statistics = Statistics(scene.triangles, scene.vertices, visible.tested, lit, "portable", seconds)
    return Frame(rgba, depth, ids, statistics, normals)


def _fast(request: Request, threads: int | None, out: Frame | None, progress: Progress) -> Frame:
    progress("progress.kernels", None, path="fast")
    from whygpu.draw.fast.passes import Passes, compile_beside

    scene = request.scene
    seconds: dict[str, float] = {}
    with _stage("vertex", seconds):
        constants = request.uniforms()
        shade_compiled = compile_beside(constants)
        passes = Passes(scene.geometry, constants, threads, out)
    if constants.shadows.cameras:
        with _stage("shadow", seconds):
            passes.shadows(of_shadows(scene, constants))
    with _stage("vertex", seconds):
        passes.vertex()
    with _stage("raster", seconds):
        passes.raster(request.hidden)
    shade_compiled()
    with _stage("shade", seconds):
        passes.shade()
    passes.close()
    statistics = Statistics(
        scene.triangles, scene.vertices, passes.pixels_tested, passes.pixels_lit, "fast", seconds
    )
    return Frame(passes.rgba, passes.depth, passes.ids, statistics, passes.normals)


@contextmanager
def _stage(name: str, seconds: dict[str, float]) -> Iterator[None]:
    started = perf_counter()
    with scope("draw", name):
        yield
    seconds[name] = seconds.get(name, 0.0) + perf_counter() - started


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
    if threads is not None and (not isinstance(threads, Integral) or threads < 1):
        raise UserError(f"threads: {threads} is not a number of threads; give 1 or more")
    if path not in ("auto", "fast", "portable"):
        raise UserError(f"path {path!r} is unknown; known: auto, fast, portable")
    if path == "fast" and not current().fast:
        raise UserError(f"path 'fast' needs the device cpu, not {current().name}; use path 'portable'")
    return ("fast" if current().fast else "portable") if path == "auto" else path


def _framing(scene: Scene, aspect: float) -> Camera:
    """A camera that frames the scene; found once, since a scene never changes."""
    known: dict[tuple[float, View], Camera] = scene.geometry.framings
    key = aspect, scene.view
    if key not in known:
        known[key] = framing(scene, aspect)
    return known[key]


def _options(
    lights: Sequence[Light] | None, shadows: bool, samples: int, exposure: float, normals: bool
) -> Options:
    if samples not in PATTERNS:
        known = ", ".join(map(str, PATTERNS))
        raise UserError(f"samples: {samples!r} for each pixel is not possible; possible: {known}")
    number: object = exposure
    if not (isinstance(number, (int, float)) and -64 <= number <= 64):
        raise UserError(f"exposure {exposure!r}: give a number of stops from -64 to 64")
    return Options(shadows, samples, float(exposure), normals, None if lights is None else tuple(lights))


def _wireframe(wireframe: object) -> str:
    kinds = {False: "", True: "hidden", "hidden": "hidden", "through": "through"}
    if not isinstance(wireframe, (bool, str)) or wireframe not in kinds:
        raise UserError(f"wireframe {wireframe!r} is unknown; known: True, False, hidden, through")
    return kinds[wireframe]


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
