"""A scene's meshes in one set of buffers: what a graphics driver would upload, built once a scene."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.mesh import Mesh
from whygpu.draw.nodes import Nodes
from whygpu.draw.scene import Scene
from whygpu.draw.tangents import tangents
from whygpu.draw.textures import Textures
from whygpu.engine import UserError

__all__ = ["Geometry"]

MAX_COUNT = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Geometry:
    """All nodes' vertices and triangles, one after the other; every array is read-only and C-contiguous."""

    positions: NDArray[np.float32]
    """(V, 3), in each mesh's own space."""
    normals: NDArray[np.float32]
    """(V, 3), in each mesh's own space."""
    colors: NDArray[np.float32]
    """(V, 4) linear RGBA; (0, 4) where no mesh has vertex colours."""
    uv: NDArray[np.float32]
    """(V, 4): two sets of texture coordinates; (0, 4) where no material has a texture."""
    tangents: NDArray[np.float32]
    """(V, 4): tangent in each mesh's space and side of the bitangent; (0, 4) without normal maps."""
    triangles: NDArray[np.int32]
    """(T, 3), indices into the arrays above. A triangle's id is its row."""
    vertex_start: NDArray[np.int64]
    """(nodes + 1,): node i owns the vertices from element i up to element i + 1."""
    triangle_start: NDArray[np.int64]
    """(nodes + 1,): and these triangles."""
    textures: Textures
    """All images, and how each node's material samples them."""
    bounds: NDArray[np.float64]
    """(8 corners a node, 3): boxes round the nodes, in the world."""
    nodes: Nodes
    """Their transforms and materials."""
    framings: dict[Any, Any] = field(default_factory=dict, repr=False)
    """Cameras that frame the scene, by aspect and view: finding one can take longer than drawing."""
    spare: list[Any] = field(default_factory=list, repr=False)
    """Working space of the fast path that no frame is using now, kept for the next one."""

    @classmethod
    def of(cls, scene: Scene) -> Geometry:
        """Gather the buffers; a scene of one node shares its mesh's arrays."""
        meshes = [node.mesh for node in scene.nodes]
        vertex_start = np.cumsum([0, *(len(mesh.positions) for mesh in meshes)], dtype=np.int64)
        triangle_start = np.cumsum([0, *(len(mesh.triangles) for mesh in meshes)], dtype=np.int64)
        for what, count in (("vertices", vertex_start[-1]), ("triangles", triangle_start[-1])):
            if count > MAX_COUNT:
                raise UserError(
                    f"scene {scene.name!r} has {count:,} {what}; at most {MAX_COUNT:,} can be drawn"
                )
        shifted = [
            mesh.triangles if start == 0 else mesh.triangles + np.int32(start)
            for mesh, start in zip(meshes, vertex_start[:-1], strict=True)
        ]
        return cls(
            _joined([mesh.positions for mesh in meshes], np.float32),
            _joined([mesh.normals for mesh in meshes], np.float32),
            _colors(meshes),
            _coordinates(meshes),
            _tangents(meshes),
            _joined(shifted, np.int32),
            vertex_start,
            triangle_start,
            Textures.of([mesh.material for mesh in meshes]),
            _bounds(scene),
            Nodes.of(scene.nodes),
        )


def _coordinates(meshes: list[Mesh]) -> NDArray[np.float32]:
    """Texture coordinates; zeros for a set that a mesh does not have."""
    if not any(any(mesh.material.textures) for mesh in meshes):
        return _nothing()
    parts = []
    for mesh in meshes:
        part = np.zeros((len(mesh.positions), 4), np.float32)
        for i, values in enumerate(mesh.uv):
            if values is not None:
                part[:, 2 * i : 2 * i + 2] = values
        parts.append(part)
    coordinates: NDArray[np.float32] = _joined(parts, np.float32)
    return coordinates


def _tangents(meshes: list[Mesh]) -> NDArray[np.float32]:
    """Tangents, the file's own or computed; zeros where a mesh has no normal map."""
    if all(mesh.material.normal_texture is None for mesh in meshes):
        return _nothing()
    joined: NDArray[np.float32] = _joined([_tangents_of(mesh) for mesh in meshes], np.float32)
    return joined


def _tangents_of(mesh: Mesh) -> NDArray[np.float32]:
    if mesh.material.normal_texture is None:
        return np.zeros((len(mesh.positions), 4), np.float32)
    return tangents(mesh) if mesh.tangents is None else mesh.tangents


def _bounds(scene: Scene) -> NDArray[np.float64]:
    boxes = []
    for node in scene.nodes:
        if len(node.mesh.positions):
            ends = np.stack([node.mesh.positions.min(0), node.mesh.positions.max(0)]).astype(np.float64)
            corners = np.stack(np.meshgrid(*ends.T, indexing="ij"), -1).reshape(8, 3)
            boxes.append(corners @ node.transform[:3, :3].T + node.transform[:3, 3])
    return np.concatenate(boxes) if boxes else np.zeros((1, 3))


def _colors(meshes: list[Any]) -> NDArray[np.float32]:
    if all(mesh.colors is None for mesh in meshes):
        return _nothing()
    white = [np.ones((len(m.positions), 4), np.float32) if m.colors is None else m.colors for m in meshes]
    colors: NDArray[np.float32] = _joined(white, np.float32)
    return colors


def _nothing() -> NDArray[np.float32]:
    """No vertex has it; read-only as all else, or kernels would be compiled for it again."""
    nothing = np.zeros((0, 4), np.float32)
    nothing.flags.writeable = False
    return nothing


def _joined(parts: list[Any], dtype: Any) -> Any:
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros((0, 3), dtype)])
    joined = joined.view()
    joined.flags.writeable = False
    return joined
