"""A scene's nodes as arrays: what of a frame's constants does not change from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.material import Material
from whygpu.draw.scene import Node

__all__ = ["MATERIAL", "Nodes"]

Matrix = NDArray[np.float64]

MATERIAL = 16
"""Numbers that a node's material takes; see ``Nodes.materials``."""
MODES = {"opaque": 0, "mask": 1, "blend": 2}


@dataclass(frozen=True, eq=False)
class Nodes:
    """One row a node."""

    transforms: Matrix
    """(nodes, 4, 4): a mesh's space to the world, acts on column vectors."""
    reach: Matrix
    """(nodes, 3): the largest coordinate of a mesh along each axis."""
    normal: Matrix
    """(nodes, 3, 3): a normal times this is the normal in the world, not yet of length 1."""
    flip: NDArray[np.int64]
    """(nodes,): 1 where the transform mirrors, so that front faces wind clockwise."""
    linear: NDArray[np.float32]
    """(nodes, 3, 3): a tangent times this is the tangent in the world."""
    materials: Matrix
    """(nodes, 16): base colour, metallic, emissive, roughness, alpha, alpha cutoff, alpha mode, whether it is
    unlit, normal scale, occlusion strength, exposure (1), specular factor."""
    double_sided: NDArray[np.int64]
    """(nodes,): 1 where backs are drawn."""
    opaque: NDArray[np.bool_]
    """(nodes,)"""
    casts: NDArray[np.bool_]
    """(nodes,): whether it casts shadows: all that is not blended does."""
    full: bool
    """Whether a material needs more than the plain variant of shading."""

    @classmethod
    def of(cls, nodes: Sequence[Node]) -> Nodes:
        """Gather the rows."""
        transforms = np.array([node.transform for node in nodes]).reshape(-1, 4, 4)
        materials = [node.mesh.material for node in nodes]
        normal, flip = _cofactors(transforms[:, :3, :3])
        modes = [material.alpha_mode for material in materials]
        return cls(
            transforms=transforms,
            reach=np.array([node.mesh.reach for node in nodes]).reshape(-1, 3),
            normal=normal,
            flip=flip,
            linear=transforms[:, :3, :3].transpose(0, 2, 1).astype(np.float32, "C"),
            materials=_materials(materials),
            double_sided=np.array([material.double_sided for material in materials], np.int64),
            opaque=np.array([mode == "opaque" for mode in modes], bool),
            casts=np.array([mode != "blend" for mode in modes], bool),
            full=any(m.unlit or m.alpha_mode != "opaque" or any(m.textures) for m in materials),
        )


def _cofactors(linear: Matrix) -> tuple[Matrix, NDArray[np.int64]]:
    """What turns normals, (n, 3, 3) for row vectors, and whether the transforms (n, 3, 3) mirror.

    The cofactors are the inverse transpose times the determinant; they exist where the inverse does not.
    """
    a, b, c = linear[:, 0], linear[:, 1], linear[:, 2]
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1)
    mirrors = (a * cofactors[:, 0]).sum(1) < 0
    largest = np.abs(cofactors).max((1, 2), initial=0.0)[:, None, None]
    scaled = np.where(largest > 0, cofactors / np.where(largest > 0, largest, 1.0), np.eye(3))
    turned = np.where(mirrors[:, None, None], -scaled, scaled).transpose(0, 2, 1)
    return np.ascontiguousarray(turned), mirrors.astype(np.int64)


def _materials(materials: list[Material]) -> Matrix:
    rows = np.zeros((len(materials), MATERIAL))
    for row, m in zip(rows, materials, strict=True):
        row[:] = (
            *m.base_color, m.metallic, *m.emissive, m.roughness, m.alpha, m.alpha_cutoff, MODES[m.alpha_mode],
            m.unlit, m.normal_scale, m.occlusion_strength, 1.0, m.specular,
        )  # fmt: skip
    return rows
