"""Step 3: draw a cube, a character and a whole frame; by the portable path and by the fast one."""

import io
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from whygpu import draw
from whygpu.engine import Backend, Progress
from whygpu.story.results import Drawing

__all__ = ["Pictures", "draw_scenes"]

PORTABLE = ("cube", "character")
FAST = ("cube", "character", "frame")
SIZE = (1280, 720)
MAX_FRAMES = 200


@dataclass(frozen=True, slots=True)
class Pictures:
    """The measured drawings, the PNG bytes by file name, and the scenes (to draw them again)."""

    drawings: list[Drawing]
    images: dict[str, bytes]
    scenes: dict[str, draw.Scene]


def draw_scenes(backend: Backend, *, quick: bool, progress: Progress) -> Pictures:
    """Draw each scene until its time is known, and keep one picture of each."""
    jobs = [(name, "fast") for name in FAST if backend.fast]
    jobs += [(name, "portable") for name in PORTABLE]
    budget = 0.3 if quick else 1.0
    pictures = Pictures([], {}, {})
    for place, (name, path) in enumerate(jobs):
        progress("progress.draw", place / len(jobs), scene=name, path=path)
        scene = pictures.scenes.get(name)
        if scene is None:
            scene = pictures.scenes[name] = draw.load(name)
        drawing, frame = _time_scene(name, scene, path, backend, budget, progress)
        if name not in {drawn.scene for drawn in pictures.drawings}:
            pictures.images[f"{name}.png"] = _png(frame)
        pictures.drawings.append(drawing)
    return pictures


def _time_scene(
    name: str, scene: draw.Scene, path: str, backend: Backend, budget: float, progress: Progress
) -> tuple[Drawing, draw.Frame]:
    """Draw once (compiling what must be), then again until ``budget`` seconds are spent."""
    started = perf_counter()
    frame = draw.render(scene, size=SIZE, backend=backend, path=path, progress=progress)
    first = perf_counter() - started
    times: list[tuple[float, dict[str, float]]] = []
    begun = perf_counter()
    while not times or (perf_counter() - begun < budget and len(times) < MAX_FRAMES):
        started = perf_counter()
        frame = draw.render(scene, size=SIZE, backend=backend, path=path)
        times.append((perf_counter() - started, frame.statistics.seconds))
    seconds = median(time for time, _ in times)
    stages = min(times, key=lambda pair: abs(pair[0] - seconds))[1]
    statistics = frame.statistics
    drawing = Drawing(
        scene=name,
        path=path,
        triangles=statistics.triangles,
        vertices=statistics.vertices,
        width=SIZE[0],
        height=SIZE[1],
        pixels_lit=statistics.pixels_lit,
        first_seconds=first,
        seconds=seconds,
        frames=len(times),
        frames_per_second=1 / seconds,
        vertices_per_second=statistics.vertices / seconds,
        stages=dict(stages),
        image=f"{name}.png",
    )
    return drawing, frame


def _png(frame: draw.Frame) -> bytes:
    stream = io.BytesIO()
    frame.write_png(stream)
    return stream.getvalue()
