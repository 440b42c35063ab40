"""What there is to draw: meshes with materials, placed by nodes, seen by a camera, lit by lights.

Everything is right-handed with y up, as in glTF 2.0; lengths are in any one unit, angles in degrees,
colours linear RGB (not sRGB) unless said otherwise. Arrays are copied where they must be converted,
made read-only, and never changed afterwards: a scene may be drawn from many threads.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whygpu.engine import UserError

__all__ = ["Background", "Camera", "Light", "Material", "Mesh", "Node", "Scene", "View", "vertex_normals"]

Floats = NDArray[np.float32]
Matrix = NDArray[np.float64]
Color = tuple[float, float, float]


@dataclass(frozen=True)
class Material:
    """How a surface reflects light: glTF 2.0's metallic-roughness model without textures."""

    base_color: Color = (0.8, 0.8, 0.8)
    """Linear RGB, 0 to 1; multiplied by the vertex colour where the mesh has one."""
    metallic: float = 0.0
    """0: a dielectric (plastic, skin, stone); 1: a metal."""
    roughness: float = 0.55
    """0: a mirror; 1: chalk."""
    emissive: Color = (0.0, 0.0, 0.0)
    """Light that the surface gives off by itself, linear RGB."""
    double_sided: bool = False
    """Whether the backs of triangles are drawn, with the normal turned to the viewer."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles over shared vertices. Front faces are counter-clockwise seen from outside.

    Raises
    ------
    UserError
        For wrong shapes, an index that names no vertex, a position or normal that is not finite.
    """

    positions: Floats
    """(vertices, 3) float32."""
    triangles: NDArray[np.int32]
    """(triangles, 3) int32 indices of vertices."""
    normals: Floats | None = None
    """(vertices, 3) float32, any length but zero; None: computed, smooth, weighted by area."""
    colors: Floats | None = None
    """(vertices, 3) float32, linear RGB; None: white."""
    material: Material = field(default_factory=Material)
    name: str = "mesh"

    def __post_init__(self) -> None:
        positions = self._vectors("positions", self.positions)
        triangles = self._indices(self.triangles, len(positions))
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "triangles", triangles)
        if self.normals is None:
            normals = _frozen(vertex_normals(positions, triangles), np.float32)
        else:
            normals = self._vectors("normals", self.normals, len(positions))
        object.__setattr__(self, "normals", normals)
        if self.colors is not None:
            object.__setattr__(self, "colors", self._vectors("colors", self.colors, len(positions)))

    @functools.cached_property
    def reach(self) -> Matrix:
        """The largest absolute coordinate on each axis, (3,) float64."""
        if not len(self.positions):
            return np.zeros(3)
        reach: Matrix = np.maximum(-self.positions.min(0), self.positions.max(0)).astype(np.float64)
        return reach

    @functools.cached_property
    def outline(self) -> Matrix:
        """Vertices that lie furthest out, (n, 3) float64: enough of them to frame the mesh."""
        points = self.positions
        if len(points) > 4096:
            steps = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3, indexing="ij"), -1).reshape(-1, 3)
            directions = steps[np.abs(steps).max(1) == 2].astype(np.float32)  # 98 of them
            few = points[:: len(points) // 4096]
            ends = np.concatenate([points.argmin(0), points.argmax(0)])
            points = np.concatenate([few[(few @ directions.T).argmax(0)], points[ends]])
        return points.astype(np.float64)

    def _vectors(self, what: str, values: ArrayLike, count: int | None = None) -> Floats:
        try:
            with np.errstate(
                over="ignore"
            ):  # what float32 cannot hold becomes infinite, and is refused below
                array: Floats = _frozen(values, np.float32)
        except (TypeError, ValueError) as error:
            raise UserError(f"mesh {self.name!r}: {what} must be an array of numbers ({error})") from error
        if array.ndim != 2 or array.shape[1] != 3 or count not in (None, len(array)):
            wanted = "vertices" if count is None else count
            raise UserError(
                f"mesh {self.name!r}: {what} have shape {array.shape}; they must have ({wanted}, 3)"
            )
        if not np.isfinite(array).all():
            row = int(np.argmin(np.isfinite(array).all(1)))
            raise UserError(
                f"mesh {self.name!r}: {what}[{row}] is {array[row].tolist()}; float32 numbers must be finite"
            )
        return array

    def _indices(self, values: ArrayLike, vertices: int) -> NDArray[np.int32]:
        array = np.asarray(values)
        if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
            raise UserError(
                f"mesh {self.name!r}: triangles are {array.dtype} {array.shape};"
                " they must be (triangles, 3) integers"
            )
        low, high = (int(array.min()), int(array.max())) if array.size else (0, -1)
        if low < 0 or high >= vertices:
            raise UserError(
                f"mesh {self.name!r}: triangles name vertex {low if low < 0 else high};"
                f" there are {vertices}, from 0 to {vertices - 1}"
            )
        indices: NDArray[np.int32] = _frozen(array, np.int32)
        return indices


@dataclass(frozen=True, eq=False)
class Node:
    """A mesh placed in the world."""

    mesh: Mesh
    transform: Matrix = field(default_factory=lambda: np.eye(4))
    """(4, 4) float64, acts on column vectors; a negative determinant flips the winding."""

    def __post_init__(self) -> None:
        matrix = _frozen(self.transform, np.float64)
        if matrix.shape != (4, 4) or not np.isfinite(matrix).all():
            raise UserError(f"node of {self.mesh.name!r}: its transform must be a finite (4, 4) matrix")
        object.__setattr__(self, "transform", matrix)


@dataclass(frozen=True)
class Camera:
    """An eye that looks at a point. Perspective, or orthographic where ``height`` is given."""

    eye: Color = (0.0, 0.0, 3.0)
    target: Color = (0.0, 0.0, 0.0)
    up: Color = (0.0, 1.0, 0.0)
    fov: float = 40.0
    """Vertical field of view, degrees."""
    near: float = 0.1
    far: float = 100.0
    height: float | None = None
    """Height of what an orthographic camera sees, in the scene's unit; None: perspective."""

    def __post_init__(self) -> None:
        numbers = np.array([*self.eye, *self.target, *self.up, self.fov, self.near, self.far], np.float64)
        if not np.isfinite(numbers).all():
            raise UserError("camera: every number must be finite")
        if not self.near < self.far or (self.height is None and self.near <= 0):
            raise UserError(f"camera: near {self.near} and far {self.far}; they must be 0 < near < far")
        if not 0 < self.fov < 180 or (self.height is not None and not self.height > 0):
            raise UserError(f"camera: a field of view of {self.fov} degrees; it must lie between 0 and 180")


@dataclass(frozen=True)
class View:
    """From which side a camera looks that is placed so that everything is seen."""

    azimuth: float = 30.0
    """Degrees about the vertical: 0 looks at the front (from +z), 90 from +x."""
    elevation: float = 18.0
    """Degrees above the horizon."""
    fov: float = 35.0
    """Vertical field of view, degrees."""


@dataclass(frozen=True)
class Light:
    """A directional light, as the sun: parallel rays."""

    direction: Color
    """Where the light travels to; any length but zero."""
    color: Color = (1.0, 1.0, 1.0)
    """Linear RGB times intensity: what a white surface that faces the light sends back."""

    def __post_init__(self) -> None:
        if not np.isfinite(self.direction).all() or not np.any(self.direction):
            raise UserError(f"light: the direction {self.direction} must be finite and not zero")


@dataclass(frozen=True)
class Background:
    """What is seen where nothing is: a vertical gradient of sRGB colours, 0 to 1, with alpha."""

    top: tuple[float, float, float, float] = (0.105, 0.125, 0.165, 1.0)
    bottom: tuple[float, float, float, float] = (0.255, 0.285, 0.335, 1.0)


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that a frame shows."""

    nodes: tuple[Node, ...]
    camera: Camera | None = None
    """None: placed so that everything is seen ..."""
    view: View = field(default_factory=View)
    """... from this side."""
    lights: tuple[Light, ...] | None = None
    """In world space; None: a key, a fill and a rim light that move with the camera."""
    sky: Color = (0.20, 0.23, 0.28)
    """Ambient light from above, linear RGB ..."""
    ground: Color = (0.09, 0.08, 0.07)
    """... and from below."""
    background: Background = field(default_factory=Background)
    name: str = "scene"

    @property
    def triangles(self) -> int:
        """How many triangles there are, each node counted."""
        return sum(len(node.mesh.triangles) for node in self.nodes)

    @property
    def vertices(self) -> int:
        """How many vertices there are, each node counted."""
        return sum(len(node.mesh.positions) for node in self.nodes)

    @functools.cached_property
    def geometry(self) -> Any:
        """All meshes in one set of buffers, built once (``geometry.Geometry``)."""
        from whygpu.draw.geometry import Geometry

        return Geometry.of(self)


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


def _frozen(values: ArrayLike, dtype: Any) -> Any:
    """``values`` as a C-contiguous array that nobody changes; a copy unless already that."""
    array = np.ascontiguousarray(values, dtype)
    if array.flags.writeable:
        array = array.copy() if array is values else array
        array.flags.writeable = False
    return array
