"""Coverage by the rules of rasterisation, held against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whygpu import draw
from whygpu.draw import Camera, Material, Mesh, Node, Scene

SIZE = 16
PATHS = ("portable", "fast")
BOTH = Material(double_sided=True)


def flat(corners, triangles, path, size=(SIZE, SIZE), material=BOTH):
    """Draw triangles given in pixel units (x right, y down); returns the frame."""
    width, height = size
    positions = [(x, height - y, 0.0) for x, y in corners]
    camera = Camera(
        (width / 2, height / 2, 1.0), (width / 2, height / 2, 0.0), near=0.5, far=2.0, height=float(height)
    )
    mesh = Mesh(np.array(positions, np.float64), np.array(triangles), material=material)
    return draw.render(Scene((Node(mesh),)), size, camera=camera, path=path)


@pytest.mark.parametrize("path", PATHS)
def test_top_left_rule_of_the_direct3d_documentation(path):
    corners = [(0, 0), (5, 0), (5, 5), (0, 5), (0, 0), (5, 5)]
    ids = flat(corners, [[0, 1, 2], [3, 4, 5]], path).ids
    assert (ids == 0).sum() == 15
    assert (ids == 1).sum() == 10
    assert (ids[:5, :5] >= 0).all() and (ids >= 0).sum() == 25


grid = st.integers(-4 * 256, (SIZE + 4) * 256).map(lambda v: v / 256)  # exact in float32 and on the grid
point = st.tuples(grid, grid)


def edge(a, b, x, y):
    ax, ay, bx, by = (Fraction(v) for v in (*a, *b))
    return (bx - ax) * (y - ay) - (by - ay) * (x - ax)


def coverage(a, b, c):
    """Pixels whose centre is strictly inside, and on the edge or inside, by rational arithmetic."""
    inside, touched = np.zeros((2, SIZE, SIZE), bool)
    for row in range(SIZE):
        for column in range(SIZE):
            x, y = Fraction(2 * column + 1, 2), Fraction(2 * row + 1, 2)
            values = [edge(a, b, x, y), edge(b, c, x, y), edge(c, a, x, y)]
            inside[row, column] = all(v > 0 for v in values) or all(v < 0 for v in values)
            touched[row, column] = all(v >= 0 for v in values) or all(v <= 0 for v in values)
    return inside, touched


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(a=point, b=point, c=point)
def test_inside_is_lit_outside_is_dark(path, a, b, c):
    lit = flat([a, b, c], [[0, 1, 2]], path).ids >= 0
    inside, touched = coverage(a, b, c)
    if edge(a, b, *map(Fraction, c)) == 0:
        assert not lit.any()
        return
    assert lit[inside].all()
    assert not lit[~touched].any()


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(a=point, b=point, c=point, d=point)
def test_a_shared_edge_is_lit_once(path, a, b, c, d):
    """Two triangles on either side of an edge: no pixel of the edge is missed, none is lit twice."""
    side_c, side_d = edge(a, b, *map(Fraction, c)), edge(a, b, *map(Fraction, d))
    if side_c * side_d >= 0:
        d = (a[0] + b[0] - c[0], a[1] + b[1] - c[1])  # the reflection lies on the other side
    first = flat([a, b, c], [[0, 1, 2]], path).ids >= 0
    second = flat([b, a, d], [[0, 1, 2]], path).ids >= 0
    assert not (first & second).any()
    if side_c == 0:
        return
    on_edge = np.zeros((SIZE, SIZE), bool)
    for row in range(SIZE):
        for column in range(SIZE):
            x, y = Fraction(2 * column + 1, 2), Fraction(2 * row + 1, 2)
            within = sorted((edge(a, c, x, y) * side_sign(side_c), edge(c, b, x, y) * side_sign(side_c)))
            on_edge[row, column] = edge(a, b, x, y) == 0 and within[1] < 0
    assert (first | second)[on_edge].all()


def side_sign(value):
    return 1 if value > 0 else -1


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data(), count=st.integers(3, 9))
def test_a_fan_covers_every_pixel_once(path, data, count):
    """Triangles round a point fill the polygon without a gap or an overlap."""
    middle = data.draw(st.tuples(st.floats(6, 10, width=32), st.floats(6, 10, width=32)))
    turns = 2 * np.pi * (np.arange(count) + data.draw(st.floats(0, 1))) / count
    rim = [(8 + 14 * np.cos(t), 8 + 14 * np.sin(t)) for t in turns]  # a square of 16 needs a radius of 11.4
    corners = [middle, *rim]
    triangles = [[0, 1 + i, 1 + (i + 1) % len(rim)] for i in range(len(rim))]
    lit = np.zeros((SIZE, SIZE), int)
    for triangle in triangles:
        lit += flat(corners, [triangle], path).ids >= 0
    assert (lit <= 1).all()
    assert (lit[4:12, 4:12] == 1).all()  # well inside even where the rim is a triangle


def test_a_mesh_without_gaps_is_drawn_without_gaps():
    """65,536 triangles of a sphere seen from inside fill the picture; each path alone."""
    scene = draw.load("sphere:7")
    mesh = scene.nodes[0].mesh
    inner = Mesh(mesh.positions, mesh.triangles[:, ::-1])
    camera = Camera((0.1, 0.05, 0.0), (1.0, 0.2, 0.3), near=0.01, far=10.0, fov=100.0)
    for path in PATHS:
        frame = draw.render(Scene((Node(inner),)), (320, 240), camera=camera, path=path)
        assert (frame.ids >= 0).all()


def test_depth_test_is_less_and_the_lower_id_wins_a_tie():
    corners = [(2, 2), (14, 2), (2, 14)]
    for path in PATHS:
        frame = flat(corners * 3, [[6, 7, 8], [0, 1, 2], [3, 4, 5]], path)
        assert set(np.unique(frame.ids)) == {-1, 0}


def test_back_faces_are_culled_unless_double_sided():
    corners, front, back = [(2, 2), (14, 2), (2, 14)], [[0, 2, 1]], [[0, 1, 2]]
    for path in PATHS:
        assert (flat(corners, front, path, material=Material()).ids >= 0).any()
        assert (flat(corners, back, path, material=Material()).ids < 0).all()
        assert (flat(corners, back, path).ids >= 0).any()


def test_a_mirroring_transform_flips_the_winding():
    mesh = draw.load("cube").nodes[0].mesh
    camera = Camera((3.0, 2.0, 4.0), (0.0, 0.0, 0.0))
    mirror = np.diag([-1.0, 1.0, 1.0, 1.0])
    for path in PATHS:
        plain = draw.render(Scene((Node(mesh),)), (80, 60), camera=camera, path=path)
        mirrored = draw.render(Scene((Node(mesh, mirror),)), (80, 60), camera=camera, path=path)
        assert np.array_equal(plain.ids >= 0, mirrored.ids >= 0)  # a cube is its own mirror image
        np.testing.assert_allclose(plain.depth, mirrored.depth, atol=1e-5)
