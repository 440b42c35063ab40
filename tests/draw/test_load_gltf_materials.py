"""glTF: materials, textures, samplers and tangents."""

import base64
import io

import numpy as np
import pytest
from gltf_writer import Writer, square, triangle
from PIL import Image

from whygpu import draw
from whygpu.draw.tangents import tangents
from whygpu.engine import UserError

PIXELS = np.array([[[255, 0, 0, 255], [0, 255, 0, 255]], [[0, 0, 255, 128], [9, 8, 7, 0]]], np.uint8)


def material(writer, tmp_path):
    (node,) = draw.load(writer.glb(tmp_path / "a.glb")).nodes
    return node.mesh.material


def textured(slot="baseColorTexture", info=None, sampler=None, texture=None, pixels=PIXELS):
    """A square with one texture in one slot."""
    inside = slot in ("baseColorTexture", "metallicRoughnessTexture")
    given = {slot: {"index": 0, **(info or {})}}
    writer = square({"pbrMetallicRoughness": given} if inside else given)
    source = {"source": writer.image(pixels), **(texture or {})}
    if sampler is not None:
        source["sampler"] = writer.add("samplers", sampler)
    writer.add("textures", source)
    return writer


def test_the_default_material_is_the_specifications(tmp_path):
    for writer in (square(), square({})):
        found = material(writer, tmp_path)
        assert (found.base_color, found.alpha, found.metallic, found.roughness) == ((1, 1, 1), 1, 1, 1)
        assert (found.emissive, found.alpha_mode, found.alpha_cutoff) == ((0, 0, 0), "opaque", 0.5)
        assert not found.double_sided and not found.unlit and not any(found.textures)


def test_all_factors(tmp_path):
    found = material(
        square(
            {
                "name": "red",
                "pbrMetallicRoughness": {
                    "baseColorFactor": [1, 0.5, 0, 0.25],
                    "metallicFactor": 0.125,
                    "roughnessFactor": 0.75,
                },
                "emissiveFactor": [1, 0.5, 0],
                "alphaMode": "MASK",
                "alphaCutoff": 0.7,
                "doubleSided": True,
                "extensions": {
                    "KHR_materials_unlit": {},
                    "KHR_materials_emissive_strength": {"emissiveStrength": 4},
                },
            }
        ),
        tmp_path,
    )
    assert (found.name, found.base_color, found.alpha) == ("red", (1, 0.5, 0), 0.25)
    assert (found.metallic, found.roughness, found.emissive) == (0.125, 0.75, (4, 2, 0))
    assert (found.alpha_mode, found.alpha_cutoff) == ("mask", 0.7)
    assert found.double_sided and found.unlit


@pytest.mark.parametrize(
    ("slot", "place"),
    [
        ("baseColorTexture", 0),
        ("metallicRoughnessTexture", 1),
        ("normalTexture", 2),
        ("occlusionTexture", 3),
        ("emissiveTexture", 4),
    ],
)
def test_every_texture_slot(tmp_path, slot, place):
    found = material(textured(slot, {"texCoord": 1, "scale": 0.5, "strength": 0.25}), tmp_path)
    texture = found.textures[place]
    assert sum(t is not None for t in found.textures) == 1
    assert np.array_equal(texture.image, PIXELS)  # bytes as stored, first row first
    assert texture.uv == 1
    assert found.normal_scale == (0.5 if slot == "normalTexture" else 1)
    assert found.occlusion_strength == (0.25 if slot == "occlusionTexture" else 1)


def test_textures_share_an_image(tmp_path):
    writer = square(
        {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}, "emissiveTexture": {"index": 1}}
    )
    image = writer.image(PIXELS)
    writer.add("textures", {"source": image})
    writer.add("textures", {"source": image, "sampler": writer.add("samplers", {"wrapS": 33071})})
    found = material(writer, tmp_path)
    assert found.base_color_texture.image is found.emissive_texture.image
    assert found.base_color_texture.wrap != found.emissive_texture.wrap


@pytest.mark.parametrize(
    ("sampler", "wrap", "filters"),
    [  # the table of section 5.26
        (None, ("repeat", "repeat"), ("linear", "linear", "linear")),
        ({"wrapS": 33071, "wrapT": 33648}, ("clamp", "mirror"), ("linear", "linear", "linear")),
        ({"magFilter": 9728, "minFilter": 9728}, ("repeat", "repeat"), ("nearest", "nearest", None)),
        ({"magFilter": 9729, "minFilter": 9729}, ("repeat", "repeat"), ("linear", "linear", None)),
        ({"minFilter": 9984}, ("repeat", "repeat"), ("linear", "nearest", "nearest")),
        ({"minFilter": 9985}, ("repeat", "repeat"), ("linear", "linear", "nearest")),
        ({"minFilter": 9986}, ("repeat", "repeat"), ("linear", "nearest", "linear")),
        ({"minFilter": 9987}, ("repeat", "repeat"), ("linear", "linear", "linear")),
    ],
)
def test_samplers(tmp_path, sampler, wrap, filters):
    texture = material(textured(sampler=sampler), tmp_path).base_color_texture
    assert texture.wrap == wrap
    assert (texture.magnify, texture.minify, texture.mipmap) == filters


