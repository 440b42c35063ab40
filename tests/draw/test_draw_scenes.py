"""The built-in scenes: counts by formula, closed surfaces, outward normals."""

import numpy as np
import pytest

from whygpu import draw
from whygpu.engine import UserError

CLOSED = ["sphere:0", "sphere:5", "torus-knot", "character"]


def mesh_of(name):
    return draw.load(name).nodes[0].mesh


def test_the_cube_has_24_vertices_with_flat_normals():
    cube = mesh_of("cube")
    assert cube.positions.shape == (24, 3) and cube.triangles.shape == (12, 3)
    assert len(np.unique(cube.positions, axis=0)) == 8
    assert np.array_equal(np.abs(cube.positions), np.ones((24, 3)))
    corners = cube.positions[cube.triangles]
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.array_equal(faces / 4, cube.normals[cube.triangles[:, 0]])  # right triangles of side 2
    assert len(np.unique(cube.normals, axis=0)) == 6


@pytest.mark.parametrize("level", range(6))
def test_a_sphere_is_a_tetrahedron_subdivided(level):
    sphere = mesh_of(f"sphere:{level}")
    assert len(sphere.triangles) == 4 * 4**level
    assert len(sphere.positions) == 2 + 2 * 4**level  # Euler: V - E + F = 2, E = 3 F / 2
    np.testing.assert_allclose(np.linalg.norm(sphere.positions, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(sphere.normals, sphere.positions, atol=1e-7)


@pytest.mark.parametrize("name", CLOSED)
def test_every_edge_is_shared_by_two_triangles_of_opposite_direction(name):
    mesh = mesh_of(name)
    t = mesh.triangles.astype(np.int64)
    edges = np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])
    count = len(mesh.positions)
    forward, back = edges @ [count, 1], edges @ [1, count]
    assert len(np.unique(forward)) == len(forward)
    assert np.array_equal(np.sort(forward), np.sort(back))


@pytest.mark.parametrize("name", ["cube", *CLOSED])
def test_triangles_and_normals_point_outward(name):
    mesh = mesh_of(name)
    corners = mesh.positions.astype(np.float64)[mesh.triangles]
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (corners[:, 0] * faces).sum() > 0  # six times the volume
    mean = mesh.normals[mesh.triangles].mean(1)
    assert ((faces * mean).sum(1) > 0).mean() > 0.998


def test_the_sizes_of_the_measured_scenes():
    character, frame = draw.load("character"), draw.load("frame")
    assert 95_000 < character.triangles < 105_000
    assert 47_000 < character.vertices < 53_000
    assert 1_900_000 < frame.triangles < 2_200_000


def test_scenes_are_the_same_each_time():
    for name in ("character", "torus-knot"):
        assert np.array_equal(mesh_of(name).positions, mesh_of(name).positions)


def test_every_scene_fills_its_picture():
    for name in draw.BUILT_IN:
        frame = draw.render(draw.load(name), (320, 240), path="fast")
        rows, columns = np.nonzero(frame.ids >= 0)
        assert max(np.ptp(rows) / 240, np.ptp(columns) / 320) > 0.7
        assert rows.min() > 0 and rows.max() < 239 and columns.min() > 0 and columns.max() < 319


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("cub", "did you mean cube"),
        ("spehre", "did you mean sphere"),
        ("teapod", "built in"),
        ("", "built in"),
        ("sphere:x", "0 to 11"),
        ("sphere:12", "0 to 11"),
        ("sphere:-1", "0 to 11"),
        ("sphere:99999999999999999999", "0 to 11"),
        ("cube:3", "unknown"),
    ],
)
def test_unknown_names_are_refused_in_one_line(name, word):
    with pytest.raises(UserError, match=word) as error:
        draw.load(name)
    assert "\n" not in str(error.value)
