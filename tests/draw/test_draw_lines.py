"""Lines and points: one pixel wide, hidden where something is before them."""

import numpy as np
import pytest
from flat_scenes import PATHS, front, render, same, square, unlit

from whygpu import draw
from whygpu.draw import Camera, Mesh, Node, Scene

SIZE = (32, 24)


def pixels(frame):
    return np.argwhere(frame.rgba[..., 0] == 255)[:, ::-1]  # x, y


def lines(ends, z=0.0, **options):
    points = np.array([(x, SIZE[1] - y, z) for x, y in ends], np.float64)
    return Mesh(points, material=unlit(), lines=np.arange(len(points)).reshape(-1, 2), **options)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("start", "stop"),
    [
        ((2, 3), (30, 9)),
        ((3, 2), (9, 22)),
        ((2, 20), (28, 4)),
        ((5, 3.6), (5.2, 20.1)),
        ((1, 5.5), (31, 5.5)),
    ],
)
def test_a_line_lights_one_pixel_in_each_column_or_row_that_it_crosses(path, start, stop):
    found = pixels(render(lines([start, stop]), SIZE, path))
    run, rise = stop[0] - start[0], stop[1] - start[1]
    major = 0 if abs(run) >= abs(rise) else 1
    low, high = sorted((start[major], stop[major]))
    centres = np.arange(max(SIZE)) + 0.5
    assert np.array_equal(np.sort(found[:, major]), np.flatnonzero((centres > low) & (centres < high)))
    share = (found[:, major] + 0.5 - start[major]) / (run, rise)[major]
    minor = start[1 - major] + share * (run, rise)[1 - major]
    assert (np.abs(found[:, 1 - major] + 0.5 - minor) <= 0.51).all()


@pytest.mark.parametrize("path", PATHS)
def test_a_point_is_the_pixel_that_it_lies_in(path):
    at = [(3.5, 4.5), (10.2, 7.9), (31.9, 23.9), (0.1, 0.1)]
    points = np.array([(x, SIZE[1] - y, 0.0) for x, y in at])
    frame = render(Mesh(points, material=unlit(), points=np.arange(4)), SIZE, path)
    assert {tuple(p) for p in pixels(frame)} == {(int(x), int(y)) for x, y in at}
    assert frame.ids.max() < 8  # two triangles a point


@pytest.mark.parametrize("path", PATHS)
def test_lines_take_part_in_the_depth_test_and_in_colour(path):
    wall = square(SIZE, unlit(base_color=(0, 0, 1)), z=0.0, box=(8, 0, 16, 24))
    colors = np.array([[1.0, 0, 0], [1, 0, 0]])
    before, behind = lines([(0, 5.5), (32, 5.5)], 1.0, colors=colors), lines([(0, 9.5), (32, 9.5)], -1.0)
    frame = render([wall, before, behind], SIZE, path)
    assert (frame.rgba[5, :, 0] == 255).all() and (frame.rgba[5, :, 1] == 0).all()
    hidden = np.isin(np.arange(32), range(8, 16))
    assert np.array_equal(frame.rgba[9, :, 0] == 255, ~hidden)


@pytest.mark.parametrize("path", PATHS)
def test_lines_through_the_eye_are_cut_at_the_near_plane(path):
    camera = Camera((0.0, 0.0, 0.0), (0.0, 0.0, -1.0), near=0.1, far=100.0, fov=90.0)
    mesh = Mesh(
        np.array([[-1.0, -1, 10], [-1, -1, -50], [5, 5, 5], [6, 5, 5]]),
        material=unlit(),
        lines=np.array([[0, 1], [2, 3]]),
    )
    frame = draw.render(Scene((Node(mesh),)), (64, 64), camera=camera, path=path, background=(0, 0, 0))
    found = pixels(frame)
    assert len(found) >= 30
    assert (found[:, 0] < 32).all() and (found[:, 1] >= 32).all()  # to the lower left, and nothing else
    assert (np.abs(found[:, 0] + found[:, 1] - 63) <= 1).all()


@pytest.mark.parametrize("path", PATHS)
def test_a_wireframe_shows_edges_and_hides_what_is_behind(path):
    cube = draw.load("cube").nodes[0].mesh
    scene = Scene((Node(Mesh(cube.positions, cube.triangles, cube.normals, material=unlit())),))
    camera = Camera((0.0, 0.0, 6.0), (0.0, 0.0, 0.0), near=1.0, far=20.0)
    options = {"camera": camera, "path": path, "background": (0, 0, 0)}
    solid = draw.render(scene, (81, 81), **options)
    hidden, through = (draw.render(scene, (81, 81), wireframe=w, **options) for w in (True, "through"))
    count = [int((frame.rgba[..., 0] == 255).sum()) for frame in (solid, hidden, through)]
    assert count[0] > 4 * count[2] > 4 * count[1] > 400
    rows, columns = np.nonzero(hidden.rgba[..., 0] == 255)
    box = np.nonzero(solid.rgba[..., 0] == 255)
    for found, whole in ((rows, box[0]), (columns, box[1])):
        assert abs(found.min() - whole.min()) <= 1 and abs(found.max() - whole.max()) <= 1
    inner = hidden.rgba[28:53, 28:53, 0] == 255  # of the front, only its diagonal; the back's is hidden
    assert inner.sum() == 25
    assert (hidden.ids[inner.nonzero()[0] + 28, inner.nonzero()[1] + 28] >= scene.triangles).all()


@pytest.mark.parametrize("samples", [1, 4])
@pytest.mark.parametrize("wireframe", [False, True, "through"])
def test_both_paths_draw_the_same_lines(samples, wireframe):
    random = np.random.default_rng(4)
    points = random.normal(size=(60, 3))
    mesh = Mesh(
        points, lines=random.integers(0, 60, (40, 2)), points=np.arange(60), colors=random.random((60, 3))
    )
    scene = Scene((Node(mesh), Node(draw.load("cube").nodes[0].mesh)))
    same(scene, samples=samples, wireframe=wireframe)
    same(scene, samples=samples, wireframe=wireframe, camera=Camera((0, 0, 0.3), (0, 0, -1), near=0.05))


def test_nothing_is_drawn_of_no_lines():
    mesh = Mesh(np.zeros((1, 3)), lines=np.zeros((0, 2), int), points=np.zeros(0, int))
    assert (draw.render(Scene((Node(mesh),)), (8, 8), camera=front((8, 8))).ids == -1).all()
