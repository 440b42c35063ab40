"""Scenes from files and by name: one file a format, one front door."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from whygpu.draw.load.built_in import BUILT_IN, built_in
from whygpu.draw.scene import Node, Scene
from whygpu.engine import UserError

__all__ = ["BUILT_IN", "FORMATS", "load"]

FORMATS = (".glb", ".gltf", ".obj", ".ply", ".stl")
"""Suffixes of the files that ``load`` reads."""

Up = Literal["y", "z"]


def load(scene: str | Path, *, up: Up = "y") -> Scene:
    """Read a scene from a file, or make a built-in one.

    Parameters
    ----------
    scene
        A path to a glTF 2.0 (``.gltf``, ``.glb``), OBJ, PLY or STL file; or a name: ``cube``,
        ``sphere[:level]``, ``torus-knot``, ``teapot[:level]``, ``character`` or ``frame``.
    up
        Which axis of the file points up. A scene has y up; with ``"z"`` the file is turned.

    Raises
    ------
    UserError
        For an unknown name, a missing file, or a file that is not what it says it is. Memory stays within
        ``load.budget``'s multiple of the file's size.
    """
    if up not in ("y", "z"):
        raise UserError(f"up {up!r}: the axis that points up is y or z")
    made = _read(scene)
    return _turned(made) if up == "z" else made


def _read(scene: str | Path) -> Scene:
    name = str(scene)
    if "\0" in name:
        raise UserError(f"scene {name!r}: a path has no NUL character")
    path = Path(scene)
    suffix = path.suffix.lower()
    if suffix in FORMATS:
        return _reader(suffix)(path)
    if not isinstance(scene, Path) and name.partition(":")[0] in BUILT_IN:
        return built_in(name)
    if name and path.exists():
        kind = "a folder" if path.is_dir() else f"a {suffix or 'nameless'} file"
        raise UserError(f"{name}: {kind} cannot be drawn; read are {', '.join(FORMATS)}")
    near = difflib.get_close_matches(name.partition(":")[0], BUILT_IN, 1, 0.5)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UserError(
        f"scene {name!r} is unknown; {hint}built in: {', '.join(BUILT_IN)} (also sphere:LEVEL,"
        f" teapot:LEVEL); files: {', '.join(FORMATS)}"
    )


def _reader(suffix: str) -> Callable[[Path], Scene]:
    if suffix in (".glb", ".gltf"):
        from whygpu.draw.load.gltf import load_gltf

        return load_gltf
    if suffix == ".obj":
        from whygpu.draw.load.obj import load_obj

        return load_obj
    if suffix == ".ply":
        from whygpu.draw.load.ply import load_ply

        return load_ply
    from whygpu.draw.load.stl import load_stl

    return load_stl


def _turned(scene: Scene) -> Scene:
    """A scene with z up, turned so that y is up: (x, y, z) becomes (x, z, -y)."""
    turn = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
    if scene.rig is not None:
        return scene.rig.turned(turn).rest(scene)
    nodes = tuple(Node(node.mesh, turn @ node.transform) for node in scene.nodes)
    return replace(scene, nodes=nodes)
