"""Faces whose corners name position, texture coordinate and normal apart (OBJ), as meshes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.load.colors import linear
from whygpu.draw.load.source import Source
from whygpu.draw.material import Material
from whygpu.draw.mesh import Mesh
from whygpu.draw.scene import Node
from whygpu.draw.tangents import tangents
from whygpu.engine import UserError

__all__ = ["Corners", "fans"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Corners:
    """Positions (with colours), texture coordinates and normals, from which meshes take what they name."""

    def __init__(self, source: Source, values: Floats, uv: Floats, normals: Floats) -> None:
        self.source = source
        with np.errstate(over="ignore"):  # becomes infinite, and is refused by the mesh
            self.positions = values[:, :3].astype(np.float32)
        self.colors = _colors(values)
        v = uv[:, 1] if uv.shape[1] > 1 else np.zeros(len(uv))
        self.uv = np.stack([uv[:, 0], 1 - np.nan_to_num(v)], axis=1)  # the file's v runs up, ours down
        self.normals = normals[:, :3]

    def faces(self, corner: Indices, counts: Indices, smooth: Indices, material: Material, name: str) -> Node:
        """A mesh of polygons: ``corner`` (n, 3), -1 for none; ``counts`` (faces,) of their corners."""
        self.source.budget.take(200 * len(corner), name)
        triangles = fans(counts)  # (T, 3) places in ``corner``
        normal, table = self._normals(corner, triangles, counts, smooth)
        keys = np.stack([corner[:, 0], corner[:, 1], normal], axis=1)
        vertices, which = _unique(keys)
        has_uv = bool((corner[:, 1] >= 0).any())
        node = self._mesh(
            vertices,
            material,
            name,
            normals=table[vertices[:, 2]],
            uv=(self.uv[vertices[:, 1]] if has_uv else None, None),
            triangles=which[triangles].astype(np.int32),
        )
        if material.normal_texture is not None:
            node = Node(replace(node.mesh, tangents=tangents(node.mesh)))
        return node

    def strokes(self, corner: Indices, counts: Indices, lines: bool, name: str) -> Node:
        """A mesh of lines (each a strip of ``counts`` corners) or points, that nothing lights."""
        vertices, which = _unique(np.stack([corner[:, 0], corner[:, 1], np.zeros(len(corner), np.int64)], 1))
        inside = np.ones(len(corner), np.bool_)
        inside[np.cumsum(counts) - 1] = False  # the last corner of a strip begins no line
        first = np.flatnonzero(inside)
        drawn: dict[str, Any] = (
            {"lines": np.stack([which[first], which[first + 1]], axis=1).astype(np.int32)}
            if lines
            else {"points": which.astype(np.int32)}
        )
        return self._mesh(vertices, Material((1.0, 1.0, 1.0), unlit=True), name, **drawn)

    def _mesh(self, vertices: Indices, material: Material, name: str, **rest: Any) -> Node:
        colors = None if self.colors is None else self.colors[vertices[:, 0]]
        try:
            return Node(
                Mesh(self.positions[vertices[:, 0]], colors=colors, material=material, name=name, **rest)
            )
        except UserError as error:
            raise self.source.fail("", str(error)) from error

    def _normals(
        self, corner: Indices, triangles: Indices, counts: Indices, smooth: Indices
    ) -> tuple[Indices, Floats]:
        """Each corner's row, (n,), in a table of normals: given, of the flat face, or of the smooth group."""
        given = corner[:, 2]
        if (given >= 0).all():
            return given, self.normals
        p = self.positions[corner[triangles, 0]].astype(np.float64)  # (T, 3, 3)
        with np.errstate(invalid="ignore"):
            areas = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
        face = np.repeat(np.arange(len(counts)), counts)  # of each corner
        group = smooth[face]
        # Corners share a normal with their own face, or with all corners at their vertex in their group
        keys = np.stack(
            [np.where(group > 0, corner[:, 0], -1), np.where(group > 0, group, -1 - face)], axis=1
        )
        _, row = _unique(keys)
        of_corner = np.zeros((int(row.max()) + 1, 3))
        flat = triangles.ravel()
        for axis in range(3):
            weights = np.repeat(areas[:, axis], 3)
            of_corner[:, axis] = np.bincount(row[flat], weights, len(of_corner))
        length = np.linalg.norm(of_corner, axis=1, keepdims=True)
        made = np.where(length > 0, of_corner / np.where(length > 0, length, 1), (0.0, 0.0, 1.0))
        return np.where(given >= 0, given, len(self.normals) + row), np.concatenate([self.normals, made])


def fans(counts: Indices) -> Indices:
    """Polygons of ``counts`` corners each, as triangles around their first corner: places, (T, 3)."""
    start = np.cumsum(counts) - counts
    many = counts - 2
    first = np.repeat(start, many)  # (T,)
    step = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    return np.stack([first, first + step + 1, first + step + 2], axis=1)


def _unique(rows: Indices) -> tuple[Indices, Indices]:
    """The different rows in order of first use, and which of them each row is."""
    number = np.zeros(len(rows), np.int64)
    for column in rows.T:  # column by column, so that no product of counts can overflow
        _, dense = np.unique(column, return_inverse=True)
        dense = dense.reshape(-1)
        _, number = np.unique(number * (int(dense.max(initial=0)) + 1) + dense, return_inverse=True)
        number = number.reshape(-1)
    _, first = np.unique(number, return_index=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return rows[first[order]], place[number]


def _colors(values: Floats) -> NDArray[np.float32] | None:
    """Linear RGB, white where a vertex has none; None where no vertex has any."""
    if values.shape[1] < 6:
        return None
    colors = values[:, 3:6]
    given = np.asarray(np.isfinite(colors).all(1))
    if not given.any():
        return None
    largest = float(colors[given].max())
    colors = np.where(given[:, None], colors / (255.0 if largest > 1 else 1.0), 1.0)
    return linear(np.clip(colors, 0, 1))
