"""Lines and points as triangles: ribbons and squares one pixel wide that face the eye.

They are made anew for each frame, before the vertex stage, so that the stages know triangles alone. A ribbon
is one pixel wide along the picture's axis that it follows less: so it lights one pixel in each column or
row that it crosses, as hardware does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.camera import projection_matrix, view_matrix
from whygpu.draw.mesh import Mesh
from whygpu.draw.scene import Camera, Node, Scene
from whygpu.engine import current, matmul

__all__ = ["with_lines"]

Matrix = NDArray[np.float64]

BIAS = 1e-3
"""How much nearer, as a share of its distance, an edge is drawn than the triangles that it belongs to."""


def with_lines(scene: Scene, camera: Camera, width: int, height: int, wireframe: str) -> Scene:
    """The scene with its lines and points as further nodes of triangles, as ``camera`` sees them.

    ``wireframe``: ``""`` for the scene as it is; ``"hidden"`` adds the triangles' edges; ``"through"`` has
    the edges in place of the triangles.
    """
    if not wireframe and not any(_has_lines(node.mesh) for node in scene.nodes):
        return scene
    seen = _Seen(camera, width, height)
    nodes = []
    for node in scene.nodes:
        mesh = node.mesh
        if wireframe and len(mesh.triangles):
            nodes.append(seen.ribbons(node, _edges(mesh.triangles), BIAS))
        if mesh.lines is not None and len(mesh.lines):
            nodes.append(seen.ribbons(node, mesh.lines, 0.0))
        if mesh.points is not None and len(mesh.points):
            nodes.append(seen.squares(node, mesh.points))
    kept = scene.nodes if wireframe != "through" else ()
    return replace(scene, nodes=(*kept, *(node for node in nodes if node is not None)))


def _has_lines(mesh: Mesh) -> bool:
    """Whether a mesh is more than triangles."""
    return any(part is not None and len(part) > 0 for part in (mesh.lines, mesh.points))


def _edges(triangles: NDArray[np.int32]) -> NDArray[np.int32]:
    """Every edge once, (n, 2)."""
    ends = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    keys = np.unique(ends[:, 0].astype(np.int64) << 32 | ends[:, 1])
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)


class _Seen:
    """A camera and a picture, for what must have its size in pixels."""

    def __init__(self, camera: Camera, width: int, height: int) -> None:
        self.to_clip = projection_matrix(camera, width / height) @ view_matrix(camera)
        self.to_world = np.linalg.inv(self.to_clip)
        self.camera = camera
        self.half = np.array([1 / width, 1 / height])  # half a pixel, in normalised device coordinates

    def ribbons(self, node: Node, lines: NDArray[np.int32], bias: float) -> Node | None:
        """A node of two triangles for each line (L, 2) of ``node``'s mesh; None where none can be seen."""
        ends = self._clip(node, lines.ravel()).reshape(-1, 2, 4)
        start, stop, seen = _before_near(ends[:, 0], ends[:, 1])
        start, stop, lines = start[seen], stop[seen], lines[seen]
        if not len(lines):
            return None
        run = (stop[:, :2] / stop[:, 3:] - start[:, :2] / start[:, 3:]) / self.half  # in half pixels
        flat = np.abs(run[:, 0]) >= np.abs(run[:, 1])
        side = np.where(flat[:, None], [0.0, 1.0], [1.0, 0.0]) * self.half
        corners = np.stack([start, start, stop, stop], axis=1)  # (L, 4, 4)
        corners[:, :, :2] += side[:, None] * np.array([-1, 1, -1, 1])[:, None] * corners[:, :, 3:]
        return self._node(node, self._nearer(corners, bias), np.repeat(lines, 2, axis=1))

    def squares(self, node: Node, points: NDArray[np.int32]) -> Node | None:
        """A node of two triangles for each point (P,) of ``node``'s mesh; None where none can be seen."""
        at = self._clip(node, points)
        seen = (at[:, 3] > 0) & (at[:, 2] >= -at[:, 3])
        at, points = at[seen], points[seen]
        if not len(points):
            return None
        corners = np.repeat(at[:, None], 4, axis=1)  # (P, 4, 4)
        corners[:, :, :2] += self.half * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) * corners[:, :, 3:]
        return self._node(node, corners, np.repeat(points[:, None], 4, axis=1))

    def _clip(self, node: Node, vertices: NDArray[np.int32]) -> Matrix:
        """Vertices in clip space, (n, 4)."""
        backend = current()
        matrix = self.to_clip @ node.transform
        at = np.ones((len(vertices), 4))
        at[:, :3] = node.mesh.positions[vertices]
        product = matmul(
            backend.asarray(at, "float64"), backend.asarray(matrix.T.copy(), "float64"), name="line ends"
        )
        return np.array(backend.to_numpy(product), np.float64)

    def _nearer(self, corners: Matrix, bias: float) -> Matrix:
        """Moved to the eye by a share of the distance, along the line of sight, as far as the near plane."""
        if not bias:
            return corners
        if self.camera.height is not None:
            corners[..., 2] = np.maximum(corners[..., 2] - 2 * bias, -1)
            return corners
        near, far = self.camera.near, self.camera.far
        corners = corners * (1 - bias)
        depth = ((far + near) * corners[..., 3] - 2 * far * near) / (far - near)  # the projection's z of w
        corners[..., 2] = np.maximum(depth, -corners[..., 3])
        return corners

    def _node(self, node: Node, corners: Matrix, vertices: NDArray[np.int32]) -> Node:
        """Clip-space corners (n, 4, 4) as a node in the world; ``vertices`` (n, 4) lend their attributes."""
        world = corners.reshape(-1, 4) @ self.to_world.T
        flat, mesh = vertices.ravel(), node.mesh
        base = 4 * np.arange(len(corners))[:, None]
        triangles = (base + np.array([0, 1, 2, 2, 1, 3])).reshape(-1, 3)
        material = replace(mesh.material, unlit=True, double_sided=True)
        return Node(
            Mesh(
                (world[:, :3] / world[:, 3:]).astype(np.float32),
                triangles.astype(np.int32),
                np.tile(np.array([0, 0, 1], np.float32), (len(flat), 1)),
                None if mesh.colors is None else mesh.colors[flat],
                material,
                f"{mesh.name} (lines)",
                (
                    None if mesh.uv[0] is None else mesh.uv[0][flat],
                    None if mesh.uv[1] is None else mesh.uv[1][flat],
                ),
            )
        )


def _before_near(start: Matrix, stop: Matrix) -> tuple[Matrix, Matrix, NDArray[np.bool_]]:
    """Both ends moved to the near plane where they lie before it; and which lines have a part beyond it."""
    a, b = start[:, 2] + start[:, 3], stop[:, 2] + stop[:, 3]
    seen = np.maximum(a, b) > 0
    apart = np.where(a == b, 1.0, a - b)
    at = (a / apart)[:, None]
    cut = start + (stop - start) * at
    start, stop = np.where((a < 0)[:, None], cut, start), np.where((b < 0)[:, None], cut, stop)
    return start, stop, seen & (start[:, 3] > 0) & (stop[:, 3] > 0)
