"""Shapes: triangles, lines and points over shared vertices."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whygpu.draw.arrays import frozen
from whygpu.draw.material import Material
from whygpu.engine import UserError

__all__ = ["Mesh", "vertex_normals"]

Floats = NDArray[np.float32]
Indices = NDArray[np.int32]


def _none() -> Indices:
    return np.zeros((0, 3), np.int32)


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles, lines and points over shared vertices. Front faces are counter-clockwise seen from outside.

    Arrays are copied where they must be converted, and made read-only.

    Raises
    ------
    UserError
        For wrong shapes, an index that names no vertex, a number that is not finite.
    """

    positions: Floats
    """(V, 3) float32."""
    triangles: Indices = field(default_factory=_none)
    """(T, 3) int32 indices of vertices."""
    normals: Floats | None = None
    """(V, 3) float32, any length but zero; None: computed, smooth, weighted by area."""
    colors: Floats | None = None
    """(V, 4) float32, linear RGBA; (V, 3) is taken as opaque; None: white."""
    material: Material = field(default_factory=Material)
    name: str = "mesh"
    uv: tuple[Floats | None, Floats | None] = (None, None)
    """Two sets of texture coordinates, (V, 2) float32 each, v downwards as in glTF."""
    tangents: Floats | None = None
    """(V, 4) float32: along u, and the side (+1 or -1) of v; None: computed where the material needs them."""
    lines: Indices | None = None
    """(L, 2) int32: ends of lines, drawn one pixel wide."""
    points: Indices | None = None
    """(P,) int32: vertices drawn as one pixel."""

    def __post_init__(self) -> None:
        positions = self._vectors("positions", self.positions, 3)
        count = len(positions)
        triangles = self._indices("triangles", self.triangles, count, (3,))
        self._keep("positions", positions)
        self._keep("triangles", triangles)
        if self.normals is None:
            self._keep("normals", frozen(vertex_normals(positions, triangles), np.float32))
        else:
            self._keep("normals", _of_any_length(self._vectors("normals", self.normals, 3, count)))
        if self.colors is not None:
            colors = np.asarray(self.colors)
            if colors.ndim == 2 and colors.shape[1] == 3:
                colors = np.concatenate([colors, np.ones((len(colors), 1), colors.dtype)], axis=1)
            self._keep("colors", self._vectors("colors", colors, 4, count))
        self._keep(
            "uv",
            tuple(
                None if values is None else self._vectors(f"uv[{i}]", values, 2, count)
                for i, values in enumerate(self._two(self.uv))
            ),
        )
        if self.tangents is not None:
            self._keep("tangents", self._vectors("tangents", self.tangents, 4, count))
        if self.lines is not None:
            self._keep("lines", self._indices("lines", self.lines, count, (2,)))
        if self.points is not None:
            self._keep("points", self._indices("points", self.points, count, ()))

    @functools.cached_property
    def reach(self) -> NDArray[np.float64]:
        """The largest absolute coordinate on each axis, (3,) float64."""
        if not len(self.positions):
            return np.zeros(3)
        reach: NDArray[np.float64] = np.maximum(-self.positions.min(0), self.positions.max(0)).astype(
            np.float64
        )
        return reach

    @functools.cached_property
    def outline(self) -> NDArray[np.float64]:
        """Vertices that lie furthest out, (n, 3) float64: enough of them to frame the mesh."""
        points = self.positions
        if len(points) > 4096:
            steps = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3, indexing="ij"), -1).reshape(-1, 3)
            directions = steps[np.abs(steps).max(1) == 2].astype(np.float32)  # 98 of them
            few = points[:: len(points) // 4096]
            ends = np.concatenate([points.argmin(0), points.argmax(0)])
            points = np.concatenate([few[(few @ directions.T).argmax(0)], points[ends]])
        return points.astype(np.float64)

    def _keep(self, what: str, value: object) -> None:
        object.__setattr__(self, what, value)

    def _two(self, uv: object) -> tuple[Any, ...]:
        if not isinstance(uv, (tuple, list)) or len(uv) != 2:
            raise UserError(
                f"mesh {self.name!r}: uv must be two sets of coordinates, (first, second or None)"
            )
        return tuple(uv)

    def _vectors(self, what: str, values: ArrayLike, width: int, count: int | None = None) -> Floats:
        try:
            with np.errstate(
                over="ignore"
            ):  # what float32 cannot hold becomes infinite, and is refused below
                array: Floats = frozen(values, np.float32)
        except (TypeError, ValueError) as error:
            raise UserError(f"mesh {self.name!r}: {what} must be an array of numbers ({error})") from error
        if array.ndim != 2 or array.shape[1] != width or count not in (None, len(array)):
            wanted = "vertices" if count is None else count
            raise UserError(
                f"mesh {self.name!r}: {what} have shape {array.shape}; they must have ({wanted}, {width})"
            )
        if not np.isfinite(array).all():
            row = int(np.argmin(np.isfinite(array).all(1)))
            raise UserError(
                f"mesh {self.name!r}: {what}[{row}] is {array[row].tolist()}; float32 numbers must be finite"
            )
        return array

    def _indices(self, what: str, values: ArrayLike, vertices: int, row: tuple[int, ...]) -> Indices:
        array = np.asarray(values)
        if array.shape[1:] != row or array.ndim != 1 + len(row) or array.dtype.kind not in "iu":
            wanted = ", ".join([what, *map(str, row)])
            raise UserError(
                f"mesh {self.name!r}: {what} are {array.dtype} {array.shape};"
                f" they must be integers ({wanted})"
            )
        low, high = (int(array.min()), int(array.max())) if array.size else (0, -1)
        if low < 0 or high >= vertices:
            raise UserError(
                f"mesh {self.name!r}: {what} name vertex {low if low < 0 else high};"
                f" there are {vertices}, from 0 to {vertices - 1}"
            )
        indices: Indices = frozen(array, np.int32)
        return indices


def _of_any_length(normals: Floats) -> Floats:
    """Normals; those so long or short that float32 could not hold the square of their length get length 1."""
    longest = np.abs(normals).max(1, initial=0)
    odd = (longest > 1e6) | ((longest < 1e-6) & (longest > 0))
    if not odd.any():
        return normals
    handy = normals.copy()
    exact = normals[odd].astype(np.float64)
    handy[odd] = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    handy.flags.writeable = False
    return handy


def vertex_normals(positions: ArrayLike, triangles: ArrayLike) -> NDArray[np.float64]:
    """Smooth normals: the sum of the triangles' normals around each vertex, weighted by area; (V, 3)."""
    p, t = np.asarray(positions, np.float64), np.asarray(triangles)
    corners = p[t]  # (T, 3, 3)
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])  # twice the area each
    sums = np.empty((len(p), 3))
    for axis in range(3):
        weights = np.repeat(faces[:, axis], 3)
        sums[:, axis] = np.bincount(t.ravel(), weights, minlength=len(p))
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.where(length > 0, sums / np.where(length > 0, length, 1.0), (0.0, 0.0, 1.0))
