"""A film is a list of cameras and times; each of its frames is drawn without the others.

``plan`` makes the list, ``frames`` draws it, all of it or any part: so frames may be shared out among
processes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from whygpu.draw.camera import framing_poses, turntable
from whygpu.draw.choose import choose
from whygpu.draw.frame import Frame
from whygpu.draw.light import Background, Light
from whygpu.draw.output.film import Film
from whygpu.draw.pipeline import render
from whygpu.draw.scene import Camera, Scene, View
from whygpu.engine import UserError

__all__ = ["FPS", "TURN", "Plan", "Shot", "frames", "plan"]

FPS = 25.0
"""Frames a second, unless asked otherwise: 1/100 s, GIF's unit, and 1/1000 s divide it."""
TURN = 72
"""Frames of a full turn: five degrees each, three seconds."""
POSES = 16
"""At how many moments an animation is looked at to find a camera that sees all of it."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One frame of a film."""

    camera: Camera | int | None
    """A number: that one of the scene's own cameras, which may move; None: the scene's."""
    time: float | None = None
    """Seconds into the animation; None: the scene as it stands in its file."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that its frames depend on."""

    scene: Scene
    size: tuple[int, int]
    """Width and height in pixels."""
    shots: tuple[Shot, ...]
    fps: float = FPS
    """Frames a second."""
    animation: str | None = None
    """Name of the animation that ``Shot.time`` goes through; None: the first."""
    lights: tuple[Light, ...] | None = None
    """Instead of the scene's own."""
    fov: float | None = None
    """Vertical field of view for the scene's own cameras, degrees; None: as they are."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of ``render``: path, threads, background, samples ..."""

    @property
    def film(self) -> Film:
        """What a writer must know of it."""
        background = self.options.get("background")
        return Film(*self.size, len(self.shots), self.fps, _transparent(background, self.scene.background))

    def pose(self, time: float | None) -> Scene:
        """The scene at a moment, lit as asked."""
        posed = self.scene if time is None else _rig(self.scene).at(self.scene, time, self.animation)
        return posed if self.lights is None else replace(posed, lights=self.lights)


def plan(
    scene: Scene,
    size: tuple[int, int] = (1280, 720),
    *,
    view: View | None = None,
    camera: Camera | str | int | None = None,
    fov: float | None = None,
    spin: bool = False,
    play: bool = False,
    count: int | None = None,
    fps: float | None = None,
    time: float | None = None,
    animation: str | int | None = None,
    lights: Sequence[Light] | None = None,
    **options: Any,
) -> Plan:
    """List the frames of a still, a turntable or an animation.

    Parameters
    ----------
    scene
        What to draw.
    size
        Width and height in pixels.
    view
        From which side; the camera is placed so that everything is seen in every frame.
    camera
        Instead of a view: a camera, or name or number of one of the scene's.
    fov
        Vertical field of view in degrees.
    spin
        Once round the scene.
    play
        The animation, once from its beginning to its end.
    count
        Frames; None: 72 a turn, or as many as the animation lasts.
    fps
        Frames a second; None: 25, or so that the animation keeps its speed where ``count`` is given.
    time
        Seconds into the animation, for a still or a turntable.
    animation
        Its name or number; None: the first.
    lights
        Instead of the scene's own.
    options
        Of ``render``.

    Raises
    ------
    UserError
        For what the scene does not have, and for what excludes each other.
    """
    if camera is not None and (view is not None or spin):
        raise UserError("a camera of the scene stands where it stands; leave out the view or the turntable")
    chosen = _animation(scene, animation, wanted=play or time is not None or animation is not None)
    if (count or 1) > 1 and not spin and not play:
        raise UserError(f"{count} frames of what? ask for a turntable or an animation too")
    seconds = chosen.seconds if play else None
    if seconds is not None:
        fps = fps or (count / seconds if count and seconds > 0 else FPS)
        count = count or max(1, round(seconds * fps))
    count = count or (TURN if spin else 1)
    times = [time if seconds is None else seconds * place / count for place in range(count)]
    suns = None if lights is None else tuple(lights)
    bare = Plan(scene, size, (), fps or FPS, chosen and chosen.name, suns, fov, options)
    cameras = _cameras(bare, times, view, camera, spin)
    return replace(bare, shots=tuple(Shot(*shot) for shot in zip(cameras, times, strict=True)))


def frames(plan: Plan, indices: Iterable[int] | None = None, **options: Any) -> Iterator[Frame]:
    """Draw the frames of a plan, or those of some numbers, in that order, one by one.

    ``options`` of ``render`` are added to the plan's.
    """
    standing: Scene | None = None
    last: float | None = None
    for index in range(len(plan.shots)) if indices is None else indices:
        shot = plan.shots[index]
        if standing is None or shot.time != last:  # what does not move keeps its buffers
            standing, last = plan.pose(shot.time), shot.time
        camera = standing.cameras[shot.camera] if isinstance(shot.camera, int) else shot.camera
        if camera is not None and plan.fov is not None:
            camera = replace(camera, fov=plan.fov)
        yield render(standing, plan.size, camera=camera, **{**plan.options, **options})


def _cameras(
    plan: Plan,
    times: Sequence[float | None],
    view: View | None,
    camera: Camera | str | int | None,
    spin: bool,
) -> Sequence[Camera | int | None]:
    if isinstance(camera, str | int):
        names = [known.name for known in plan.scene.cameras]
        return [choose("camera", camera, names, plan.scene.name)] * len(times)
    if camera is None and view is None and not spin:
        camera = plan.pose(times[0]).camera
    if camera is not None:
        return [camera] * len(times)
    aspect = plan.size[0] / plan.size[1]
    seen = view or plan.scene.view
    if plan.fov is not None:
        seen = replace(seen, fov=plan.fov)
    poses = [plan.pose(time) for time in _some(times)]
    if spin:
        return turntable(poses, aspect, len(times), seen)
    return [framing_poses(poses, aspect, seen)] * len(times)


def _some(times: Sequence[float | None]) -> list[float | None]:
    """At most ``POSES`` different times, evenly picked."""
    different = list(dict.fromkeys(times))
    return different[:: math.ceil(len(different) / POSES)]


def _animation(scene: Scene, wanted_name: str | int | None, *, wanted: bool) -> Any:
    if not wanted:
        return None
    rig = _rig(scene)
    known = rig.animations if rig is not None else ()
    if not known:
        raise UserError(f"{scene.name}: the scene has no animation; leave out the time and the animation")
    names = [animation.name for animation in known]
    return known[0 if wanted_name is None else choose("animation", wanted_name, names, scene.name)]


def _rig(scene: Scene) -> Any:
    """What moves a scene that comes from a file with animations; None: nothing does."""
    return getattr(scene, "rig", None)


def _transparent(background: Any, own: Background) -> bool:
    """Whether some pixel may let something through."""
    if background is None or isinstance(background, Background):
        shown = background or own
        return min(shown.top[3], shown.bottom[3]) < 1
    return background == "transparent" or (len(background) > 3 and background[3] < 1)
