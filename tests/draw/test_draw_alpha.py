"""Alpha modes: the specification's rules by hand, whatever the order, within bounded memory."""

import itertools

import numpy as np
import pytest
from flat_scenes import PATHS, encoded, linear, render, same, square, unlit

from whygpu import draw, engine
from whygpu.draw import Light, Material, Node, Scene, Texture

SIZE = (4, 4)


def over(layers, background=(0.0, 0.0, 0.0)):
    """Premultiplied mixing, nearest layer first: (colour, alpha) pairs, linear light."""
    color, through = np.zeros(3), 1.0
    for layer, alpha in layers:
        color = color + through * alpha * np.asarray(layer, float)
        through *= 1 - alpha
    return color + through * np.asarray(background), 1 - through


GLASS = [((1, 0, 0), 0.5, 3.0), ((0, 1, 0), 0.25, 2.0), ((0, 0.2, 1), 0.7, 1.0)]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("samples", [1, 4])
def test_blended_layers_mix_by_depth_in_every_order(path, samples):
    wall = square(SIZE, unlit(base_color=(0.6, 0.6, 0.2)), z=0.0)
    behind = square(SIZE, unlit(base_color=(1, 1, 1), alpha=0.9, alpha_mode="blend"), z=-1.0)
    glass = [
        square(SIZE, unlit(base_color=color, alpha=alpha, alpha_mode="blend"), z=z)
        for color, alpha, z in GLASS
    ]
    expected, _ = over([(color, alpha) for color, alpha, _ in GLASS], (0.6, 0.6, 0.2))
    pictures = []
    for order in itertools.permutations([wall, behind, *glass], 5):
        if order[0] is wall or order[-1] is wall:
            pictures.append(render(list(order), SIZE, path, samples=samples))
    for frame in pictures:
        assert np.array_equal(frame.rgba, pictures[0].rgba)
        assert np.abs(frame.rgba[1, 1, :3] - encoded(expected)).max() <= 0.75
        assert (frame.depth == pictures[0].depth).all()  # the wall's: what is blended is not seen


@pytest.mark.parametrize("path", PATHS)
def test_a_transparent_background_gets_straight_alpha(path):
    glass = [
        square(SIZE, unlit(base_color=color, alpha=alpha, alpha_mode="blend"), z=z)
        for color, alpha, z in GLASS
    ]
    color, alpha = over([(color, alpha) for color, alpha, _ in GLASS])
    frame = render(glass, SIZE, path, background="transparent")
    assert abs(frame.rgba[1, 1, 3] - 255 * alpha) <= 0.75
    assert np.abs(frame.rgba[1, 1, :3] - encoded(color / alpha)).max() <= 1
    clear = square(SIZE, unlit(alpha=0.0, alpha_mode="blend"))
    assert (render(clear, SIZE, path, background="transparent").rgba == 0).all()
    half = render(clear, SIZE, path, background=(1.0, 0.5, 0.0, 0.5)).rgba[0, 0]
    assert half.tolist() == [255, 128, 0, 128]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("cutoff", [0.25, 0.5, 0.6, 1.0])
def test_masked_texels_are_seen_from_the_cutoff_on(path, cutoff):
    """As Khronos' AlphaBlendModeTest shows: a ramp of alpha, cut where it reaches the cutoff, inclusive."""
    ramp = np.zeros((1, 16, 4), np.uint8)
    ramp[0, :, :3], ramp[0, :, 3] = 255, np.arange(16) * 17
    texture = Texture(ramp, magnify="nearest", mipmap=None)
    material = unlit(base_color_texture=texture, alpha_mode="mask", alpha_cutoff=cutoff)
    frame = render(square((16, 4), material), (16, 4), path)
    seen = np.arange(16) * 17 / 255 >= cutoff
    assert np.array_equal(frame.ids[1] >= 0, seen)
    assert np.array_equal(frame.rgba[1, :, 0] == 255, seen)
    assert np.array_equal(frame.depth[1] < 1, seen)
    exact = unlit(alpha=cutoff, alpha_mode="mask", alpha_cutoff=cutoff)
    assert (render(square(SIZE, exact), SIZE, path).ids >= 0).all()


