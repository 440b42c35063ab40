"""One scene from its name to its file."""

from __future__ import annotations

import contextlib
import math
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import rich_click as click

from whygpu.cli.drawing_document import PictureJson, camera_json
from whygpu.cli.drawing_targets import STDOUT
from whygpu.cli.drawing_watch import Watch

__all__ = ["draw_one", "plan_of", "suns"]


def draw_one(name: str, path: Path, screen: Any, how: dict[str, Any], total: Any = None) -> Any:
    """Load, draw and write a scene; what that took, as ``PictureJson`` (None on ranks that only help).

    What was multiplied is added to the ledger ``total``.
    """
    from whygpu import draw, engine
    from whygpu.engine import ranks

    started = perf_counter()
    with screen.working("drawing.load", scene=name):
        scene = draw.load(name, up=how["up"])
    loaded = perf_counter()
    with screen.working("step.draw"):
        plan = plan_of(scene, how, _kind(path).suffix)
        _kind(path).check(plan.film, name if str(path) == STDOUT else path)
        if total is not None:
            _warm_up(plan, screen)
        watch = Watch(screen, plan.film.count)
        begun = perf_counter()
        with engine.ledger() if total is not None else contextlib.nullcontext() as heard:
            _write(plan, path, watch)
        spent = perf_counter() - begun
    if total is not None:
        total.merge(heard)
    if ranks.here().rank != 0:
        return None
    return _picture(name, path, plan, watch, load_seconds=loaded - started, spent=spent)


def _kind(path: Path) -> Any:
    from whygpu.draw.output import FORMATS

    return FORMATS[".png" if str(path) == STDOUT else path.suffix.lower()]


def _warm_up(plan: Any, screen: Any) -> None:
    """Draw a tiny frame, so that the ledger shows drawing and not the loading of kernels."""
    from whygpu import draw

    small = replace(plan, size=(16, 16))
    next(draw.frames(small, [0], progress=screen.progress))


def _write(plan: Any, path: Path, watch: Watch) -> None:
    from whygpu import draw
    from whygpu.engine import ranks

    progress = {"progress": watch.screen.progress} if watch.count == 1 else {}
    drawn = draw.frames(plan, **progress)
    if ranks.here().size > 1:  # each rank draws its share; rank 0 sees all of them, the others none
        numbers = range(plan.film.count)
        drawn = ranks.share(numbers, lambda number: next(draw.frames(plan, [number], **progress)))
    frames = watch.over(drawn)
    if ranks.here().rank != 0:
        list(frames)
        return
    if str(path) != STDOUT:
        draw.save(path, frames, plan.film)
        return
    (frame,) = frames
    frame.write_png(sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _picture(
    name: str, path: Path, plan: Any, watch: Watch, *, load_seconds: float, spent: float
) -> PictureJson:
    camera, film = plan.shots[0].camera, plan.film
    return PictureJson(
        scene=name,
        file=str(path),
        bytes=None if str(path) == STDOUT else path.stat().st_size,
        size=(film.width, film.height),
        frames=film.count,
        fps=film.fps,
        triangles=plan.scene.triangles,
        vertices=plan.scene.vertices,
        pixels_tested=watch.pixels_tested,
        pixels_lit=watch.pixels_lit,
        path=watch.statistics.path,
        camera=None if camera is None or isinstance(camera, int) else camera_json(camera),
        load_seconds=load_seconds,
        draw_seconds=watch.draw_seconds,
        write_seconds=max(0.0, spent - watch.draw_seconds),
        seconds=watch.stages,
    )


def plan_of(scene: Any, how: dict[str, Any], suffix: str) -> Any:
    """The frames that the options ask for; options at their default are left to the library."""
    from whygpu import draw

    if how["camera"] is not None and (how["view"] is not None or how["turntable"]):
        other = "--turntable" if how["turntable"] else "--view"
        raise click.UsageError(f"--camera and {other} exclude each other")
    play = how["animation"] is not None and how["time"] is None
    if not play and not how["turntable"] and (how["frames"] or 1) > 1:
        raise click.UsageError("--frames makes a film of something: add --turntable or --animation NAME")
    view = None
    if how["view"] is not None:
        azimuth, elevation, *distance = how["view"]
        fov = how["fov"] or scene.view.fov
        view = draw.View(azimuth, elevation, fov, distance[0] if distance else None)
    rendering: dict[str, Any] = {"path": how["path"], "background": how["background"]}
    usual = {"samples": 1, "shadows": False, "wireframe": False, "exposure": 0.0}
    asked = {**how, "samples": int(how["samples"])}
    rendering |= {key: asked[key] for key, value in usual.items() if asked[key] != value}
    if suffix == ".npz":
        rendering["normals"] = True
    return draw.plan(
        scene,
        how["size"],
        view=view,
        camera=how["camera"],
        fov=how["fov"],
        spin=how["turntable"],
        play=play,
        count=how["frames"],
        fps=how["fps"],
        time=how["time"],
        animation=how["animation"],
        lights=suns(how["lights"]),
        **rendering,
    )


def suns(lights: tuple[tuple[float, ...], ...]) -> tuple[Any, ...] | None:
    """Directional lights by where they shine from: azimuth and elevation in degrees, intensity."""
    from whygpu.draw import Light

    found = []
    for azimuth, elevation, *intensity in lights:
        around, over = math.radians(azimuth), math.radians(elevation)
        towards = (
            -math.cos(over) * math.sin(around), -math.sin(over), -math.cos(over) * math.cos(around)
        )  # fmt: skip
        strength = intensity[0] if intensity else 1.0
        found.append(Light(towards, (strength, strength, strength)))
    return tuple(found) or None
