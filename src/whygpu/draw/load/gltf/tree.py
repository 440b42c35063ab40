"""The nodes of a glTF scene (section 3.5) as a rig: the tree, and what hangs on it."""

from __future__ import annotations

import math

import numpy as np

from whygpu.draw.deform import Deform
from whygpu.draw.light import Light
from whygpu.draw.load.gltf import schema
from whygpu.draw.load.gltf.accessors import Accessors
from whygpu.draw.load.gltf.document import Document
from whygpu.draw.load.gltf.primitives import Primitives
from whygpu.draw.mesh import Mesh
from whygpu.draw.rig import Branch, Lens, Part, Skin
from whygpu.engine import UserError

__all__ = ["Tree"]

IDENTITY = [1.0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]


class Tree:
    """A document's nodes, parents before children.

    Raises
    ------
    UserError
        For a node that is its own ancestor, has two parents, or says what cannot be.
    """

    def __init__(self, document: Document, accessors: Accessors) -> None:
        self.document = document
        self.accessors = accessors
        self._parent = self._parents()
        self._order, self._shown = self._walk()
        self.place = {node: i for i, node in enumerate(self._order)}
        """From a node's number in the file to its place in ``branches``."""
        self.branches = tuple(self._branch(node) for node in self._order)
        self._skins: dict[int, Skin] = {}

    def parts(self, primitives: Primitives) -> tuple[Part, ...]:
        """The meshes that the scene shows."""
        parts: list[Part] = []
        seen: set[int] = set()
        for number in self._shown:
            node = self.document.model.nodes[number]
            if node.mesh is None:
                continue
            where = f"nodes[{number}]"
            skin = None if node.skin is None else self._skin(node.skin, f"{where}.skin")
            for mesh, deform in primitives.of(node.mesh, f"{where}.mesh"):
                if id(mesh) in seen:  # what drawing the same mesh once more takes
                    size = 64 * len(mesh.positions) + 16 * len(mesh.triangles)
                    self.document.source.budget.take(size, where)
                seen.add(id(mesh))
                parts.append(self._part(number, node, mesh, deform, skin))
        return tuple(parts)

    def _part(
        self, number: int, node: schema.Node, mesh: Mesh, deform: Deform | None, skin: Skin | None
    ) -> Part:
        where = f"nodes[{number}]"
        weights = self._weights(node, deform, where)
        joints = None if deform is None else deform.joints
        if joints is None:
            skin = None
        if skin is not None and joints is not None and int(joints.max(initial=0)) >= len(skin.joints):
            raise self.document.fail(
                f"{where}.mesh",
                f"JOINTS name joint {int(joints.max())}; skins[{node.skin}]"
                f" has {len(skin.joints)}, from 0 to {len(skin.joints) - 1}",
            )
        return Part(self.place[number], mesh, deform if skin or weights else None, skin, weights)

    def lenses(self) -> tuple[Lens, ...]:
        """The cameras in the scene."""
        found: list[Lens] = []
        for number in self._shown:
            node = self.document.model.nodes[number]
            if node.camera is not None:
                camera = self.document.item("cameras", node.camera, f"nodes[{number}].camera")
                name = camera.name or node.name or f"camera {len(found)}"
                found.append(self._lens(camera, self.place[number], name, f"cameras[{node.camera}]"))
        return tuple(found)

    def lamps(self) -> tuple[tuple[int, Light], ...]:
        """The lights in the scene (KHR_lights_punctual)."""
        punctual = self.document.model.extensions.KHR_lights_punctual
        lights = punctual.lights if punctual else []
        found = []
        for number in self._shown:
            lamp = self.document.model.nodes[number].extensions.KHR_lights_punctual
            if lamp is None:
                continue
            if lamp.light >= len(lights):
                raise self.document.fail(
                    f"nodes[{number}].extensions.KHR_lights_punctual.light",
                    f"there is no light {lamp.light}; there are {len(lights)}",
                )
            where = f"extensions.KHR_lights_punctual.lights[{lamp.light}]"
            found.append((self.place[number], self._light(lights[lamp.light], where)))
        return tuple(found)

    def _parents(self) -> list[int]:
        nodes = self.document.model.nodes
        parent = [-1] * len(nodes)
        for number, node in enumerate(nodes):
            for i, child in enumerate(node.children):
                where = f"nodes[{number}].children[{i}]"
                self.document.item("nodes", child, where)
                if parent[child] >= 0:
                    raise self.document.fail(
                        where,
                        f"nodes[{child}] already is a child of nodes[{parent[child]}]; nodes form trees",
                    )
                parent[child] = number
        return parent

    def _walk(self) -> tuple[list[int], list[int]]:
        """All nodes, parents first; and of them, in the same order, those that the scene shows."""
        nodes = self.document.model.nodes
        order: list[int] = []
        waiting = [number for number in range(len(nodes) - 1, -1, -1) if self._parent[number] < 0]
        while waiting:
            order.append(waiting.pop())
            waiting.extend(reversed(nodes[order[-1]].children))
        if len(order) < len(nodes):  # whoever has a parent and is below no root is in a ring, or below one
            lost = set(range(len(nodes))) - set(order)
            ring = min(lost)
            for _ in range(len(lost)):
                ring = self._parent[ring]
            raise self.document.fail(
                f"nodes[{ring}].children", "the node is its own ancestor; nodes form trees"
            )
        roots = self._roots()
        if roots is None:
            return order, order
        shown: set[int] = set()
        for number in order:
            if number in roots or self._parent[number] in shown:
                shown.add(number)
        return order, [number for number in order if number in shown]

    def _roots(self) -> set[int] | None:
        """The root nodes of the scene to show; None: the file has no scenes, all of it is shown."""
        model = self.document.model
        if not model.scenes and model.scene is None:
            return None
        chosen = self.document.item("scenes", model.scene or 0, "scene")
        for i, node in enumerate(chosen.nodes):
            self.document.item("nodes", node, f"scenes[{model.scene or 0}].nodes[{i}]")
        return set(chosen.nodes)

    def _branch(self, number: int) -> Branch:
        node = self.document.model.nodes[number]
        where = f"nodes[{number}]"
        above = self._parent[number]
        parent = -1 if above < 0 else self.place[above]
        if node.matrix is not None and node.matrix != IDENTITY:
            matrix = np.array(node.matrix).reshape(4, 4).T  # stored by columns
            if not np.array_equal(matrix[3], (0, 0, 0, 1)):
                raise self.document.fail(f"{where}.matrix", "its last row must be 0, 0, 0, 1")
            return Branch(parent, matrix=matrix)
        rotation = node.rotation or [0.0, 0.0, 0.0, 1.0]
        length = math.hypot(*rotation)
        if not 0 < length < math.inf:
            raise self.document.fail(f"{where}.rotation", "a quaternion of length 0; its length must be 1")
        return Branch(
            parent,
            tuple(node.translation or (0.0, 0.0, 0.0)),
            tuple(part / length for part in rotation),
            tuple(node.scale or (1.0, 1.0, 1.0)),
        )

    def _skin(self, index: int, where: str) -> Skin:
        given: schema.Skin = self.document.item("skins", index, where)
        if index not in self._skins:
            here, count = f"skins[{index}]", len(given.joints)
            for i, joint in enumerate(given.joints):
                self.document.item("nodes", joint, f"{here}.joints[{i}]")
            inverse = np.broadcast_to(np.eye(4), (count, 4, 4))
            if given.inverseBindMatrices is not None:
                path = f"{here}.inverseBindMatrices"
                found = self.accessors.floats(given.inverseBindMatrices, path, ("MAT4",))
                if len(found) < count:
                    raise self.document.fail(path, f"{len(found)} matrices for {count} joints")
                inverse = found[:count].astype(np.float64).reshape(-1, 4, 4).swapaxes(1, 2)  # by columns
            self._skins[index] = Skin(tuple(self.place[joint] for joint in given.joints), inverse)
        return self._skins[index]

    def _weights(self, node: schema.Node, deform: Deform | None, where: str) -> tuple[float, ...]:
        """The morph targets' weights at rest: the node's, the mesh's, or zeros."""
        targets = 0 if deform is None else deform.targets
        if not targets:
            return ()
        assert node.mesh is not None
        own = self.document.model.meshes[node.mesh].weights
        given = node.weights if node.weights is not None else own
        if given is not None and len(given) != targets:
            where = f"{where}.weights" if node.weights is not None else f"meshes[{node.mesh}].weights"
            raise self.document.fail(where, f"{len(given)} weights for {targets} morph targets")
        return tuple(given) if given is not None else (0.0,) * targets

    def _lens(self, camera: schema.Camera, place: int, name: str, where: str) -> Lens:
        seen = camera.perspective if camera.type == "perspective" else camera.orthographic
        if seen is None:
            raise self.document.fail(f"{where}.{camera.type}", "this property is required")
        if seen.zfar is not None and seen.zfar <= seen.znear:
            raise self.document.fail(f"{where}.{camera.type}.zfar", f"{seen.zfar}; it must be beyond znear")
        if isinstance(seen, schema.Perspective):
            return Lens(place, name, math.degrees(seen.yfov), None, seen.znear, seen.zfar)
        if not abs(seen.ymag) > 0:
            raise self.document.fail(f"{where}.orthographic.ymag", "it must not be 0")
        return Lens(place, name, height=2 * abs(seen.ymag), near=seen.znear, far=seen.zfar)

    def _light(self, given: schema.PunctualLight, where: str) -> Light:
        """Lux and candela, over pi: what a white surface sends back."""
        red, green, blue = (part * given.intensity / math.pi for part in given.color)
        try:
            return Light(
                color=(red, green, blue),
                kind=given.type,
                reach=math.inf if given.range is None else given.range,
                inner=math.degrees(given.spot.innerConeAngle) if given.type == "spot" else 0.0,
                outer=min(math.degrees(given.spot.outerConeAngle), 90.0) if given.type == "spot" else 45.0,
            )
        except UserError as error:
            raise self.document.fail(where, str(error)) from error
