"""Fast equals portable, threads change nothing, other backends give the same triangles."""

import numpy as np
import pytest

from whygpu import draw, engine
from whygpu.draw import Camera, Material, Mesh, Node, Scene

SCENES = ["cube", "sphere:4", "torus-knot", "character", "frame"]


@pytest.fixture(scope="module")
def scenes():
    return {name: draw.load(name) for name in SCENES}


def soup(seed, triangles=120):
    """Triangles anywhere: through the eye, behind it, huge and tiny, mirrored, double-sided."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(90, 3)) * 10 ** random.uniform(-2, 3, (90, 1))
    first = Mesh(
        points,
        random.integers(0, 90, (triangles, 3)),
        random.normal(size=(90, 3)),
        random.random((90, 3)),
        Material(double_sided=bool(seed % 2), metallic=0.5, roughness=0.35),
    )
    second = Mesh(points * 0.7, random.integers(0, 90, (triangles, 3)), material=Material((0.3, 0.5, 0.9)))
    turned = np.diag([1.0, -1.0, 1.0, 1.0])
    turned[:3, 3] = random.normal(size=3)
    camera = Camera((0.0, 0.1, 2.0), (0.0, 0.0, 0.0), near=0.05, far=60.0)
    if seed % 3 == 0:
        camera = Camera((0.0, 0.0, 2.0), (0.2, 0.1, 0.0), near=-5.0, far=50.0, height=3.0)
    return Scene((Node(first), Node(second, turned)), camera)


def check_equal(a, b):
    assert np.array_equal(a.ids, b.ids)
    assert np.array_equal(a.depth, b.depth)
    assert np.abs(a.rgba.astype(int) - b.rgba).max() <= 1


@pytest.mark.parametrize("name", SCENES)
def test_fast_equals_portable(scenes, name):
    size = (240, 180)
    fast = draw.render(scenes[name], size, path="fast")
    check_equal(fast, draw.render(scenes[name], size, path="portable"))
    assert fast.statistics.pixels_lit == (fast.ids >= 0).sum()


@pytest.mark.parametrize("seed", range(12))
def test_fast_equals_portable_on_any_triangles(seed):
    scene = soup(seed)
    check_equal(draw.render(scene, (97, 71), path="fast"), draw.render(scene, (97, 71), path="portable"))


@pytest.mark.parametrize("name", SCENES)
def test_threads_and_repeats_change_no_bit(scenes, name):
    frames = [draw.render(scenes[name], (300, 200), path="fast", threads=n) for n in (1, 2, 3, 1)]
    for frame in frames[1:]:
        assert np.array_equal(frame.rgba, frames[0].rgba)
        assert np.array_equal(frame.ids, frames[0].ids)
        assert np.array_equal(frame.depth, frames[0].depth)


@pytest.mark.parametrize("backend", ["array-api-strict", "torch:cpu"])
def test_other_backends_see_the_same_triangles(scenes, backend):
    for scene in (scenes["cube"], scenes["sphere:4"], soup(1, 40), soup(3, 40)):
        numpy_frame = draw.render(scene, (97, 71), path="portable")
        check_equal(draw.render(scene, (97, 71), backend=backend), numpy_frame)


def test_plain_loops_draw_the_cube(scenes):
    loops = draw.render(scenes["cube"], (64, 48), backend="python")
    check_equal(loops, draw.render(scenes["cube"], (64, 48), path="fast"))


def test_the_ledger_sees_the_same_products_on_both_paths(scenes):
    seen = {}
    for path in ("portable", "fast"):
        with engine.ledger() as ledger:
            frame = draw.render(scenes["sphere:4"], (120, 90), path=path)
        counts = ledger.counts("draw")
        lit = (frame.ids >= 0).sum()
        seen[path] = {key: n for key, n in counts.items() if key[0] == "vertex"}
        assert counts["shade", "barycentric weights", lit, 1, 3, 3] == 1
        assert counts["shade", "interpolation", lit, 1, 3, 3] == 1
        edges = [k for k in counts if k[1] == "edge functions"]
        multiply_adds = sum(counts[k] * k[2] * k[3] * k[4] * k[5] for k in edges)
        assert multiply_adds == frame.statistics.pixels_tested * 9 >= lit * 9
        assert {row.stage for row in ledger.rows()} == {"vertex", "raster", "shade"}
    vertices = scenes["sphere:4"].vertices
    both = {
        ("vertex", "projection-view matrix", 1, 4, 4, 4): 1,
        ("vertex", "model-view-projection matrix", 1, 4, 4, 4): 1,
        ("vertex", "model-view-projection", 1, vertices, 4, 4): 1,
    }
    assert seen["portable"] == {**both, ("vertex", "normal transform", 1, vertices, 3, 3): 1}
    assert seen["fast"] == both  # which turns the normals of pixels, not of vertices
    assert counts["shade", "normal transform", 1, lit, 3, 3] == 1
