"""Where the scene is seen from: the view and projection matrices, and a camera that frames a scene.

All matrices act on column vectors. Clip space is OpenGL's and glTF's: x, y and z between -w and w are seen.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.scene import Camera, Scene, View
from whygpu.engine import UserError

__all__ = ["cross", "framing", "orbit", "projection_matrix", "rays", "view_matrix"]

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
    seen = view or scene.view
    around, over, fov = math.radians(seen.azimuth), math.radians(seen.elevation), seen.fov
    back = np.array([math.cos(over) * math.sin(around), math.sin(over), math.cos(over) * math.cos(around)])
    up = (0.0, 1.0, 0.0) if abs(seen.elevation) < 89.9 else (-math.sin(around), 0.0, -math.cos(around))
    corners = _corners(scene)  # (corners, 3)
    center = (corners.min(0) + corners.max(0)) / 2
    radius = float(np.linalg.norm(corners - center, axis=1).max()) or 1.0
    turn = view_matrix(Camera(tuple(center + back), tuple(center), up))[:3, :3]
    tall = math.tan(math.radians(fov) / 2)
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
    near = max(float(distance - z.max()) * 0.9, radius * 1e-3)
    far = (distance - float(z.min())) * 1.1 + radius * 1e-3
    eye = center + back * distance
    return Camera(tuple(eye.tolist()), tuple(center.tolist()), up, fov, near, far)


def orbit(camera: Camera, degrees: float) -> Camera:
    """The camera carried round its target about the vertical, counter-clockwise seen from above."""
    turn = math.radians(degrees)
    x, y, z = np.subtract(camera.eye, camera.target)
    moved = x * math.cos(turn) + z * math.sin(turn), y, z * math.cos(turn) - x * math.sin(turn)
    eye = np.add(camera.target, moved)
    return replace(camera, eye=tuple(eye.tolist()))


def _axes(camera: Camera) -> tuple[Matrix, Matrix, Matrix]:
    """Right, up and back of the eye, unit vectors in the world."""
    back = _unit(np.subtract(camera.eye, camera.target, dtype=np.float64))
    right = cross(_unit(np.asarray(camera.up, np.float64)), back)
    if not np.linalg.norm(right) > 1e-9:
        raise UserError("camera: it looks along its own up direction; choose another 'up'")
    right = _unit(right)
    return right, cross(back, right), back


def cross(a: Matrix, b: Matrix) -> Matrix:
    """The cross product of two vectors; NumPy's own takes ten times as long for one pair."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


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
