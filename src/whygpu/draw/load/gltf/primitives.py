"""Mesh primitives (glTF 2.0, section 3.7): a ``Mesh`` each, and what deforms it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.deform import Deform, face_normals
from whygpu.draw.load.gltf import schema
from whygpu.draw.load.gltf.accessors import Accessors
from whygpu.draw.load.gltf.document import Document
from whygpu.draw.load.gltf.materials import Materials
from whygpu.draw.load.gltf.topology import lines, triangles
from whygpu.draw.mesh import Mesh
from whygpu.draw.tangents import tangents
from whygpu.engine import UserError

__all__ = ["Primitives"]

Floats = NDArray[np.float32]

ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "POSITION": ("VEC3",),
    "NORMAL": ("VEC3",),
    "TANGENT": ("VEC4",),
    "TEXCOORD_0": ("VEC2",),
    "TEXCOORD_1": ("VEC2",),
    "COLOR_0": ("VEC3", "VEC4"),
}
POINTS, LINES, LINE_LOOP, LINE_STRIP, TRIANGLES = 0, 1, 2, 3, 4


class Primitives:
    """Makes each primitive of each mesh once; nodes that show the same mesh share it."""

    def __init__(self, document: Document, accessors: Accessors, materials: Materials) -> None:
        self.document = document
        self.accessors = accessors
        self.materials = materials
        self._made: dict[int, list[tuple[Mesh, Deform | None]]] = {}

    def of(self, index: int, where: str) -> list[tuple[Mesh, Deform | None]]:
        """The primitives of ``meshes[index]``, with what deforms each (skin or morph targets), or None."""
        mesh: schema.Mesh = self.document.item("meshes", index, where)
        if index not in self._made:
            name = mesh.name or f"mesh {index}"
            self._made[index] = [
                self._primitive(primitive, f"meshes[{index}].primitives[{i}]", name)
                for i, primitive in enumerate(mesh.primitives)
            ]
        return self._made[index]

    def _primitive(self, given: schema.Primitive, where: str, name: str) -> tuple[Mesh, Deform | None]:
        found, indices = self._vertices(given, where)
        positions = found["POSITION"]
        count = len(positions)
        material = self.materials.get(given.material, f"{where}.material")
        deform = self._deform(given, where, count, "NORMAL" not in found and given.mode >= TRIANGLES)
        uv = (found.get("TEXCOORD_0"), found.get("TEXCOORD_1"))
        shape: dict[str, Any] = {}
        if given.mode >= TRIANGLES:
            shape["triangles"] = triangles(given.mode, indices)
        elif given.mode == POINTS:
            shape["points"] = indices.astype(np.int32)
        else:
            shape["lines"] = lines(given.mode, indices)
        if given.mode < TRIANGLES and "NORMAL" not in found:
            material = replace(material, unlit=True)  # nothing says how light would meet them (section 3.7.2)
        # What is made below: the mesh's own arrays, and for flat faces three vertices a triangle
        self.document.source.budget.take(64 * count + 256 * len(indices), where)
        try:
            mesh = Mesh(
                positions,
                normals=found.get("NORMAL"),
                colors=found.get("COLOR_0"),
                material=material,
                name=name,
                uv=uv,
                tangents=found.get("TANGENT") if "NORMAL" in found else None,
                **shape,
            )
        except UserError as error:
            raise self.document.fail(where, str(error)) from error
        if "NORMAL" not in found and given.mode >= TRIANGLES:
            mesh, deform = _faceted(mesh, deform)
        if mesh.tangents is None and material.normal_texture is not None and given.mode >= TRIANGLES:
            mesh = replace(mesh, tangents=tangents(mesh))
        return mesh, deform

    def _vertices(self, given: schema.Primitive, where: str) -> tuple[dict[str, Floats], NDArray[Any]]:
        """The attributes as float32 by name, and the vertices in drawing order."""
        draco = given.extensions.KHR_draco_mesh_compression
        if draco is not None:
            from whygpu.draw.load.gltf.draco import decompress

            decompress(self.document, self.accessors, given, draco, where)
        if "POSITION" not in given.attributes:
            raise self.document.fail(f"{where}.attributes", "it has no POSITION; nothing can be drawn")
        found: dict[str, Floats] = {}
        count: int | None = None  # the first attribute, the positions, says how many
        for key, types in ATTRIBUTES.items():
            if key in given.attributes:
                found[key] = self.accessors.floats(
                    given.attributes[key],
                    f"{where}.attributes.{key}",
                    types,
                    count,
                    whole=key == "COLOR_0",
                )
                count = len(found[key])
        if given.indices is None:
            return found, np.arange(len(found["POSITION"]), dtype=np.int32)
        indices = self.accessors.integers(given.indices, f"{where}.indices", ("SCALAR",))[:, 0]
        highest = int(indices.max())
        if highest >= len(found["POSITION"]):
            raise self.document.fail(
                f"{where}.indices",
                f"element {int(indices.argmax())} names vertex {highest:,}; there are"
                f" {len(found['POSITION']):,}, from 0 to {len(found['POSITION']) - 1:,}",
            )
        return found, indices

    def _deform(self, given: schema.Primitive, where: str, count: int, flat: bool) -> Deform | None:
        joints, weights = self._joints(given, where, count)
        deltas: dict[str, Any] = {}
        for key in ("POSITION", "NORMAL", "TANGENT"):
            rows = []
            for i, target in enumerate(given.targets):
                path = f"{where}.targets[{i}].{key}"
                rows.append(
                    self.accessors.floats(target[key], path, ("VEC3",), count) if key in target else None
                )
            if any(row is not None for row in rows):
                self.document.source.budget.take(24 * count * len(rows), f"{where}.targets")
                nothing = np.zeros((count, 3), np.float32)
                deltas[key.lower() + "s"] = np.stack([nothing if row is None else row for row in rows])
        if joints is None and not deltas:
            return None
        return Deform(joints, weights, flat=flat, **deltas)

    def _joints(
        self, given: schema.Primitive, where: str, count: int
    ) -> tuple[NDArray[np.int32] | None, Floats | None]:
        """JOINTS_0, JOINTS_1 ... and WEIGHTS_0, WEIGHTS_1 ..., side by side: (V, K) each."""
        joints, weights = [], []
        for i in range(16):
            key, other = f"JOINTS_{i}", f"WEIGHTS_{i}"
            if key not in given.attributes or other not in given.attributes:
                break
            path = f"{where}.attributes"
            joints.append(self.accessors.integers(given.attributes[key], f"{path}.{key}", ("VEC4",), count))
            weights.append(
                self.accessors.floats(
                    given.attributes[other], f"{path}.{other}", ("VEC4",), count, whole=True
                )
            )
        if not joints:
            return None, None
        self.document.source.budget.take(256 * count * len(joints), f"{where}.attributes.JOINTS_0")
        mixed: Floats = np.concatenate(weights, axis=1)
        if mixed.min() < 0:
            raise self.document.fail(f"{where}.attributes.WEIGHTS_0", "a weight is negative")
        total = mixed.sum(axis=1, keepdims=True)
        mixed = (mixed / np.where(total > 0, total, 1)).astype(np.float32)
        mixed[total[:, 0] == 0, 0] = 1  # no weight at all: the first joint carries the vertex
        moved = np.concatenate(joints, axis=1).astype(np.int64)
        return np.where(mixed > 0, moved, 0).astype(np.int32), mixed


def _faceted(mesh: Mesh, deform: Deform | None) -> tuple[Mesh, Deform | None]:
    """Without normals each face is flat (section 3.7.2.1): every triangle gets three vertices of its own."""
    corner = mesh.triangles.ravel()
    positions = mesh.positions[corner]
    own = np.arange(len(corner), dtype=np.int32).reshape(-1, 3)

    def at(values: Any, axis: int = 0) -> Any:
        return None if values is None else np.take(values, corner, axis)

    if deform is not None:
        deform = replace(
            deform,
            joints=at(deform.joints),
            weights=at(deform.weights),
            positions=at(deform.positions, 1),
            normals=None,
            tangents=at(deform.tangents, 1),
        )
    return (
        replace(
            mesh,
            positions=positions,
            triangles=own,
            normals=face_normals(positions, own),
            colors=at(mesh.colors),
            uv=(at(mesh.uv[0]), at(mesh.uv[1])),
            tangents=None,
        ),
        deform,
    )
