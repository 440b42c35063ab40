"""Where the scene is seen from: the view and projection matrices, and a camera that frames a scene.

All matrices act on column vectors. Clip space is OpenGL's and glTF's: x, y and z between -w and w are seen.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whygpu.draw.material import Color
from whygpu.draw.scene import Camera, Scene, View
from whygpu.engine import UserError

__all__ = [
    "framing",
    "framing_poses",
    "orbit",
    "projection_matrix",
    "rays",
    "turntable",
    "view_matrix",
]

Matrix = NDArray[np.float64]


def view_matrix(camera: Camera) -> Matrix:
    """World to eye space, (4, 4): the eye at the origin, looking along -z, y up."""
    right, up, back = _axes(camera)
    view = np.eye(4)
    view[:3, :3] = right, up, back
    view[:3, 3] = -view[:3, :3] @ np.asarray(camera.eye, np.float64)
    return view


def projection_matrix(camera: Camera, aspect: float) -> Matrix:
    """Eye to clip space, (4, 4); ``aspect`` is width / height (glTF 2.0, section 3.10.3)."""
    near, far = camera.near, camera.far
    matrix = np.zeros((4, 4))
    if camera.height is not None:
        matrix[0, 0], matrix[1, 1] = 2 / (camera.height * aspect), 2 / camera.height
        matrix[2, 2], matrix[2, 3], matrix[3, 3] = 2 / (near - far), (far + near) / (near - far), 1
        return matrix
    scale = 1 / math.tan(math.radians(camera.fov) / 2)
    matrix[0, 0], matrix[1, 1] = scale / aspect, scale
    matrix[2, 2], matrix[2, 3], matrix[3, 2] = (near + far) / (near - far), 2 * far * near / (near - far), -1
    return matrix


def rays(camera: Camera, width: int, height: int) -> Matrix:
    """(3, 3): the direction *to the eye* seen through pixel (x, y) is rows[0] + x rows[1] + y rows[2]."""
    right, up, back = _axes(camera)
    if camera.height is not None:
        return np.stack([back, np.zeros(3), np.zeros(3)])
    tall = math.tan(math.radians(camera.fov) / 2)
    step = 2 * tall / height  # a pixel's side at distance 1; pixels are square
    corner = back + right * (width / 2 - 0.5) * step - up * (height / 2 - 0.5) * step
    return np.stack([corner, -right * step, up * step])


def framing(scene: Scene, aspect: float, view: View | None = None) -> Camera:
    """A camera that sees the whole scene, tightly, from the side that ``view`` (or the scene) says."""
    return _fitted(_corners(scene), aspect, view or scene.view)


def framing_poses(poses: Sequence[Scene], aspect: float, view: View | None = None) -> Camera:
    """One camera that sees the whole of a scene in all its poses."""
    corners = np.concatenate([_corners(scene) for scene in poses])
    return _fitted(corners, aspect, view or poses[0].view)


def turntable(
    poses: Sequence[Scene], aspect: float, count: int, view: View | None = None
) -> tuple[Camera, ...]:
    """``count`` cameras in equal steps round a scene (in all its poses), each of which sees all of it.

    The first looks from ``view``; they go counter-clockwise seen from above, so that the scene seems to turn
    clockwise. One step after the last stands the first: the film loops without a seam.
    """
    seen = view or poses[0].view
    corners = np.concatenate([_corners(scene) for scene in poses])
    middle = (corners.min(0) + corners.max(0)) / 2
    first = _fitted(_swept(corners, middle), aspect, seen)
    return tuple(orbit(first, 360 * step / count, middle) for step in range(count))


def orbit(camera: Camera, degrees: float, about: ArrayLike | None = None) -> Camera:
    """The camera carried round a vertical axis, counter-clockwise seen from above.

    The axis goes through the point ``about``; None: through the camera's target.
    """
    turn = math.radians(degrees)
    cosine, sine = math.cos(turn), math.sin(turn)
    matrix = np.array([[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]])
    axis = np.asarray(camera.target if about is None else about, np.float64)
    eye, target = (matrix @ (np.asarray(point) - axis) + axis for point in (camera.eye, camera.target))
    return replace(
        camera,
        eye=tuple(eye.tolist()),
        target=tuple(target.tolist()),
        up=tuple((matrix @ np.asarray(camera.up)).tolist()),
    )


def _fitted(corners: Matrix, aspect: float, view: View) -> Camera:
    """The camera that sees these points, (n, 3), from that side."""
    around, over, fov = math.radians(view.azimuth), math.radians(view.elevation), view.fov
    back = np.array([math.cos(over) * math.sin(around), math.sin(over), math.cos(over) * math.cos(around)])
    up = (0.0, 1.0, 0.0) if abs(view.elevation) < 89.9 else (-math.sin(around), 0.0, -math.cos(around))
    center = (corners.min(0) + corners.max(0)) / 2
    radius = float(np.linalg.norm(corners - center, axis=1).max()) or 1.0
    turn = view_matrix(Camera(tuple(center + back), tuple(center), up))[:3, :3]
    depths = (corners - center) @ turn[2]  # towards the eye
    if view.distance is None:
        center, distance = _tight(corners, center, turn, math.tan(math.radians(fov) / 2), aspect, radius)
    else:
        distance = view.distance
    near = max(float(distance - depths.max()) * 0.9, radius * 1e-3)
    far = max((distance - float(depths.min())) * 1.1 + radius * 1e-3, near * 2)
    eye = center + back * distance
    return Camera(tuple(eye.tolist()), tuple(center.tolist()), up, fov, near, far)


def _tight(
    corners: Matrix, center: Matrix, turn: Matrix, tall: float, aspect: float, radius: float
) -> tuple[Matrix, float]:
    """The target and the distance from which the points fill the picture."""
    fill = 0.9  # of the picture's width or height
    distance = radius
    for _ in range(
        8
    ):  # what is near looks larger: move the middle of the picture to the middle of what is seen
        x, y, z = turn @ (corners - center).T  # z towards the eye
        distance = float(np.max(z + np.maximum(np.abs(y), np.abs(x) / aspect) / (tall * fill)))
        distance = max(distance, float(z.max()) + radius * 1e-3)
        middle = [(part.min() + part.max()) / 2 for part in (x / (distance - z), y / (distance - z))]
        center = center + (turn[0] * middle[0] + turn[1] * middle[1]) * distance * 0.7
    return center, distance


def _swept(corners: Matrix, middle: Matrix) -> Matrix:
    """Points that enclose what the corners pass through when they turn about the vertical, (n, 3)."""
    offset = corners - middle
    profile = np.stack([np.hypot(offset[:, 0], offset[:, 2]), offset[:, 1]], 1)  # (n, 2): radius, height
    angles = np.linspace(-np.pi / 2, np.pi / 2, 65)
    furthest = np.unique((np.stack([np.cos(angles), np.sin(angles)]).T @ profile.T).argmax(1))
    radii, heights = profile[furthest].T
    turns = np.linspace(0, 2 * np.pi, 64, endpoint=False)[:, None]
    rings = [radii * np.sin(turns), np.broadcast_to(heights, (64, len(heights))), radii * np.cos(turns)]
    swept: Matrix = middle + np.stack(rings, -1).reshape(-1, 3)
    return swept


def _axes(camera: Camera) -> tuple[Matrix, Matrix, Matrix]:
    """Right, up and back of the eye, unit vectors in the world."""
    return _axes_of(tuple(camera.eye), tuple(camera.target), tuple(camera.up))


@functools.lru_cache(64)
def _axes_of(eye: Color, target: Color, up: Color) -> tuple[Matrix, Matrix, Matrix]:
    back = _unit(np.subtract(eye, target, dtype=np.float64))
    right = np.cross(_unit(np.asarray(up, np.float64)), back)
    if not np.linalg.norm(right) > 1e-9:
        raise UserError("camera: it looks along its own up direction; choose another 'up'")
    right = _unit(right)
    return right, np.cross(back, right), back


def _unit(vector: Matrix) -> Matrix:
    largest = float(np.abs(vector).max())
    if largest == 0:
        raise UserError("camera: eye and target are the same point, or 'up' is zero")
    vector = vector / largest  # so that squares neither overflow nor vanish
    return vector / float(np.linalg.norm(vector))


def _corners(scene: Scene) -> Matrix:
    """Points in the world that enclose the scene, (n, 3)."""
    found = [
        node.mesh.outline @ node.transform[:3, :3].T + node.transform[:3, 3]
        for node in scene.nodes
        if len(node.mesh.positions)
    ]
    return np.concatenate(found) if found else np.zeros((1, 3))
