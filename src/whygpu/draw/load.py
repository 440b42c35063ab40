"""Scenes by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace

from whygpu.draw.mesh import Mesh
from whygpu.draw.scene import Node, Scene, View
from whygpu.engine import UserError

__all__ = ["BUILT_IN", "load"]

BUILT_IN = ("cube", "sphere", "torus-knot", "character", "frame")
"""Names that ``load`` knows; a sphere may carry its level, as in ``sphere:5``."""


def load(name: str) -> Scene:
    """Make a built-in scene: ``cube``, ``sphere[:level]``, ``torus-knot``, ``character`` or ``frame``.

    Raises
    ------
    UserError
        For an unknown name, or a sphere's level that is not a whole number in range.
    """
    kind, _, argument = name.partition(":")
    if kind == "sphere":
        return _sphere(name, argument)
    maker = _MAKERS.get(kind)
    if maker is None or argument:
        near = difflib.get_close_matches(kind, BUILT_IN, 1, 0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UserError(
            f"scene {name!r} is unknown; {hint}built in: {', '.join(BUILT_IN)} (also sphere:LEVEL)"
        )
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
    if not (argument.isascii() and argument.isdigit() and int(argument[:3]) <= MAX_LEVEL):
        raise UserError(f"scene {name!r}: a sphere's level is a whole number from 0 to {MAX_LEVEL}")
    return _one(sphere(int(argument)))


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