@pytest.mark.parametrize("path", PATHS)
def test_opaque_ignores_alpha_and_vertex_alpha_counts_in_blend(path):
    ignored = unlit(base_color=(0.5, 0.5, 0.5), alpha=0.1)
    assert np.abs(render(square(SIZE, ignored), SIZE, path).rgba[0, 0, :3] - encoded(0.5)).max() <= 0.75
    blended = unlit(base_color=(1, 1, 1), alpha=0.5, alpha_mode="blend")
    colors = np.array([1, 0.5, 0, 0.5], np.float32)
    frame = render(square(SIZE, blended, colors=colors), SIZE, path)
    assert np.abs(frame.rgba[0, 0, :3] - encoded(0.25 * np.array([1, 0.5, 0]))).max() <= 0.75


@pytest.mark.parametrize("path", PATHS)
def test_a_masked_layer_hides_what_is_behind_and_becomes_what_is_seen(path):
    hole = np.full((1, 2, 4), 255, np.uint8)
    hole[0, 0, 3] = 0
    masked = unlit(
        base_color=(0, 1, 0),
        alpha_mode="mask",
        base_color_texture=Texture(hole, magnify="nearest", mipmap=None),
    )
    layers = [
        square(SIZE, unlit(base_color=(1, 0, 0), alpha=0.5, alpha_mode="blend"), z=-1),
        square(SIZE, masked, z=1),
        square(SIZE, unlit(base_color=(0, 0, 1), alpha=0.5, alpha_mode="blend"), z=2),
    ]
    frame = render(layers, SIZE, path)
    left, right = over([((0, 0, 1), 0.5), ((1, 0, 0), 0.5)])[0], over([((0, 0, 1), 0.5), ((0, 1, 0), 1)])[0]
    assert np.abs(frame.rgba[1, 0, :3] - encoded(left)).max() <= 0.75
    assert np.abs(frame.rgba[1, 3, :3] - encoded(right)).max() <= 0.75
    assert (frame.ids[:, :2] == -1).all() and np.isin(frame.ids[:, 2:], (2, 3)).all()


def stack(mode, cube=True):
    """A cube with turned, overlapping, textured squares through it."""
    random = np.random.default_rng(1)
    nodes = [Node(draw.load("cube").nodes[0].mesh)] if cube else []
    for i in range(5):
        image = random.integers(0, 256, (8, 8, 4)).astype(np.uint8)
        material = Material(
            (i / 5, 1 - i / 5, 0.5), alpha=0.4 + 0.1 * i, alpha_mode=mode, double_sided=True,
            base_color_texture=Texture(image),
        )  # fmt: skip
        turn, angle = np.eye(4), i * 0.6
        turn[:3, :3] = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
        middle = np.eye(4)
        middle[:3, 3] = -1.6, -1.6, 0
        nodes.append(Node(square((3.2, 3.2), material), turn @ middle))
    return Scene(tuple(nodes))


@pytest.mark.parametrize("mode", ["mask", "blend"])
@pytest.mark.parametrize("samples", [1, 4, 16])
def test_both_paths_mix_alike(mode, samples):
    background = "transparent" if samples == 1 else None
    same(stack(mode), samples=samples, background=background, normals=True, shadows=samples == 4)


@pytest.mark.parametrize("at_once", [1, 7, 500])
def test_lists_that_overflow_are_cut_into_tiles_and_change_nothing(monkeypatch, at_once):
    from whygpu.draw.fast import lists

    scene, size = stack("blend"), (40, 36)
    whole = draw.render(scene, size, path="fast", samples=4)
    monkeypatch.setattr(lists, "AT_ONCE", at_once)
    sizes, write = [], lists.Lists._batch

    def watched(self, start, stop, with_normals):
        batch = write(self, start, stop, with_normals)
        sizes.append((len(batch.nexts), int(((batch.tiles[:, 1::2] - batch.tiles[:, ::2]).prod(1)).sum())))
        return batch

    monkeypatch.setattr(lists.Lists, "_batch", watched)
    cut = draw.render(scene, size, path="fast", samples=4)
    assert np.array_equal(cut.ids, whole.ids) and np.abs(cut.rgba.astype(int) - whole.rgba).max() <= 1
    assert len(sizes) > 3
    assert all(entries <= at_once or pixels == 1 for entries, pixels in sizes)


