"""Textures: mipmaps by exact fractions, filters and wraps texel by texel, levels by how far away it is."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from flat_scenes import PATHS, encoded, linear, render, same, square, unlit

from whygpu import draw
from whygpu.draw import Camera, Material, Node, Scene, Texture
from whygpu.draw.textures import mipmap

RANDOM = np.random.default_rng(3)


def image(height, width, alpha=255):
    texels = RANDOM.integers(0, 256, (height, width, 4)).astype(np.uint8)
    texels[..., 3] = alpha
    return texels


def box_mean(values, count):
    """Means of ``count`` equal parts of a sequence of Fractions, texels on a border counting in part."""
    share = Fraction(len(values), count)
    means = []
    for part in range(count):
        low, high = part * share, (part + 1) * share
        weights = [max(Fraction(0), min(high, i + 1) - max(low, i)) for i in range(len(values))]
        means.append(sum(w * v for w, v in zip(weights, values, strict=True)) / share)
    return means


@pytest.mark.parametrize("shape", [(4, 8), (5, 3), (7, 1), (1, 1), (6, 9)])
def test_a_level_is_the_mean_of_the_texels_under_it(shape):
    texels = image(*shape, alpha=128)
    levels = mipmap(texels, srgb=False)
    assert levels[0] is texels and levels[-1].shape == (1, 1, 4)
    height, width = shape
    for level in levels[1:2]:
        height, width = max(1, height // 2), max(1, width // 2)
        assert level.shape == (height, width, 4)
        rows = [box_mean([Fraction(int(v)) for v in texels[y, :, 0]], width) for y in range(texels.shape[0])]
        exact = [box_mean([row[x] for row in rows], height) for x in range(width)]
        assert np.abs(level[..., 0] - np.array(exact, float).T).max() <= 0.501


def test_colours_are_averaged_in_linear_light():
    texels = np.array([[[0, 0, 0, 255], [255, 255, 255, 255]]], np.uint8)
    assert mipmap(texels, srgb=True)[1][0, 0].tolist() == [188, 188, 188, 255]  # half the light
    assert mipmap(texels, srgb=False)[1][0, 0].tolist() == [128, 128, 128, 255]


def wrapped(index, count, wrap):
    if wrap == "repeat":
        return index % count
    if wrap == "mirror":
        index %= 2 * count
        return index if index < count else 2 * count - 1 - index
    return min(max(index, 0), count - 1)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("wrap", ["repeat", "clamp", "mirror"])
@pytest.mark.parametrize("kind", ["nearest", "linear"])
def test_texels_and_weights_are_exact(path, wrap, kind):
    """24 pixels across three times an image of 5 x 4 texels: each pixel by rational arithmetic."""
    texels, size = image(4, 5), (24, 24)
    texture = Texture(texels, wrap=(wrap, wrap), magnify=kind, minify=kind, mipmap=None)
    mesh = square(size, unlit(base_color_texture=texture), uv=((-1, -1), (2, 2)))
    frame = render(mesh, size, path)
    light = linear(texels[..., :3])
    for y in range(size[1]):
        for x in range(size[0]):
            u, v = (Fraction(2 * p + 1, 16) - 1 for p in (x, y))
            s, t = u * 5, v * 4
            if kind == "nearest":
                expected = light[wrapped(floor(t), 4, wrap), wrapped(floor(s), 5, wrap)]
            else:
                s, t = s - Fraction(1, 2), t - Fraction(1, 2)
                expected = sum(
                    float(abs(1 - i - (s - floor(s))) * abs(1 - j - (t - floor(t))))
                    * light[wrapped(floor(t) + j, 4, wrap), wrapped(floor(s) + i, 5, wrap)]
                    for i in (0, 1)
                    for j in (0, 1)
                )
            assert np.abs(frame.rgba[y, x, :3] - encoded(expected)).max() <= 0.75, (x, y)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("shrink", [1, 2, 4, 8])
def test_a_smaller_picture_shows_the_level_of_that_size(path, shrink):
    texels = image(16, 16)
    size = (16 // shrink, 16 // shrink)
    for between in ("nearest", "linear"):
        texture = Texture(texels, magnify="nearest", minify="nearest", mipmap=between)
        frame = render(square(size, unlit(base_color_texture=texture)), size, path)
        level = mipmap(texels, srgb=True)[shrink.bit_length() - 1]
        assert np.abs(frame.rgba[..., :3].astype(int) - level[..., :3]).max() <= 1


@pytest.mark.parametrize("path", PATHS)
def test_the_level_follows_from_the_distance_of_a_floor(path):
    """Level n of the image has brightness n: on a floor the level is log2 of texels a pixel."""
    texture = Texture(np.full((256, 256, 4), 255, np.uint8))
    size = (64, 64)
    floor_mesh = square((2, 2), unlit(base_color_texture=texture), uv=((0, 0), (64, 64)))
    points = (floor_mesh.positions - [1, 1, 0]) * 64
    turned = np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)
    scene = Scene(
        (Node(draw.Mesh(turned, floor_mesh.triangles, material=floor_mesh.material, uv=floor_mesh.uv)),)
    )
    pool = scene.geometry.textures
    for row, (start, width, height) in enumerate(pool.levels):
        pool.texels[start : start + width * height, :3] = 20 * row
    camera = Camera((0.0, 1.0, 0.0), (0.0, 1.0, -1.0), near=0.1, far=200.0, fov=90.0)
    frame = draw.render(scene, size, camera=camera, path=path, background=(1, 0, 0))
    rows = np.arange(34, 64)
    distance = 32 / (rows + 0.5 - 32)
    texels_a_unit = 64 * 256 / 128
    across, along = distance / 32, distance**2 / 32  # of the floor, for a pixel to the right and down
    level = np.log2(np.maximum(across, along) * texels_a_unit)
    seen = (level > 0) & (distance < 60) & (level < 8)
    low = np.floor(level)
    light = linear(20 * low) * (1 - level + low) + linear(20 * low + 20) * (level - low)
    assert seen.sum() > 8
    assert np.abs(frame.rgba[rows, 32, 0] - encoded(light))[seen].max() <= 1.5


@pytest.mark.parametrize("path", PATHS)
def test_a_transform_and_the_second_set_of_coordinates(path):
    texels, size = image(2, 2), (4, 4)
    turn = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  # u and v change places
    texture = Texture(texels, magnify="nearest", mipmap=None, transform=turn, uv=1)
    mesh = square(size, unlit(base_color_texture=texture))
    mesh = draw.Mesh(
        mesh.positions, mesh.triangles, mesh.normals, material=mesh.material, uv=(None, mesh.uv[0])
    )
    frame = render(mesh, size, path)
    expected = np.repeat(np.repeat(texels.swapaxes(0, 1), 2, axis=0), 2, axis=1)
    assert np.abs(frame.rgba[..., :3].astype(int) - expected[..., :3]).max() <= 1


@pytest.mark.parametrize("wrap", ["repeat", "clamp", "mirror"])
@pytest.mark.parametrize("kind", ["nearest", "linear"])
@pytest.mark.parametrize("between", [None, "nearest", "linear"])
def test_both_paths_sample_alike(wrap, kind, between):
    turn = np.array([[0.9, 0.3, 0.1], [-0.3, 0.9, 0.2]])
    first = Texture(image(9, 16, 77), wrap=("clamp", wrap), magnify=kind, minify=kind, mipmap=between)
    second = Texture(
        image(7, 5), wrap=(wrap, "repeat"), magnify=kind, minify=kind, mipmap=between, transform=turn
    )
    material = Material(
        (1, 1, 1), metallic=1.0, base_color_texture=first, metallic_roughness_texture=second,
        emissive_texture=second, emissive=(0.2, 0.3, 0.1), occlusion_texture=first, double_sided=True,
    )  # fmt: skip
    mesh = square((2, 2), material, uv=((-1, -1), (3, 2)))
    same(Scene((Node(mesh),)), camera=Camera((1.7, 1.4, 2.2), (1, 1, 0), near=0.1, far=20))


@pytest.mark.parametrize("between", ["nearest", "linear"])
def test_coordinates_a_step_below_one_choose_the_same_texel(between):
    """As in Khronos' BoxTextured, whose edges end at 0.9999999: 2**-20 of a texel where a level has eight."""
    below = float(np.float32(1) - np.float32(2**-23))
    texture = Texture(image(256, 256), magnify="nearest", minify="nearest", mipmap=between)
    mesh = square((2, 2), Material((1, 1, 1), base_color_texture=texture), uv=((0, 0), (6, below)))
    for eye in ((1.7, 1.4, 2.2), (0.2, 1.9, 2.5), (1.0, -0.5, 2.0)):
        same(Scene((Node(mesh),)), camera=Camera(eye, (1, 1, 0), near=0.1, far=20), samples=4)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("scale", [1e20, 3e38])
def test_huge_coordinates_stay_within_the_image(path, scale):
    texture = Texture(image(4, 4), wrap=("repeat", "mirror"))
    mesh = square((8, 8), unlit(base_color_texture=texture), uv=((-scale, -scale), (scale, scale)))
    assert (render(mesh, (8, 8), path).ids >= 0).all()


def test_an_image_in_use_twice_is_stored_once():
    texels = image(8, 8)
    materials = [unlit(base_color_texture=Texture(texels)), unlit(base_color_texture=Texture(texels, uv=1))]
    scene = Scene(tuple(Node(square((2, 2), material)) for material in materials))
    assert len(scene.geometry.textures.texels) == 64 + 16 + 4 + 1
