"""Clipping before the divide: what lies behind the eye, beyond the planes and far outside the picture."""

import numpy as np
import pytest

from whygpu import draw
from whygpu.draw import Camera, Material, Mesh, Node, Scene

PATHS = ("portable", "fast")
BOTH = Material(double_sided=True)
CAMERA = Camera((0.0, 1.0, 0.0), (0.0, 1.0, -1.0), near=0.5, far=50.0, fov=90.0)


def one(corners, path, size=(64, 64), camera=CAMERA):
    mesh = Mesh(np.array(corners, np.float64), np.array([[0, 1, 2]]), material=BOTH)
    return draw.render(Scene((Node(mesh),)), size, camera=camera, path=path)


@pytest.mark.parametrize("path", PATHS)
def test_a_floor_through_the_eye_reaches_from_the_near_plane_to_the_horizon(path):
    """A plane 1 below an eye that looks along -z: row y (from the middle, down) shows depth z = 32 / y."""
    corners = [(-4000.0, 0.0, 4000.0), (4000.0, 0.0, 4000.0), (0.0, 0.0, -1.0e5)]
    frame = one(corners, path)
    lit = frame.ids[:, 32] == 0
    distance = 32.0 / (np.arange(64) + 0.5 - 32.0)  # of the floor seen in each row; negative: the sky
    seen = (distance > 0.5) & (distance < 50.0)
    assert np.array_equal(lit, seen)
    near, far = 0.5, 50.0
    depth = (far / (far - near)) * (1 - near / distance[seen])  # OpenGL's window depth
    np.testing.assert_allclose(frame.depth[seen, 32], depth, atol=0.016 / 256)  # the slope, a sub-pixel


@pytest.mark.parametrize("path", PATHS)
def test_the_near_plane_cuts_where_it_should(path):
    """A vertical wall seen edge on, from behind the eye to 4 before it: only what is beyond 0.5 is drawn."""
    camera = Camera((0.0, 0.0, 0.0), (0.0, 0.0, -1.0), near=0.5, far=10.0, fov=90.0)
    corners = [(1.0, -100.0, 1.0), (1.0, 100.0, 1.0), (1.0, 0.0, -4.0)]
    frame = one(corners, path, camera=camera)
    columns = (frame.ids >= 0).any(0)
    # x = 1 at distance d is seen at column 32 + 32 / d: from d = 4 to d = 1 (the picture's edge)
    assert np.array_equal(columns, (np.arange(64) + 0.5 > 32 + 32 / 4) & (np.arange(64) < 64))


@pytest.mark.parametrize("path", PATHS)
def test_what_is_wholly_outside_is_not_drawn(path):
    for corners in (
        [(-1.0, 0.0, 1.0), (1.0, 0.0, 1.0), (0.0, 2.0, 1.0)],  # behind the eye
        [(-1.0, 0.0, -0.4), (1.0, 0.0, -0.4), (0.0, 2.0, -0.4)],  # nearer than near
        [(-1.0, 0.0, -51.0), (1.0, 0.0, -51.0), (0.0, 2.0, -51.0)],  # beyond far
        [(90.0, 0.0, -5.0), (91.0, 0.0, -5.0), (90.0, 2.0, -5.0)],  # to the right
    ):
        assert (one(corners, path).ids < 0).all()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("scale", [1e3, 1e6, 1e9, 1e12])
def test_huge_triangles_fill_what_they_cover(path, scale):
    corners = [(-scale, -scale, -1.0), (scale, -scale, -1.0), (0.0, scale, -1.0)]
    assert (one(corners, path, camera=Camera((0, 0, 0), (0, 0, -1))).ids == 0).all()
    corners = [(-scale, 0.0, scale), (scale, 0.0, scale), (0.0, 0.0, -scale)]  # w is negative at two of them
    frame = one(corners, path)
    assert (frame.ids[:32] < 0).all() and (frame.ids[40:50] == 0).all()


@pytest.mark.parametrize("scale", [1e20, 1e30, 3e38])
def test_coordinates_near_the_end_of_float32_do_not_overflow(scale):
    """Where float64 itself has no digits left for the picture, both paths agree on something bounded."""
    for corners in (
        [(-scale, -scale, -1.0), (scale, -scale, -1.0), (0.0, scale, -1.0)],
        [(-scale, 0.0, scale), (scale, 0.0, scale), (0.0, 0.0, -scale)],
        [(-scale, scale, -scale), (scale, -scale, -scale), (0.0, scale, scale)],
    ):
        portable, fast = (one(corners, path) for path in PATHS)
        assert np.array_equal(portable.ids, fast.ids) and np.array_equal(portable.depth, fast.depth)
        assert ((fast.depth >= 0) & (fast.depth <= 1)).all()
        assert np.abs(portable.rgba.astype(int) - fast.rgba).max() <= 1


@pytest.mark.parametrize("path", PATHS)
def test_a_guard_band_crossing_changes_nothing_that_is_seen(path):
    """The same plane with its corners near and very far away."""
    near = one([(-40.0, 0.0, -0.6), (40.0, 0.0, -0.6), (0.0, 0.0, -49.0)], path)
    far = one([(-4.0e6, 0.0, -0.6), (4.0e6, 0.0, -0.6), (0.0, 0.0, -49.0)], path)
    both = (near.ids == 0) & (far.ids == 0)
    assert both.sum() > 300
    np.testing.assert_allclose(near.depth[both], far.depth[both], atol=1e-5)
