"""Shadows where geometry puts them, and none where there should be none."""

import numpy as np
import pytest
from flat_scenes import PATHS, front, same, square

from whygpu import draw
from whygpu.draw import Camera, Light, Material, Mesh, Node, Scene

SIZE = (64, 64)
MATTE = Material((1, 1, 1), specular=0.0, double_sided=True)
DARK = {"sky": (0, 0, 0), "ground": (0, 0, 0)}
AT = np.array([32.0, 32.0, 60.0])  # of the lights that have a place


def blocked(light):
    """A wall at z = 0 and before it, at z = 8, a square (24, 24)-(40, 40)."""
    wall = square(SIZE, MATTE)
    near = square(SIZE, MATTE, z=8.0, box=(24, 24, 40, 40))
    return Scene((Node(wall), Node(near)), lights=(light,), **DARK)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", ["directional", "point", "spot"])
def test_a_square_throws_its_shadow_where_the_rays_put_it(path, kind):
    """By similar triangles: a point of the wall is dark where its ray to the light meets the square."""
    direction = np.array([0.5, -0.25, -1.0]) if kind == "directional" else np.array([0.0, 0.0, -1.0])
    place = AT + np.array([-20, 10, 0])
    light = Light(
        tuple(direction), (1, 1, 1) if kind == "directional" else (9e3,) * 3, kind, tuple(place), outer=60.0
    )
    frame = draw.render(blocked(light), SIZE, camera=front(SIZE), path=path, shadows=True)
    x, y = np.meshgrid(np.arange(64) + 0.5, 64 - (np.arange(64) + 0.5))
    if kind == "directional":
        at_x, at_y = x - direction[0] * 8, y - direction[1] * 8
    else:
        share = 8 / place[2]
        at_x, at_y = x + (place[0] - x) * share, y + (place[1] - y) * share
    edge = np.maximum(np.abs(at_x - 32), np.abs(at_y - 32)) - 8  # negative: in the shadow
    wall = frame.ids < 2
    dark = frame.rgba[..., 0] == 0
    assert dark[wall & (edge < -1.5)].all()
    assert not dark[wall & (edge > 1.5)].any()
    assert (wall & (edge < -1.5)).sum() > 20
    assert (frame.rgba[~wall][:, 0] > 60).all()  # the square itself is lit


@pytest.mark.parametrize("path", PATHS)
def test_a_lit_ball_does_not_shadow_itself(path):
    """Where the sun stands over a ball's lit half, the shadow map must change nothing."""
    mesh = draw.load("sphere:5").nodes[0].mesh
    scene = Scene(
        (Node(Mesh(mesh.positions, mesh.triangles, mesh.normals, material=MATTE)),),
        lights=(Light((-1, -1, -1)),),
    )
    camera = Camera((2.0, 2.0, 3.0), (0, 0, 0), near=0.1, far=10.0)
    plain, shaded = (
        draw.render(scene, (90, 90), camera=camera, path=path, normals=True, shadows=shadows)
        for shadows in (False, True)
    )
    lit = (plain.ids >= 0) & (plain.normals @ np.full(3, 3**-0.5) > 0.2)
    assert lit.sum() > 2000
    assert np.abs(plain.rgba.astype(int) - shaded.rgba)[lit].max() <= 1


@pytest.mark.parametrize("path", PATHS)
def test_what_casts_no_shadow(path):
    light = Light((0.5, -0.25, -1.0))
    plain = draw.render(blocked(light), SIZE, camera=front(SIZE), path=path)
    off = draw.render(
        blocked(Light((0.5, -0.25, -1.0), casts_shadow=False)),
        SIZE,
        camera=front(SIZE),
        path=path,
        shadows=True,
    )
    assert np.array_equal(plain.rgba, off.rgba)
    glass = Material((1, 1, 1), alpha=0.0, alpha_mode="blend")
    scene = Scene(
        (Node(square(SIZE, MATTE)), Node(square(SIZE, glass, z=8.0, box=(24, 24, 40, 40)))),
        lights=(light,),
        **DARK,
    )
    seen = draw.render(scene, SIZE, camera=front(SIZE), path=path, shadows=True)
    assert (seen.rgba[..., 0] == seen.rgba[0, 0, 0]).all()


@pytest.mark.parametrize("kind", ["directional", "point", "spot"])
@pytest.mark.parametrize("height", [None, 5.0])
def test_both_paths_cast_the_same_shadows(kind, height):
    sphere = draw.load("sphere:4").nodes[0].mesh
    floor = Mesh(
        np.array([[-6.0, -1, -6], [6, -1, -6], [6, -1, 6], [-6, -1, 6]]), np.array([[0, 2, 1], [0, 3, 2]])
    )
    color = (1, 1, 1) if kind == "directional" else (4, 4, 3)
    light = Light((-0.5, -1, -0.3), color, kind, (1.2, 2.0, 0.8), reach=9, inner=20, outer=40)
    camera = Camera((2, 2, 3), (0, 0, 0), height=height, near=0.1, far=20)
    same(Scene((Node(sphere), Node(floor)), lights=(light,)), camera=camera, shadows=True)


def test_default_lights_cast_one_shadow():
    frame = same(draw.load("torus-knot"), shadows=True)
    assert set(frame.statistics.seconds) == {"vertex", "shadow", "raster", "shade"}
