"""The material model held against glTF 2.0's appendix B, written out in float64; lights; normal maps."""

import numpy as np
import pytest
from flat_scenes import PATHS, encoded, front, linear, render, same, square, unlit

from whygpu import draw, engine
from whygpu.draw import Camera, Light, Material, Mesh, Node, Scene, Texture

DARK = {"sky": (0, 0, 0), "ground": (0, 0, 0)}


def unit(v):
    return np.asarray(v, float) / np.linalg.norm(v)


def appendix_b(n, v, towards, base, metallic, roughness, specular=1.0):
    """pi times the material's BRDF times n . l: what a light of colour 1 sends back (glTF 2.0, B.2, B.3)."""
    base = np.asarray(base, float)
    h = unit(v + towards)
    nl, nv, nh, vh = n @ towards, abs(n @ v), n @ h, v @ h
    alpha = roughness**2
    d = alpha**2 * (nh > 0) / (np.pi * (nh**2 * (alpha**2 - 1) + 1) ** 2)

    def masking(x):
        return 1 / (x + np.sqrt(alpha**2 + (1 - alpha**2) * x**2))

    mirror = masking(nl) * masking(nv) * d
    fresnel = specular * (0.04 + 0.96 * (1 - vh) ** 5)  # KHR_materials_specular scales it
    dielectric = (1 - fresnel) * base / np.pi + fresnel * mirror
    metal = mirror * (base + (1 - base) * (1 - vh) ** 5)
    return np.pi * max(nl, 0.0) * ((1 - metallic) * dielectric + metallic * metal)


