"""What there is to draw: meshes (``mesh``) with materials (``material``), placed, lit, seen by a camera.

Everything is right-handed with y up, as in glTF 2.0; lengths are in any one unit, angles in degrees,
colours linear RGB (not sRGB) unless said otherwise. Arrays are copied where they must be converted,
made read-only, and never changed afterwards: a scene may be drawn from many threads.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.arrays import frozen, numbers
from whygpu.draw.light import Background, Light
from whygpu.draw.material import Color
from whygpu.draw.mesh import Mesh
from whygpu.engine import UserError

if TYPE_CHECKING:
    from whygpu.draw.rig import Rig

__all__ = ["Camera", "Node", "Scene", "View"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Node:
    """A mesh placed in the world."""

    mesh: Mesh
    transform: Matrix = field(default_factory=lambda: np.eye(4))
    """(4, 4) float64, acts on column vectors; a negative determinant flips the winding."""

    def __post_init__(self) -> None:
        matrix = frozen(self.transform, np.float64)
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
    name: str = "camera"

    def __post_init__(self) -> None:
        for what in ("eye", "target", "up"):
            object.__setattr__(self, what, numbers(f"camera: {what}", getattr(self, what), 3))
        rest = numbers("camera", (self.fov, self.near, self.far), 3)
        if not np.isfinite([*self.eye, *self.target, *self.up, *rest]).all():
            raise UserError("camera: every number must be finite")
        if not self.near < self.far or (self.height is None and self.near <= 0):
            raise UserError(f"camera: near {self.near} and far {self.far}; they must be 0 < near < far")
        if self.height is not None and not 0 < self.height < math.inf:
            raise UserError(f"camera: an orthographic height of {self.height}; it must be larger than 0")
        if not 0 < self.fov < 180:
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
    distance: float | None = None
    """From the middle of the scene, in its own unit; None: as near as shows all of it."""


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
    cameras: tuple[Camera, ...] = ()
    """Those that the file brings along, to choose from."""
    rig: Rig | None = None
    """What moves it: ``scene.rig.at(scene, seconds)`` is the scene at a time; None: nothing moves."""

    def __post_init__(self) -> None:
        for what in ("sky", "ground"):
            object.__setattr__(self, what, numbers(f"scene {self.name!r}: {what}", getattr(self, what), 3))
            if not all(0 <= part < math.inf for part in getattr(self, what)):
                raise UserError(f"scene {self.name!r}: {what} must be finite and not negative")

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
