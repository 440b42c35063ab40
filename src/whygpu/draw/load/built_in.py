"""Scenes by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from whygpu.draw.mesh import Mesh
from whygpu.draw.scene import Node, Scene, View
from whygpu.engine import UserError

__all__ = ["BUILT_IN", "built_in"]

BUILT_IN = ("cube", "sphere", "torus-knot", "teapot", "character", "frame")
"""Names that ``load`` knows; a sphere and a teapot may carry their level, as in ``sphere:5``."""


def built_in(name: str) -> Scene:
    """Make one of ``BUILT_IN``, perhaps with a level.

    Raises
    ------
    UserError
        For an unknown name, or a level that is not a whole number in range.
    """
    kind, _, argument = name.partition(":")
    if kind == "sphere":
        return _sphere(name, argument)
    if kind == "teapot":
        return _teapot(name, argument)
    maker = _MAKERS.get(kind)
    if maker is None or argument:
        raise UserError(f"scene {name!r} is unknown; built in: {', '.join(BUILT_IN)}")
    return maker()


def _one(mesh: Mesh) -> Scene:
    return Scene((Node(mesh),), name=mesh.name)


def _cube() -> Scene:
    from whygpu.draw.shapes.cube import cube

    return replace(_one(cube()), view=View(38.0, 26.0))


def _sphere(name: str, argument: str) -> Scene:
    from whygpu.draw.shapes.sphere import MAX_LEVEL, sphere

    if not argument:
        return _one(sphere())
    return _one(sphere(_level(name, argument, 0, MAX_LEVEL)))


def _teapot(name: str, argument: str) -> Scene:
    from whygpu.draw.shapes.teapot import MAX_LEVEL, teapot

    mesh = teapot(_level(name, argument, 0, MAX_LEVEL)) if argument else teapot()
    return replace(_one(mesh), view=View(20.0, 22.0))


def _level(name: str, argument: str, low: int, high: int) -> int:
    if not (argument.isascii() and argument.isdigit() and low <= int(argument[:4]) <= high):
        kind = name.partition(":")[0]
        raise UserError(f"scene {name!r}: a {kind}'s level is a whole number from {low} to {high}")
    return int(argument)


def _torus_knot() -> Scene:
    from whygpu.draw.shapes.torus_knot import torus_knot

    return replace(_one(torus_knot()), view=View(8.0, 12.0))


def _character() -> Scene:
    from whygpu.draw.shapes.character import character

    return character()


def _landscape() -> Scene:
    from whygpu.draw.shapes.landscape import landscape

    return landscape()


_MAKERS: dict[str, Callable[[], Scene]] = {
    "cube": _cube,
    "torus-knot": _torus_knot,
    "character": _character,
    "frame": _landscape,
}