def test_a_thousand_layers_are_sorted():
    """Nearest first, given farthest first: 1,000 sheets of alpha 0.01, one red before all others blue."""
    blue = unlit(base_color=(0, 0, 1), alpha=0.01, alpha_mode="blend")
    red = unlit(base_color=(1, 0, 0), alpha=0.01, alpha_mode="blend")
    sheets = [square(SIZE, red if i == 999 else blue, z=-9 + i * 0.018) for i in range(1000)]
    frame = render(sheets, SIZE, "fast")
    expected, _ = over([((1, 0, 0), 0.01)] + [((0, 0, 1), 0.01)] * 999)
    assert np.abs(frame.rgba[1, 1, :3] - encoded(expected)).max() <= 1
    assert linear(frame.rgba[1, 1, 0]) > 0.005


def test_lit_glass_is_shaded_as_an_opaque_surface_is():
    light = (Light((0, 0, -1), (0.5, 0.5, 0.5)),)
    opaque, glass = Material(), Material(alpha=1.0, alpha_mode="blend")
    pictures = [render(square(SIZE, m), SIZE, "fast", lights=light).rgba for m in (opaque, glass)]
    assert np.abs(pictures[0].astype(int) - pictures[1]).max() <= 1


@pytest.mark.parametrize("which", ["array-api-strict", "torch:cpu"])
def test_other_backends_mix_alike(which):
    backend = engine.backend(which)
    for mode in ("mask", "blend"):
        options = {"samples": 4, "shadows": True, "normals": True}
        here = draw.render(stack(mode), (40, 30), path="portable", **options)
        there = draw.render(stack(mode), (40, 30), path="portable", backend=backend, **options)
        assert np.array_equal(here.ids, there.ids) and np.array_equal(here.depth, there.depth)
        assert np.abs(here.rgba.astype(int) - there.rgba).max() <= 1


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("normals", [False, True])
def test_a_masked_layer_is_the_depth_even_behind_full_glass(path, normals):
    """Glass leaves no depth, however opaque; asking for normals changes nothing else."""
    glass = square(SIZE, unlit(base_color=(1, 0, 0), alpha=1.0, alpha_mode="blend"), z=2.0)
    masked = square(SIZE, unlit(base_color=(0, 1, 0), alpha_mode="mask"), z=0.0)
    frame = render([glass, masked], SIZE, path, normals=normals)
    assert (frame.ids >= 2).all()
    assert np.allclose(frame.depth, 0.5, atol=1e-6)  # z = 0 lies half way from z = 10 to z = -10
    assert (frame.rgba == (255, 0, 0, 255)).all()


@pytest.mark.parametrize("path", PATHS)
def test_a_masked_pixels_depth_is_that_of_its_nearest_sample(path):
    """A slope of 1 in x, 4 samples: the rightmost ones, 3/8 of a pixel from the centre, are the nearest."""
    slope = square(SIZE, unlit(alpha_mode="mask", double_sided=True))
    positions = np.asarray(slope.positions, np.float64)
    positions[:, 2] = positions[:, 0]  # z from 0 at the left to 4 at the right
    tilted = draw.Mesh(positions, slope.triangles, material=slope.material)
    frame = render(tilted, SIZE, path, samples=4)
    nearest = np.arange(4) + 0.5 + 6 / 16
    assert np.allclose(frame.depth, ((10 - nearest) / 20)[None], atol=1e-6)


def test_masked_triangles_that_are_clipped_are_alike_in_every_sample():
    random = np.random.default_rng(86)
    for _ in range(6):
        positions = random.normal(size=(9, 3)) * (1, 1, 2)
        mesh = draw.Mesh(positions, random.integers(0, 9, (12, 3)), material=Material(alpha_mode="mask"))
        camera = draw.Camera((0.3, -0.4, 0.5), (0, 0, 0), near=0.3, far=20)
        same(Scene((Node(mesh),)), (40, 30), camera=camera, samples=4)
