"""Multisampling: coverage counted sample by sample, resolved in linear light, within its memory."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from flat_scenes import PATHS, encoded, front, same, unlit
from hypothesis import given, settings
from hypothesis import strategies as st

from whygpu import draw
from whygpu.draw import Mesh, Node, Scene
from whygpu.draw.fast.samples import PATTERNS

SIDE = 8
grid = st.integers(-2 * 256, (SIDE + 2) * 256).map(lambda v: v / 256)
point = st.tuples(grid, grid)


def test_the_patterns_are_spread_evenly():
    for count, pattern in PATTERNS.items():
        assert len(set(pattern)) == count
        assert all(-8 <= part <= 7 for place in pattern for part in place)
        for axis in range(2):  # no two share a row or a column
            assert len({place[axis] for place in pattern}) == count


def triangle(corners, path, samples):
    mesh = Mesh(
        np.array([(x, SIDE - y, 0.0) for x, y in corners]),
        np.array([[0, 1, 2]]),
        material=unlit(double_sided=True),
    )
    scene = Scene((Node(mesh),))
    size = (SIDE, SIDE)
    return draw.render(scene, size, camera=front(size), path=path, samples=samples, background=(0, 0, 0))


def edge(a, b, x, y):
    ax, ay, bx, by = (Fraction(v) for v in (*a, *b))
    return (bx - ax) * (y - ay) - (by - ay) * (x - ax)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("samples", [4, 16])
@settings(max_examples=12, deadline=None, derandomize=True)
@given(a=point, b=point, c=point)
def test_a_pixel_is_as_bright_as_its_samples_are_covered(path, samples, a, b, c):
    frame = triangle([a, b, c], path, samples)
    for row in range(SIDE):
        for column in range(SIDE):
            inside = touched = 0
            for x, y in PATTERNS[samples]:
                px, py = column + Fraction(8 + x, 16), row + Fraction(8 + y, 16)
                values = [edge(a, b, px, py), edge(b, c, px, py), edge(c, a, px, py)]
                inside += all(v > 0 for v in values) or all(v < 0 for v in values)
                touched += all(v >= 0 for v in values) or all(v <= 0 for v in values)
            low, high = encoded(inside / samples), encoded(touched / samples)
            assert low - 0.75 <= frame.rgba[row, column, 0] <= high + 0.75
            if inside:
                assert frame.ids[row, column] == 0


@pytest.mark.parametrize("samples", [4, 16])
def test_both_paths_sample_alike(samples):
    for name in ("cube", "sphere:4", "torus-knot"):
        frame = same(draw.load(name), samples=samples, background="transparent")
        alpha = frame.rgba[..., 3]
        assert ((alpha > 0) & (alpha < 255)).sum() > 50  # smooth edges
        steps = np.unique(np.round(alpha / 255 * samples, 1))
        assert np.array_equal(steps, np.round(steps))  # whole numbers of samples


def test_the_inside_of_a_mesh_has_no_seams():
    """Samples of a closed surface seen from inside are covered once: no background shows through."""
    mesh = draw.load("sphere:5").nodes[0].mesh
    inner = Mesh(mesh.positions, mesh.triangles[:, ::-1], material=unlit())
    camera = draw.Camera((0.1, 0.05, 0.0), (1.0, 0.2, 0.3), near=0.01, far=10.0, fov=100.0)
    for path in PATHS:
        frame = draw.render(
            Scene((Node(inner),)), (64, 48), camera=camera, path=path, samples=4, background="transparent"
        )
        assert (frame.rgba == 255).all()


def peak_bytes(samples, size):
    scene = draw.load("sphere:4")
    draw.render(scene, (8, 8), path="fast", samples=samples, threads=1)
    tracemalloc.start()
    draw.render(scene, size, path="fast", samples=samples, threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_is_64_bytes_a_pixel_and_12_a_sample_at_most():
    small, large = (400, 300), (1600, 1200)
    pixels = 1600 * 1200 - 400 * 300
    for samples in (1, 4, 16):
        grown = peak_bytes(samples, large) - peak_bytes(samples, small)
        assert grown / pixels <= 64 + 12 * samples
