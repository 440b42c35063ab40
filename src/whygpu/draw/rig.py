"""A scene that moves: a tree of transforms, what hangs on it, and how it changes with time.

A file's nodes form a tree; meshes, cameras and lights hang on it. At a time, the animation gives each node
its translation, rotation and scale, the tree is multiplied through from the root, shapes are deformed
(``deform``), and out comes an ordinary scene.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.animation import Animation
from whygpu.draw.deform import Deform, deformed
from whygpu.draw.light import Light
from whygpu.draw.mesh import Mesh
from whygpu.draw.scene import Camera, Node, Scene
from whygpu.engine import UserError, current, matmul, scope

__all__ = ["Branch", "Lens", "Part", "Rig", "Skin", "matrix_of"]

Matrix = NDArray[np.float64]
Vector = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Branch:
    """One node of the tree: where it is relative to its parent."""

    parent: int
    """-1: the world."""
    translation: Vector = (0.0, 0.0, 0.0)
    rotation: Vector = (0.0, 0.0, 0.0, 1.0)
    """A quaternion (x, y, z, w)."""
    scale: Vector = (1.0, 1.0, 1.0)
    matrix: Matrix | None = None
    """(4, 4); given instead of the three above, and never animated."""


@dataclass(frozen=True, eq=False)
class Skin:
    """The nodes that move a mesh's vertices."""

    joints: tuple[int, ...]
    inverse_bind: Matrix
    """(joints, 4, 4): from the mesh's space to each joint's, in the bind pose."""


@dataclass(frozen=True, eq=False)
class Part:
    """A mesh that hangs on a node."""

    node: int
    mesh: Mesh
    deform: Deform | None = None
    skin: Skin | None = None
    weights: Vector = ()
    """Of the morph targets, at rest."""


@dataclass(frozen=True)
class Lens:
    """A camera that hangs on a node, looking along its -z."""

    node: int
    name: str
    fov: float = 40.0
    height: float | None = None
    near: float = 0.1
    far: float | None = None
    """None: as far as the scene reaches."""


@dataclass(frozen=True, eq=False)
class Rig:
    """A tree of nodes with what hangs on it and its animations."""

    tree: tuple[Branch, ...]
    """Parents come before their children."""
    parts: tuple[Part, ...]
    animations: tuple[Animation, ...] = ()
    """Each has a ``name`` and its length in ``seconds``."""
    lenses: tuple[Lens, ...] = ()
    lamps: tuple[tuple[int, Light], ...] = ()
    """Node and light; a light shines along its node's -z, from the node's origin."""
    root: Matrix = field(default_factory=lambda: np.eye(4))
    """(4, 4): from the file's world to the scene's."""

    @property
    def moves(self) -> bool:
        """Whether any animation changes anything."""
        return any(animation.tracks for animation in self.animations)

    def turned(self, matrix: Matrix) -> Rig:
        """The same rig in a world that is turned by ``matrix`` (4, 4)."""
        return replace(self, root=matrix @ self.root)

    def animation(self, name: str | int | None = None) -> Animation | None:
        """An animation by name or number; None: the first, or none where there is none.

        Raises
        ------
        UserError
            For a name or number that there is not.
        """
        if name is None:
            return self.animations[0] if self.animations else None
        names = [animation.name for animation in self.animations]
        if isinstance(name, str) and name in names:
            return self.animations[names.index(name)]
        number = int(name) if isinstance(name, int) or (name.isascii() and name.isdigit()) else -1
        if 0 <= number < len(names):
            return self.animations[number]
        there = ", ".join(f"{i} {n}" for i, n in enumerate(names[:20])) or "none at all"
        raise UserError(f"animation {name!r}: there is no such animation; there are: {there}")

    def rest(self, scene: Scene) -> Scene:
        """``scene`` as the tree stands without any animation, with this rig."""
        return self._pose(scene, {}, {})

    def at(self, scene: Scene, time: float, animation: str | int | None = None) -> Scene:
        """``scene`` at a time.

        Parameters
        ----------
        scene
            The scene that this rig came with; its background, view and own camera stay.
        time
            Seconds from the animation's start; after its end everything stands still.
        animation
            Name or number; None: the first.

        Raises
        ------
        UserError
            For an animation that there is not, or a time that is not finite.
        """
        if not math.isfinite(time):
            raise UserError(f"time {time}: give seconds from the animation's start, a finite number")
        chosen = self.animation(animation)
        moved: dict[int, dict[str, Vector]] = {}
        weights: dict[int, Matrix] = {}
        for track in chosen.tracks if chosen else ():
            value = track.at(time)
            if track.path == "weights":
                weights[track.node] = value
            else:
                moved.setdefault(track.node, {})[track.path] = tuple(value.tolist())
        return self._pose(scene, moved, weights)

    def _pose(self, scene: Scene, moved: dict[int, dict[str, Vector]], weights: dict[int, Matrix]) -> Scene:
        # What overflows becomes infinite, and is refused where it is kept
        with scope("draw", "animate"), np.errstate(over="ignore", invalid="ignore"):
            worlds = self._worlds(moved)
            nodes = tuple(self._placed(part, worlds, weights.get(part.node)) for part in self.parts)
            low, high = _extent(nodes)
            cameras = tuple(_camera(lens, worlds[lens.node], low, high) for lens in self.lenses)
            lights = tuple(_light(light, worlds[node]) for node, light in self.lamps)
        return replace(
            scene, nodes=nodes, cameras=cameras, lights=lights if self.lamps else scene.lights, rig=self
        )

    def _worlds(self, moved: dict[int, dict[str, Vector]]) -> list[Matrix]:
        """Every node's matrix from its own space to the world, (4, 4) each."""
        worlds: list[Matrix] = []
        for i, branch in enumerate(self.tree):
            local = matrix_of(replace(branch, **moved[i]) if i in moved else branch)  # type: ignore[arg-type]
            worlds.append((worlds[branch.parent] if branch.parent >= 0 else self.root) @ local)
        return worlds

    def _placed(self, part: Part, worlds: list[Matrix], weights: Matrix | None) -> Node:
        world = worlds[part.node]
        if part.deform is None:
            return Node(part.mesh, world)
        joints: Matrix | None = None
        if part.skin is not None:  # joints place the vertices; the mesh's own node does not (section 3.7.3)
            backend = current()
            stacked = np.stack([worlds[joint] for joint in part.skin.joints])  # (joints, 4, 4)
            joints = backend.to_numpy(
                matmul(
                    backend.asarray(stacked, "float64"),
                    backend.asarray(part.skin.inverse_bind, "float64"),
                    name="joint matrices",
                )
            )
            world = np.eye(4)
        mixing = np.asarray(part.weights, np.float64) if weights is None else weights
        return Node(deformed(part.mesh, part.deform, mixing, joints), world)


