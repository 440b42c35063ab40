"""The words in which ``whygpu draw`` takes angles, lights, colours and times."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import rich_click as click

__all__ = ["GROUPS", "drawing_options"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

GROUPS: list[Any] = [
    {"name": "Output", "options": ["--output", "--format", "--size", "--background", "--samples"]},
    {"name": "Where from", "options": ["--view", "--fov", "--camera", "--up"]},
    {"name": "Films", "options": ["--turntable", "--animation", "--time", "--frames", "--fps"]},
    {"name": "Light and look", "options": ["--light", "--shadows", "--exposure", "--wireframe"]},
    {"name": "How it is computed", "options": ["--device", "--threads", "--path", "--ledger"]},
    {"name": "Messages", "options": ["--json", "--lang", "--help"]},
]
"""How ``--help`` sorts the options."""


class Numbers(click.ParamType[tuple[float, ...]]):
    """Numbers with commas between them, the last of which may be left out."""

    def __init__(self, name: str, example: str, check: Callable[[tuple[float, ...]], str | None]) -> None:
        self.name, self.example, self.check = name, example, check
        self.most = name.count(",") + 1

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Parse and bound them."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(float(part) for part in str(value).split(","))
        except ValueError:
            numbers = ()
        if not self.most - 1 <= len(numbers) <= self.most or not all(map(math.isfinite, numbers)):
            self.fail(f"{value!r}; write {self.name}, {self.example} say", param, ctx)
        if wrong := self.check(numbers):
            self.fail(f"{value!r}: {wrong}", param, ctx)
        return numbers


def _angles(numbers: tuple[float, ...]) -> str | None:
    if not -90 <= numbers[1] <= 90:
        return "the elevation must lie between -90 and 90 degrees"
    return None


def _view(numbers: tuple[float, ...]) -> str | None:
    if len(numbers) > 2 and not 1e-20 < numbers[2] < 1e30:
        return "the distance must lie between 1e-20 and 1e30"
    return _angles(numbers)


def _light(numbers: tuple[float, ...]) -> str | None:
    if len(numbers) > 2 and not 0 <= numbers[2] < 1e6:
        return "the intensity must lie between 0 and a million"
    return _angles(numbers)


class Color(click.ParamType[Any]):
    """A colour by name or by its hexadecimal digits; the result is what ``draw.render`` takes."""

    name = "COLOUR"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Red, green, blue (and alpha) from 0 to 1, or ``transparent``."""
        if not isinstance(value, str) or value.lower() == "transparent":
            return value.lower() if isinstance(value, str) else value
        from PIL import ImageColor

        try:
            return tuple(part / 255 for part in ImageColor.getrgb(value))
        except ValueError:
            import difflib

            near = difflib.get_close_matches(value.lower(), (*ImageColor.colormap, "transparent"), 1, 0.6)
            hint = f"did you mean {near[0]}? " if near else ""
            self.fail(
                f"{value!r} is no colour; {hint}write white, #336699, #33669980 or transparent", param, ctx
            )


def _fov(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < 180:
        raise click.BadParameter(f"{value:g} degrees; a field of view lies between 0 and 180")
    return value


def _output(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--samples", type=click.Choice(["1", "4", "16"]), default="1", show_default=True,
                     help="Samples a pixel at edges (MSAA)."),
        click.option("--background", type=Color(),
                     help="A name, #rrggbb, #rrggbbaa or transparent (default: the scene's)."),
        click.option("--format", "kind", metavar="TYPE",
                     help="Type of the files in a folder: png, gif, ... (default: png; of films: webp)."),
    ):  # fmt: skip
        command = option(command)
    return command


def _camera(command: Callable[..., Any]) -> Callable[..., Any]:
    view = Numbers("AZ,EL[,DISTANCE]", "30,20 or 30,20,5", _view)
    for option in (
        click.option("--up", type=click.Choice(["y", "z"]), default="y", show_default=True,
                     help="The vertical of the scene's file."),
        click.option("--camera", metavar="NAME|INDEX", help="A camera of the scene's own, first is 0."),
        click.option("--fov", type=float, callback=_fov, metavar="DEGREES", help="Vertical field of view."),
        click.option("--view", type=view,
                     help="Degrees round the scene (0: front, 90: from +x) and above it; without a distance "
                          "all of it is seen."),
    ):  # fmt: skip
        command = option(command)
    return command


def _film(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--fps", type=click.FloatRange(0.1, 1000), metavar="RATE",
                     help="Frames a second (default: 25)."),
        click.option("--frames", type=click.IntRange(1, 100_000), metavar="N",
                     help="How many (default: 72 a turn; what an animation lasts)."),
        click.option("--time", type=click.FloatRange(0), metavar="SECONDS",
                     help="Stop the animation there, for one picture or a turntable."),
        click.option("--animation", metavar="NAME|INDEX", help="Play an animation of the scene once."),
        click.option("--turntable", is_flag=True, help="Once round the scene; loops without a seam."),
    ):  # fmt: skip
        command = option(command)
    return command


def _look(command: Callable[..., Any]) -> Callable[..., Any]:
    light = Numbers("AZ,EL[,INTENSITY]", "45,30 or 45,30,0.5", _light)
    for option in (
        click.option("--wireframe", is_flag=True, help="Edges only."),
        click.option("--exposure", type=click.FloatRange(-64, 64), default=0.0, show_default=True,
                     metavar="STOPS", help="Each stop makes everything twice as bright."),
        click.option("--shadows", is_flag=True, help="Shadows of the lights that cast them."),
        click.option("--light", "lights", type=light, multiple=True,
                     help="A sun that shines from there, instead of the scene's lights; may be repeated."),
    ):  # fmt: skip
        command = option(command)
    return command


def drawing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that only drawing has."""
    for group in (_look, _film, _camera, _output):
        command = group(command)
    return command
