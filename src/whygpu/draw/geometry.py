"""A scene's meshes in one set of buffers: what a graphics driver would upload, built once a scene."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.scene import Scene
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
    triangles: NDArray[np.int32]
    """(T, 3), indices into the arrays above. A triangle's id is its row."""
    vertex_start: NDArray[np.int64]
    """(nodes + 1,): node i owns the vertices from element i up to element i + 1."""
    triangle_start: NDArray[np.int64]
    """(nodes + 1,): and these triangles."""
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
            _joined(shifted, np.int32),
            vertex_start,
            triangle_start,
        )


def _colors(meshes: list[Any]) -> NDArray[np.float32]:
    if all(mesh.colors is None for mesh in meshes):
        return np.zeros((0, 4), np.float32)
    white = [np.ones((len(m.positions), 4), np.float32) if m.colors is None else m.colors for m in meshes]
    colors: NDArray[np.float32] = _joined(white, np.float32)
    return colors


def _joined(parts: list[Any], dtype: Any) -> Any:
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros((0, 3), dtype)])
    joined = joined.view()
    joined.flags.writeable = False
    return joined