def patch(normal, material):
    """A pixel-filling square before an orthographic camera with one normal all over."""
    mesh = square((4, 4), material)
    return Mesh(mesh.positions, mesh.triangles, np.tile(normal, (4, 1)), material=material)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("metallic", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("roughness", [0.3, 0.7, 1.0])
def test_the_material_is_that_of_the_specification(path, metallic, roughness):
    random = np.random.default_rng(7)
    for full in (False, True):
        for _ in range(4):
            normal = unit(random.normal(size=3) * [0.6, 0.6, 0.2] + [0, 0, 1])
            towards = unit(random.normal(size=3) + np.array([0, 0, 1.2]))
            material = Material((0.8, 0.5, 0.2), metallic=metallic, roughness=roughness)
            light = Light(tuple(-towards), (0.4, 0.4, 0.4))
            scene = Scene((Node(patch(normal, material)),), lights=(light,), **DARK)
            frame = draw.render(scene, (4, 4), camera=front((4, 4)), path=path, normals=full)
            expected = 0.4 * appendix_b(
                normal, np.array([0, 0, 1.0]), towards, (0.8, 0.5, 0.2), metallic, roughness
            )
            assert np.abs(frame.rgba[1, 1, :3] - encoded(expected)).max() <= 1.2


@pytest.mark.parametrize("path", PATHS)
def test_no_specular_and_no_metal_is_lamberts_law(path):
    for full in (False, True):
        towards = unit([0.5, 0.2, 0.8])
        material = Material((0.8, 0.5, 0.2), specular=0.0, roughness=0.2)
        scene = Scene((Node(patch([0, 0, 1.0], material)),), lights=(Light(tuple(-towards)),), **DARK)
        frame = draw.render(scene, (4, 4), camera=front((4, 4)), path=path, normals=full)
        assert np.abs(frame.rgba[1, 1, :3] - encoded(towards[2] * np.array([0.8, 0.5, 0.2]))).max() <= 0.75


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", ["point", "spot"])
def test_point_and_spot_lights_fade_as_khr_lights_punctual_says(path, kind):
    material = Material((1, 1, 1), specular=0.0)
    for x, reach, inner, outer in (
        (0.0, np.inf, 10, 50),
        (1.5, 6.0, 10, 50),
        (2.2, 5.0, 0, 35),
        (2.2, 2.0, 0, 35),
    ):
        place = np.array([2 + x, 2.0, 3.0])  # the middle of the picture is (2, 2, 0)
        light = Light((0, 0, -1), (5, 5, 5), kind, tuple(place), reach, inner, outer, casts_shadow=False)
        scene = Scene((Node(patch([0, 0, 1.0], material)),), lights=(light,), **DARK)
        frame = draw.render(scene, (5, 5), camera=front((4, 4)), path=path)  # its middle pixel is the middle
        away = np.linalg.norm(place - [2, 2, 0])
        cosine = place[2] / away
        expected = 5 * cosine * max(min(1 - (away / reach) ** 4, 1), 0) / away**2
        if kind == "spot":
            low, high = np.cos(np.radians([outer, inner]))
            scale = 1 / max(0.001, high - low)
            expected *= np.clip(cosine * scale - low * scale, 0, 1) ** 2
        assert np.abs(frame.rgba[2, 2, 0] - encoded(expected)) <= 1


@pytest.mark.parametrize("path", PATHS)
def test_factors_multiply_textures_vertex_colours_and_exposure(path):
    texels = np.tile(np.array([[[200, 100, 50, 255]]], np.uint8), (2, 2, 1))
    material = unlit(base_color=(0.5, 1, 0.5), base_color_texture=Texture(texels))
    colors = np.array([1.0, 0.5, 1.0, 1.0], np.float32)
    for stops in (0.0, 1.0, -2.0):
        frame = render(square((4, 4), material, colors=colors), (4, 4), path, exposure=stops)
        expected = linear([200, 100, 50]) * [0.5, 0.5, 0.5] * 2.0**stops
        assert np.abs(frame.rgba[1, 1, :3] - encoded(expected)).max() <= 0.75


@pytest.mark.parametrize("path", PATHS)
def test_emissive_and_occlusion(path):
    texels = np.full((1, 1, 4), 128, np.uint8)
    material = Material(
        (0.5, 0.5, 0.5), specular=0.0, emissive=(0.5, 0.25, 2.0), emissive_texture=Texture(texels),
        occlusion_texture=Texture(texels), occlusion_strength=0.5,
    )  # fmt: skip
    scene = Scene((Node(patch([0, 0, 1.0], material)),), lights=(), sky=(0.6,) * 3, ground=(0.6,) * 3)
    frame = draw.render(scene, (4, 4), camera=front((4, 4)), path=path)
    arriving = 1 + 0.5 * (128 / 255 - 1)
    expected = 0.6 * 0.5 * arriving + linear([128, 128, 128]) * [0.5, 0.25, 2.0]
    assert np.abs(frame.rgba[1, 1, :3] - encoded(expected)).max() <= 0.75


@pytest.mark.parametrize("path", PATHS)
def test_a_normal_map_bends_the_normal_in_the_tangents_frame(path):
    """u runs to the right, v down: red bends to the right, green up (glTF 2.0, 3.9.3)."""
    for texel, expected in (
        ((255, 128, 128), (1, 0, 0)), ((128, 255, 128), (0, 1, 0)), ((128, 128, 255), (0, 0, 1)),
        ((200, 160, 230), unit(np.array([200, 160, 230]) / 255 * 2 - 1)),
    ):  # fmt: skip
        image = np.tile(np.array([[[*texel, 255]]], np.uint8), (2, 2, 1))
        material = Material(normal_texture=Texture(image))
        frame = render(square((4, 4), material), (4, 4), path, normals=True)
        np.testing.assert_allclose(frame.normals[1, 1], expected, atol=0.01)
        mirrored = render(square((4, 4), material, uv=((1, 0), (0, 1))), (4, 4), path, normals=True)
        np.testing.assert_allclose(mirrored.normals[1, 1], np.multiply(expected, [-1, 1, 1]), atol=0.01)
        flipped = Scene((Node(square((4, 4), material), np.diag([-1.0, 1, 1, 1])),))
        camera = Camera((-2.0, 2.0, 10.0), (-2.0, 2.0, 0.0), near=0.0, far=20.0, height=4.0)
        turned = draw.render(flipped, (4, 4), camera=camera, path=path, normals=True)
        np.testing.assert_allclose(turned.normals[1, 1], np.multiply(expected, [-1, 1, 1]), atol=0.01)


@pytest.mark.parametrize("path", PATHS)
def test_backs_are_lit_with_the_normal_turned_to_the_eye(path):
    mesh = square((4, 4), Material(double_sided=True))
    back = Mesh(mesh.positions, mesh.triangles[:, ::-1], -mesh.normals, material=mesh.material)
    front_frame, back_frame = (render(m, (4, 4), path, normals=True) for m in (mesh, back))
    assert np.array_equal(front_frame.rgba, back_frame.rgba)
    np.testing.assert_allclose(back_frame.normals[1, 1], [0, 0, 1], atol=1e-6)


def ball(material):
    sphere = draw.load("sphere:4").nodes[0].mesh
    uv = np.stack(
        [np.arctan2(sphere.positions[:, 0], sphere.positions[:, 2]) / 6.283, sphere.positions[:, 1]], 1
    )
    return Mesh(sphere.positions, sphere.triangles, sphere.normals, material=material, uv=(uv, None))


@pytest.mark.parametrize("options", [{}, {"normals": True}, {"samples": 4}, {"shadows": True}])
def test_both_paths_agree_on_bent_normals_and_mirrored_nodes(options):
    image = np.random.default_rng(0).integers(60, 200, (16, 16, 4)).astype(np.uint8)
    mesh = ball(
        Material((1, 1, 1), metallic=0.5, roughness=0.4, normal_texture=Texture(image), normal_scale=0.7)
    )
    mirror = np.diag([-1.0, 1, 1, 1])
    mirror[0, 3] = 1.5
    same(Scene((Node(mesh), Node(mesh, mirror))), **options)


def test_both_paths_agree_where_triangles_are_clipped():
    texture = Texture(np.random.default_rng(0).integers(0, 256, (8, 8, 4)).astype(np.uint8))
    floor = square((2, 2), Material(base_color_texture=texture, double_sided=True), uv=((0, 0), (400, 400)))
    points = (floor.positions - [1, 1, 0]) * 400
    turned = np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)
    mesh = Mesh(turned, floor.triangles, material=floor.material, uv=floor.uv)
    light = Light((0, -1, 0), (9, 9, 9), "point", (0.5, 1.5, -4.0), casts_shadow=False)
    for camera in (
        Camera((0.0, 1.0, 0.0), (0.1, 1.0, -1.0), near=0.05, far=300.0, fov=80.0),
        Camera((0.0, 1.0, 0.0), (0.1, 0.8, -1.0), near=-300.0, far=300.0, height=20.0),
    ):
        same(Scene((Node(mesh),), lights=(light,)), camera=camera, samples=4)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"samples": 2}, "1, 4, 16"), ({"samples": 0}, "samples"), ({"exposure": float("nan")}, "exposure"),
        ({"exposure": "much"}, "exposure"), ({"wireframe": "dots"}, "through"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_are_refused(options, word):
    with pytest.raises(engine.UserError, match=word) as error:
        draw.render(draw.load("cube"), (8, 8), **options)
    assert "\n" not in str(error.value)


def test_the_ledger_names_products_and_the_rest_on_both_paths():
    image = np.full((4, 4, 4), 99, np.uint8)
    scene = Scene((Node(ball(Material(base_color_texture=Texture(image)))),))
    for path in PATHS:
        with engine.ledger() as ledger:
            frame = draw.render(scene, (60, 40), path=path, shadows=True)
        counts, lit = ledger.counts("draw"), int((frame.ids >= 0).sum())
        assert counts["shade", "barycentric weights", lit, 1, 3, 3] == 1
        assert counts["shade", "interpolation", lit, 1, 3, 3] == 1
        assert counts["shade", "texture coordinates", lit, 3, 4, 3] == 1
        edges = [key for key in counts if key[1] == "edge functions" and key[0] == "raster"]
        assert sum(counts[k] * k[2] * k[3] * k[4] * k[5] for k in edges) == frame.statistics.pixels_tested * 9
        names = {row.name for row in ledger.rows() if not row.is_product}
        assert {"texture sampling", "lighting", "sRGB encode", "depth test"} <= names
        assert {row.stage for row in ledger.rows()} == {"shadow", "vertex", "raster", "shade"}


def test_arrays_of_an_old_frame_are_drawn_into():
    scene = draw.load("cube")
    old = draw.render(scene, (40, 30), path="fast")
    kept = old.rgba.copy()
    new = draw.render(scene, (40, 30), path="fast", out=old)
    assert new.rgba is old.rgba and np.array_equal(new.rgba, kept)
    assert draw.render(scene, (30, 30), path="fast", out=old).rgba.shape == (30, 30, 4)
