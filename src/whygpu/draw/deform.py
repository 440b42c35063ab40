"""Shapes that change: morph targets, then skinning (glTF 2.0, section 3.7); both are products."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.mesh import Mesh
from whygpu.engine import current, matmul, other

__all__ = ["Deform", "deformed", "face_normals"]

Floats = NDArray[np.float32]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Deform:
    """What pulls at a mesh's vertices."""

    joints: NDArray[np.int32] | None = None
    """(V, K): the joints of the skin that move each vertex ..."""
    weights: Floats | None = None
    """(V, K): ... and by how much; each row sums to 1."""
    positions: Floats | None = None
    """(targets, V, 3): what each morph target adds."""
    normals: Floats | None = None
    """(targets, V, 3)."""
    tangents: Floats | None = None
    """(targets, V, 3)."""
    flat: bool = False
    """Whether the normals are the faces' own and follow them; no two triangles share a vertex then."""

    @property
    def targets(self) -> int:
        """How many morph targets there are."""
        return max(
            (len(d) for d in (self.positions, self.normals, self.tangents) if d is not None), default=0
        )


def deformed(mesh: Mesh, deform: Deform, weights: Matrix | None, joints: Matrix | None) -> Mesh:
    """A mesh with its morph targets mixed in and its vertices carried along by their joints.

    Parameters
    ----------
    mesh
        In its bind pose.
    weights
        (targets,) how much of each morph target; None: nothing of any.
    joints
        (joints, 4, 4) from the bind pose to the world; None: the mesh has no skin.
    """
    positions, normals = mesh.positions, mesh.normals
    tangents = mesh.tangents
    assert normals is not None
    if weights is not None and np.any(weights):
        positions = _mixed(positions, deform.positions, weights)
        normals = _mixed(normals, deform.normals, weights)
        if tangents is not None and deform.tangents is not None:
            tangents = np.column_stack([_mixed(tangents[:, :3], deform.tangents, weights), tangents[:, 3]])
    if joints is not None and deform.joints is not None and deform.weights is not None:
        linear, shift = _blended(deform.joints, deform.weights, joints)
        positions = _carried(linear, positions) + shift
        normals = _carried(_cofactors(linear), normals)
        if tangents is not None:
            tangents = np.column_stack([_carried(linear, tangents[:, :3]), tangents[:, 3]])
    if positions is mesh.positions and normals is mesh.normals:
        return mesh
    if deform.flat and len(mesh.triangles):
        normals = face_normals(positions, mesh.triangles)
    return replace(mesh, positions=positions, normals=normals, tangents=tangents)


def face_normals(positions: Floats, triangles: NDArray[np.int32]) -> Floats:
    """The unit normal of each vertex' triangle, (V, 3); no two triangles share a vertex."""
    corners = positions[triangles].astype(np.float64)  # (T, 3, 3)
    edges = corners[:, 1:] - corners[:, :1]
    largest = np.abs(edges).max(axis=(1, 2), keepdims=True)
    edges /= np.where(largest > 0, largest, 1.0)  # so that tiny triangles do not vanish in float32
    faces = np.cross(edges[:, 0], edges[:, 1])
    length = np.linalg.norm(faces, axis=1, keepdims=True)
    unit = np.where(length > 0, faces / np.where(length > 0, length, 1.0), (0.0, 0.0, 1.0))
    normals = np.tile(np.array([0.0, 0.0, 1.0], np.float32), (len(positions), 1))
    normals[triangles.ravel()] = np.repeat(unit, 3, axis=0)
    return normals


def _mixed(base: Floats, deltas: Floats | None, weights: Matrix) -> Floats:
    """``base`` (V, 3) plus (1, targets) @ (targets, 3 V)."""
    if deltas is None:
        return base
    backend = current()
    row = backend.asarray(weights[None, : len(deltas)], "float32")  # (1, targets)
    table = backend.asarray(deltas.reshape(len(deltas), -1), "float32")  # (targets, 3 V)
    moved = matmul(row, table, name="morph targets")  # (1, 3 V)
    return base + np.asarray(backend.to_numpy(moved), np.float32).reshape(base.shape)


def _blended(joints: NDArray[np.int32], weights: Floats, matrices: Matrix) -> tuple[Floats, Floats]:
    """Each vertex' own matrix, the weighted sum of its joints': linear part (V, 3, 3), shift (V, 3)."""
    backend = current()
    rows = matrices[:, :3].reshape(len(matrices), 12).astype(np.float32)  # (joints, 12)
    with other("gather joints", flop=0, size=2 * joints.size * 48):
        gathered = backend.asarray(rows[joints], "float32")  # (V, K, 12)
    mixing = backend.asarray(weights[:, None, :], "float32")  # (V, 1, K)
    blended = matmul(mixing, gathered, name="skinning")  # (V, 1, 12)
    matrix = np.asarray(backend.to_numpy(blended), np.float32).reshape(-1, 3, 4)
    return matrix[:, :, :3], matrix[:, :, 3]


def _carried(linear: Floats, vectors: Floats) -> Floats:
    """Each vertex' matrix (V, 3, 3) times its own vector (V, 3)."""
    backend = current()
    column = backend.asarray(np.ascontiguousarray(vectors)[:, :, None], "float32")  # (V, 3, 1)
    moved = matmul(backend.asarray(np.ascontiguousarray(linear), "float32"), column, name="skinning")
    return np.asarray(backend.to_numpy(moved), np.float32)[:, :, 0]  # (V, 3)


def _cofactors(linear: Floats) -> Floats:
    """What turns normals, (V, 3, 3): the inverse transpose times the determinant."""
    a, b, c = linear[:, 0], linear[:, 1], linear[:, 2]
    return np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1)