def test_texture_transform_by_the_extensions_own_example(tmp_path):
    """The lower left quadrant, turned clockwise by 90 degrees; and the one that turns v upside down."""
    extension = {"offset": [0, 1], "rotation": np.pi / 2, "scale": [0.5, 0.5]}
    transform = material(
        textured(info={"extensions": {"KHR_texture_transform": extension}}), tmp_path
    ).base_color_texture.transform
    corners = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float) @ transform.T
    assert np.allclose(corners, [[0, 1], [0, 0.5], [0.5, 0.5], [0.5, 1]])  # u 0 to 0.5, v 0.5 to 1 (down)
    flipped = {"KHR_texture_transform": {"offset": [0, 1], "scale": [1, -1], "texCoord": 1}}
    texture = material(textured(info={"extensions": flipped}), tmp_path).base_color_texture
    assert np.allclose(np.array([0.25, 0.125, 1]) @ texture.transform.T, [0.25, 0.875])
    assert texture.uv == 1


def test_webp_replaces_a_fallback(tmp_path):
    writer = textured()
    other = writer.image(PIXELS[::-1], "WEBP", lossless=True, exact=True)
    writer.json["textures"][0]["extensions"] = {"EXT_texture_webp": {"source": other}}
    writer.json["extensionsRequired"] = ["EXT_texture_webp"]
    assert np.array_equal(material(writer, tmp_path).base_color_texture.image, PIXELS[::-1])


@pytest.mark.parametrize("where", ["data", "file"])
def test_images_from_uris(tmp_path, where):
    stream = io.BytesIO()
    Image.fromarray(PIXELS).save(stream, "PNG")
    writer = textured()
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "a b.png").write_bytes(stream.getvalue())
    data = "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()
    writer.json["images"] = [{"uri": data if where == "data" else "maps/a%20b.png"}]
    assert np.array_equal(material(writer, tmp_path).base_color_texture.image, PIXELS)


@pytest.mark.parametrize("mode", ["L", "P", "RGB", "LA", "I;16", "1", "CMYK"])
def test_images_of_every_mode(tmp_path, mode):
    grey = np.array([[0, 255], [128, 64]], np.uint8)
    stream = io.BytesIO()
    if mode == "I;16":
        Image.fromarray(grey.astype(np.uint16) * 257).save(stream, "PNG")
    else:
        Image.fromarray(grey).convert(mode).save(stream, "JPEG" if mode == "CMYK" else "PNG")
    writer = textured()
    writer.json["images"] = [{"bufferView": writer.view(stream.getvalue())}]
    found = material(writer, tmp_path).base_color_texture.image
    wanted = np.where(grey > 127, 255, 0) if mode == "1" else grey
    assert found.shape == (2, 2, 4) and (found[..., 3] == 255).all()
    if mode not in ("1", "CMYK"):  # dithered, lossy
        assert np.array_equal(found[..., 0], wanted)


def test_an_image_of_too_many_pixels_is_refused_before_it_is_decoded(tmp_path):
    stream = io.BytesIO()
    Image.new("1", (20000, 20000)).save(stream, "PNG")
    writer = textured()
    writer.json["images"] = [{"bufferView": writer.view(stream.getvalue())}]
    with pytest.raises(UserError, match=r"a.glb: images\[0\]: an image of .*at most 67,108,864"):
        material(writer, tmp_path)


def test_given_tangents_are_kept_and_missing_ones_made(tmp_path):
    writer = textured("normalTexture")
    (node,) = draw.load(writer.glb(tmp_path / "a.glb")).nodes
    # u runs along +x, the image stands upright: its up is +y, and +z x +x = +y
    assert np.allclose(node.mesh.tangents, [[1, 0, 0, 1]] * 4)
    given = np.tile(np.array([0, 1, 0, -1], "f4"), (4, 1))
    writer.json["meshes"][0]["primitives"][0]["attributes"]["TANGENT"] = writer.accessor(given)
    (node,) = draw.load(writer.glb(tmp_path / "a.glb")).nodes
    assert np.array_equal(node.mesh.tangents, given)
    (plain,) = draw.load(square().glb(tmp_path / "b.glb")).nodes
    assert plain.mesh.tangents is None


