"""Scenes from files whose vertical is z, stood up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whygpu.draw.light import Light
from whygpu.draw.scene import Camera, Scene
from whygpu.engine import UserError

__all__ = ["upright"]

STAND = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
"""z to y, y to -z: a quarter turn about x."""


def upright(scene: Scene, up: str) -> Scene:
    """The scene turned so that its ``up`` axis, ``"y"`` or ``"z"``, is y; cameras and lights turn with it.

    Raises
    ------
    UserError
        For another axis.
    """
    if up not in ("y", "z"):
        raise UserError(f"up {up!r}: the vertical is 'y' or 'z'")
    if up == "y":
        return scene
    turn = np.eye(4)
    turn[:3, :3] = STAND
    return replace(
        scene,
        nodes=tuple(replace(node, transform=turn @ node.transform) for node in scene.nodes),
        camera=None if scene.camera is None else _camera(scene.camera),
        cameras=tuple(_camera(camera) for camera in scene.cameras),
        lights=None if scene.lights is None else tuple(_light(light) for light in scene.lights),
    )


def _camera(camera: Camera) -> Camera:
    return replace(camera, eye=_turn(camera.eye), target=_turn(camera.target), up=_turn(camera.up))


def _light(light: Light) -> Light:
    return replace(light, direction=_turn(light.direction), position=_turn(light.position))


def _turn(vector: tuple[float, float, float]) -> tuple[float, float, float]:
    x, y, z = vector
    return x, z, -y