def matrix_of(branch: Branch) -> Matrix:
    """A node's matrix relative to its parent, (4, 4): translation times rotation times scale."""
    if branch.matrix is not None:
        return branch.matrix
    x, y, z, w = branch.rotation
    a, b, c = branch.scale
    i, j, k = branch.translation
    return np.array(
        [
            [(1 - 2 * (y * y + z * z)) * a, 2 * (x * y - z * w) * b, 2 * (x * z + y * w) * c, i],
            [2 * (x * y + z * w) * a, (1 - 2 * (x * x + z * z)) * b, 2 * (y * z - x * w) * c, j],
            [2 * (x * z - y * w) * a, 2 * (y * z + x * w) * b, (1 - 2 * (x * x + y * y)) * c, k],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def _extent(nodes: tuple[Node, ...]) -> tuple[Matrix, Matrix]:
    """The box around everything, (3,) and (3,)."""
    found = [
        node.mesh.outline @ node.transform[:3, :3].T + node.transform[:3, 3]
        for node in nodes
        if len(node.mesh.positions)
    ]
    points = np.concatenate(found) if found else np.zeros((1, 3))
    return points.min(0), points.max(0)


def _camera(lens: Lens, world: Matrix, low: Matrix, high: Matrix) -> Camera:
    """The lens where its node is; its target is level with the middle of the scene, so that it can orbit."""
    eye = world[:3, 3]
    back, up = _unit(world[:3, 2], (0.0, 0.0, 1.0)), _unit(world[:3, 1], (0.0, 1.0, 0.0))
    size = float(np.linalg.norm(high - low))
    distance = float(((low + high) / 2 - eye) @ -back)
    target = eye - back * (distance if distance > 1e-3 * size and distance > 0 else max(size, 1.0))
    far = lens.far
    if far is None:  # to the furthest corner of the box, and as much again for what an animation moves
        furthest = float(np.linalg.norm(np.maximum(np.abs(low - eye), np.abs(high - eye))))
        far = max(2 * furthest, 100 * lens.near)
    return Camera(
        tuple(eye.tolist()),
        tuple(target.tolist()),
        tuple(up.tolist()),
        lens.fov,
        lens.near,
        far,
        lens.height,
        lens.name,
    )


def _light(light: Light, world: Matrix) -> Light:
    direction = -_unit(world[:3, 2], (0.0, 0.0, 1.0))
    return replace(light, direction=tuple(direction.tolist()), position=tuple(world[:3, 3].tolist()))


def _unit(vector: Matrix, otherwise: Vector) -> Matrix:
    length = float(np.linalg.norm(vector))
    unit: Matrix = vector / length if length > 0 else np.asarray(otherwise, np.float64)
    return unit