def test_tangents_of_turned_and_mirrored_images():
    square_uv = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], np.float32)
    positions = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    normals = [[0, 0, 1]] * 4
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    turned = np.roll(square_uv, -1, axis=0)  # u runs along +y, the image's up along -x
    mirrored = square_uv * (-1, 1)
    for uv, side in ((turned, 1), (mirrored, -1)):
        mesh = draw.Mesh(np.array(positions, np.float32), triangles, np.array(normals), uv=(uv, None))
        found = tangents(mesh)
        slope = np.linalg.solve(np.array([uv[1] - uv[0], uv[3] - uv[0]]), np.array([[1, 0], [0, 1.0]]))
        along = slope[0] / np.linalg.norm(slope[0])  # how the position moves with u
        assert np.allclose(found[:, :2], along, atol=1e-6)
        assert (found[:, 3] == side).all()


def test_tangents_where_nothing_says_which():
    """No coordinates, or coordinates without area: any unit vector across the normal."""
    rng = np.random.default_rng(3)
    positions = rng.random((9, 3)).astype(np.float32)
    triangles = np.arange(9).reshape(-1, 3)
    for uv in (None, np.zeros((9, 2), np.float32)):
        mesh = draw.Mesh(positions, triangles, uv=(uv, None))
        found = tangents(mesh)
        unit = mesh.normals / np.linalg.norm(mesh.normals, axis=1, keepdims=True)
        assert np.allclose(np.linalg.norm(found[:, :3], axis=1), 1, atol=1e-6)
        assert np.allclose((found[:, :3] * unit).sum(1), 0, atol=1e-6)


def test_smooth_tangents_cross_a_seam_in_the_vertices():
    """A cylinder whose vertices are doubled at u = 0 and u = 1: tangents there agree, and go round."""
    turn = np.linspace(0, 2 * np.pi, 17)
    ring = np.stack([np.cos(turn), np.sin(turn)], 1)
    ring[-1] = ring[0]
    low, high = (np.column_stack([ring, np.full(17, z)]) for z in (0.0, 1.0))
    positions = np.concatenate([low, high]).astype(np.float32)
    normals = np.concatenate([ring, ring])
    normals = np.column_stack([normals, np.zeros(34)])
    uv = np.stack([np.tile(turn / turn[-1], 2), np.repeat([1.0, 0.0], 17)], 1).astype(np.float32)
    i = np.arange(16)
    triangles = np.concatenate([np.stack([i, i + 1, i + 18], 1), np.stack([i, i + 18, i + 17], 1)])
    found = tangents(draw.Mesh(positions, triangles, normals, uv=(uv, None)))
    around = np.column_stack([-normals[:, 1], normals[:, 0]])
    inner = (np.arange(34) % 17 > 0) & (np.arange(34) % 17 < 16)
    assert np.allclose(found[inner, :2], around[inner], atol=1e-5)
    assert (found[:, 3] == 1).all()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda j: j["textures"][0].update(source=4), r"textures\[0\].source: there is no images\[4\]"),
        (lambda j: j["textures"][0].update(sampler=4), r"textures\[0\].sampler"),
        (lambda j: j["textures"][0].pop("source"), r"textures\[0\]: it has no source"),
        (lambda j: j["images"][0].pop("bufferView"), r"images\[0\]: it has neither"),
        (
            lambda j: j["images"].__setitem__(0, {"uri": "no.png"}),
            r"images\[0\].uri: 'no.png': there is no such",
        ),
        (lambda j: j["bufferViews"][-1].update(byteLength=40), r"images\[0\]: the image is broken"),
        (lambda j: j["images"][0].update(bufferView=0), r"images\[0\]: the image begins with"),
        (lambda j: j["materials"][0].update(alphaMode="GLASS"), r"materials\[0\].alphaMode: .*'GLASS'"),
        (lambda j: j["materials"][0].update(emissiveFactor=[2, 0, 0]), r"materials\[0\].emissiveFactor\[0\]"),
        (
            lambda j: j["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"].update(texCoord=2),
            r"baseColorTexture: it uses TEXCOORD_2",
        ),
    ],
)
def test_broken_materials_are_refused_by_their_place(tmp_path, change, path):
    writer = textured()
    change(writer.json)
    with pytest.raises(UserError, match=path) as error:
        material(writer, tmp_path)
    assert str(error.value).startswith("a.glb: ") and "\n" not in str(error.value)


def test_textures_are_drawn_from_a_triangle_without_coordinates(tmp_path):
    """What a texture would need may be missing: the file is read all the same."""
    writer = triangle(material=0)
    writer.add("materials", {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}})
    writer.add("textures", {"source": writer.image(PIXELS)})
    assert isinstance(writer, Writer) and material(writer, tmp_path).base_color_texture is not None
