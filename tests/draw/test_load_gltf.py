"""glTF: geometry. Expected values come from the specification's formulas and tables."""

import json

import numpy as np
import pytest
from gltf_writer import SQUARE, SQUARE_INDICES, TRIANGLE, Writer, square, triangle

from whygpu import draw
from whygpu.engine import UserError


def load(writer, tmp_path):
    return draw.load(writer.glb(tmp_path / "a.glb"))


def only(writer, tmp_path):
    (node,) = load(writer, tmp_path).nodes
    return node.mesh


def world(node):
    return node.mesh.positions @ node.transform[:3, :3].T + node.transform[:3, 3]


def test_both_containers_hold_the_same(tmp_path):
    binary = draw.load(square().glb(tmp_path / "a.glb"))
    text = draw.load(square().gltf(tmp_path / "b.gltf"))
    writer = square()
    (tmp_path / "a box.bin").write_bytes(writer.data)
    beside = draw.load(writer.gltf(tmp_path / "c.gltf", uri="a%20box.bin"))
    for scene in (text, beside):
        assert np.array_equal(scene.nodes[0].mesh.positions, binary.nodes[0].mesh.positions)
    assert (binary.name, binary.triangles, binary.vertices) == ("a", 2, 4)


def test_a_file_in_unicode_with_a_byte_order_mark(tmp_path):
    writer = triangle()
    writer.json["meshes"][0]["name"] = "鸭子 \u2764"
    path = writer.gltf(tmp_path / "鸭.gltf")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert draw.load(str(path)).nodes[0].mesh.name == "鸭子 \u2764"


def test_interleaved_attributes(tmp_path):
    writer = Writer()
    rows = np.zeros(3, [("p", "f4", 3), ("c", "u1", 4), ("n", "f4", 3), ("pad", "u1", 8)])
    rows["p"], rows["c"], rows["n"] = TRIANGLE, [[255, 0, 51, 255]] * 3, [0, 0, 2]
    view = writer.view(rows.tobytes(), byteStride=36)
    places = {"POSITION": (0, 5126, "VEC3"), "COLOR_0": (12, 5121, "VEC4"), "NORMAL": (16, 5126, "VEC3")}
    attributes = {
        name: writer.add(
            "accessors",
            {"bufferView": view, "byteOffset": at, "componentType": kind, "count": 3, "type": shape,
             "normalized": kind == 5121},
        )
        for name, (at, kind, shape) in places.items()
    }  # fmt: skip
    writer.mesh({"attributes": attributes})
    writer.scene({"mesh": 0})
    mesh = only(writer, tmp_path)
    assert np.array_equal(mesh.positions, TRIANGLE)
    assert np.array_equal(mesh.normals, [[0, 0, 2]] * 3)
    assert np.allclose(mesh.colors, [[1, 0, 0.2, 1]] * 3, atol=1e-7)


@pytest.mark.parametrize(
    ("dtype", "stored", "wanted"),
    [  # section 3.11: c / 127, c / 255, c / 32767, c / 65535, at least -1
        ("i1", [-128, -127, 0, 127], [-1, -1, 0, 1]),
        ("u1", [0, 51, 255, 0], [0, 0.2, 1, 0]),
        ("i2", [-32768, -32767, 0, 32767], [-1, -1, 0, 1]),
        ("u2", [0, 13107, 65535, 0], [0, 0.2, 1, 0]),
    ],
)
def test_normalised_integers(tmp_path, dtype, stored, wanted):
    tangents = np.tile(np.array(stored, dtype), (3, 1))
    writer = triangle()
    normals = writer.accessor(np.tile(np.array([0, 0, 1], "f4"), (3, 1)))
    writer.json["meshes"][0]["primitives"][0]["attributes"] |= {
        "NORMAL": normals,
        "TANGENT": writer.accessor(tangents, normalized=True),
    }
    assert np.allclose(only(writer, tmp_path).tangents, [wanted] * 3, atol=1e-7)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
def test_quantised_positions(tmp_path, dtype):
    """KHR_mesh_quantization: integers as they are, scaled by the node."""
    writer = Writer()
    padded = np.zeros((3, 4), dtype)
    padded[:, :3] = TRIANGLE * 100
    stride = padded.itemsize * 4
    view = writer.view(padded.tobytes(), byteStride=stride)
    kind = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123}[dtype]
    position = {"bufferView": view, "componentType": kind, "count": 3, "type": "VEC3"}
    writer.json["extensionsRequired"] = ["KHR_mesh_quantization"]
    writer.mesh({"attributes": {"POSITION": writer.add("accessors", position)}})
    writer.scene({"mesh": 0, "scale": [0.01, 0.01, 0.01]})
    (node,) = load(writer, tmp_path).nodes
    assert np.array_equal(node.mesh.positions, TRIANGLE * 100)
    assert np.allclose(world(node), TRIANGLE)


def test_sparse_accessors_with_and_without_a_base(tmp_path):
    for base in (True, False):
        writer = Writer()
        places = writer.view(np.array([1, 2], "u2").tobytes())
        values = writer.view(np.array([[5, 0, 0], [0, 6, 0]], "f4").tobytes())
        accessor = {
            "componentType": 5126,
            "count": 3,
            "type": "VEC3",
            "sparse": {
                "count": 2,
                "indices": {"bufferView": places, "componentType": 5123},
                "values": {"bufferView": values},
            },
        }
        if base:
            accessor["bufferView"] = writer.view(np.ones((3, 3), "f4").tobytes())
        writer.mesh({"attributes": {"POSITION": writer.add("accessors", accessor)}})
        writer.scene({"mesh": 0})
        first = [1, 1, 1] if base else [0, 0, 0]
        assert np.array_equal(only(writer, tmp_path).positions, [first, [5, 0, 0], [0, 6, 0]])


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4"])
def test_indices_of_every_type(tmp_path, dtype):
    writer = Writer()
    positions = writer.accessor(SQUARE)
    normals = writer.accessor(np.ones((4, 3), "f4"))
    indices = writer.accessor(SQUARE_INDICES.astype(dtype))
    writer.mesh({"attributes": {"POSITION": positions, "NORMAL": normals}, "indices": indices})
    writer.scene({"mesh": 0})
    assert np.array_equal(only(writer, tmp_path).triangles, [[0, 1, 2], [0, 2, 3]])


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize(
    ("mode", "what", "wanted"),
    [  # section 3.7.2.1, written out for the vertices 0 to 5
        (0, "points", [0, 1, 2, 3, 4, 5]),
        (1, "lines", [[0, 1], [2, 3], [4, 5]]),
        (2, "lines", [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]]),
        (3, "lines", [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]),
        (4, "triangles", [[0, 1, 2], [3, 4, 5]]),
        (5, "triangles", [[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 5, 4]]),
        (6, "triangles", [[1, 2, 0], [2, 3, 0], [3, 4, 0], [4, 5, 0]]),
    ],
)
def test_every_primitive_mode(tmp_path, mode, what, wanted, indexed):
    positions = np.random.default_rng(1).random((6, 3)).astype("f4")
    order = np.array([5, 3, 1, 0, 2, 4], "u1") if indexed else np.arange(6)
    writer = Writer()
    attributes = {
        "POSITION": writer.accessor(positions),
        "NORMAL": writer.accessor(np.ones((6, 3), "f4")),
    }
    extra = {"indices": writer.accessor(order)} if indexed else {}
    writer.mesh({"attributes": attributes, "mode": mode, **extra})
    writer.scene({"mesh": 0})
    mesh = only(writer, tmp_path)
    assert np.array_equal(getattr(mesh, what), order[np.array(wanted)])
    assert (
        sum(found is not None and len(found) > 0 for found in (mesh.triangles, mesh.lines, mesh.points)) == 1
    )


def test_what_is_left_over_draws_nothing(tmp_path):
    for mode, count in ((4, 1), (1, 2), (5, 2), (6, 2)):
        writer = Writer()
        positions = np.random.default_rng(2).random((4, 3)).astype("f4")
        writer.mesh({"attributes": {"POSITION": writer.accessor(positions)}, "mode": mode})
        writer.scene({"mesh": 0})
        mesh = only(writer, tmp_path)
        assert len(mesh.triangles if mode >= 4 else mesh.lines) == count


def test_without_normals_faces_are_flat(tmp_path):
    """Section 3.7.2.1: two faces at right angles share no vertex any more."""
    writer = Writer()
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "f4")
    writer.mesh(
        {
            "attributes": {
                "POSITION": writer.accessor(corners),
                "COLOR_0": writer.accessor(np.arange(12, dtype="f4").reshape(4, 3) / 12),
                "TEXCOORD_1": writer.accessor(corners[:, :2].copy()),
            },
            "indices": writer.accessor(np.array([0, 1, 2, 0, 3, 1], "u1")),
        }
    )
    writer.scene({"mesh": 0})
    mesh = only(writer, tmp_path)
    assert np.array_equal(mesh.positions, corners[[0, 1, 2, 0, 3, 1]])
    assert np.allclose(mesh.normals, [[0, 0, 1]] * 3 + [[0, 1, 0]] * 3)
    assert np.array_equal(mesh.uv[1], corners[[0, 1, 2, 0, 3, 1], :2]) and mesh.uv[0] is None
    assert np.allclose(mesh.colors[5], [3 / 12, 4 / 12, 5 / 12, 1])


def test_points_and_lines_without_normals_are_not_lit(tmp_path):
    assert only(triangle(mode=0), tmp_path).material.unlit
    assert only(triangle(mode=3), tmp_path).material.unlit
    assert not only(triangle(), tmp_path).material.unlit


@pytest.mark.parametrize(("dtype", "full"), [("f4", 1), ("u1", 255), ("u2", 65535)])
@pytest.mark.parametrize("width", [3, 4])
def test_vertex_colours_of_every_type(tmp_path, dtype, full, width):
    colors = np.array([[1, 0, 0.2, 0.6]] * 3)[:, :width] * full
    colors = (colors if dtype == "f4" else colors.round()).astype(dtype)
    writer = triangle()
    if dtype != "f4":  # rows begin at multiples of four bytes
        colors = np.concatenate([colors, np.zeros((3, 4 - width), dtype)], 1)
    index = writer.accessor(colors, normalized=dtype != "f4", type=f"VEC{width}")
    writer.json["bufferViews"][-1]["byteStride"] = colors.itemsize * colors.shape[1]
    writer.json["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"] = index
    wanted = [1, 0, 0.2, 0.6 if width == 4 else 1]
    assert np.allclose(only(writer, tmp_path).colors, [wanted] * 3, atol=1e-6)


def test_nested_nodes_matrices_and_turns(tmp_path):
    """A chain of translation, a quarter turn about z as a quaternion, scale, and a matrix by columns."""
    writer = triangle()
    half = float(np.sqrt(0.5))
    writer.json["nodes"] = [
        {"children": [1], "translation": [10, 0, 0]},
        {"children": [2, 3], "rotation": [0, 0, half, half], "scale": [2, 3, 4]},
        {"mesh": 0, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 0, 0, 1]},
        {"mesh": 0},
    ]
    writer.json["scenes"] = [{"nodes": [0]}]
    scene = load(writer, tmp_path)
    shifted, plain = (world(node) for node in scene.nodes)
    # (x, y, 0) -> scaled (2 x, 3 y, 0) -> turned (-3 y, 2 x, 0) -> shifted (10 - 3 y, 2 x, 0)
    assert np.allclose(plain, [[10, 0, 0], [10, 2, 0], [7, 0, 0]], atol=1e-6)
    assert np.allclose(shifted, [[10, 10, 0], [10, 12, 0], [7, 10, 0]], atol=1e-6)
    assert scene.nodes[0].mesh is scene.nodes[1].mesh


def test_negative_scale_keeps_the_front(tmp_path):
    """Mirrored by its node, a square is still seen from its front."""
    for scale in ([1, 1, 1], [-1, 1, 1], [-1, -1, -1]):
        writer = square()
        writer.json["nodes"][0]["scale"] = scale
        scene = load(writer, tmp_path)
        from_front = draw.Camera((0.5 * scale[0], 0.5 * scale[1], 3.0 * scale[2]),
                                 (0.5 * scale[0], 0.5 * scale[1], 0.0))  # fmt: skip
        assert draw.render(scene, (32, 32), camera=from_front, path="portable").statistics.pixels_lit > 100


def test_only_the_chosen_scene_is_shown(tmp_path):
    writer = triangle()
    writer.json["nodes"] = [{"mesh": 0, "name": "a"}, {"mesh": 0, "translation": [1, 0, 0]}]
    writer.json["scenes"] = [{"nodes": [0]}, {"nodes": [1]}]
    for chosen, x in ((None, 0), (0, 0), (1, 1)):
        if chosen is not None:
            writer.json["scene"] = chosen
        (node,) = load(writer, tmp_path).nodes
        assert node.transform[0, 3] == x
    writer.json.pop("scene")
    writer.json.pop("scenes")
    assert len(load(writer, tmp_path).nodes) == 2


def test_cameras(tmp_path):
    writer = triangle()
    for camera in (
        {"type": "perspective", "perspective": {"yfov": 0.7, "znear": 0.5, "zfar": 9}, "name": "near"},
        {"type": "perspective", "perspective": {"yfov": np.pi / 3, "znear": 0.01, "aspectRatio": 2}},
        {"type": "orthographic", "orthographic": {"xmag": 3, "ymag": 2, "znear": 0, "zfar": 5}},
    ):
        writer.add("cameras", camera)
    half = float(np.sqrt(0.5))
    turned = {"rotation": [0, half, 0, half]}  # -z becomes -x
    for i, where in enumerate(({"translation": [0, 0, 4]}, {"translation": [7, 0, 0], **turned}, {})):
        writer.json["nodes"].append({"camera": i, "name": f"node {i}", **where})
        writer.json["scenes"][0]["nodes"].append(i + 1)
    near, infinite, flat = load(writer, tmp_path).cameras
    assert (near.name, near.eye, near.near, near.far) == ("near", (0, 0, 4), 0.5, 9)
    assert near.fov == pytest.approx(np.degrees(0.7)) and near.target[2] < 4 and near.target[:2] == (0, 0)
    assert infinite.name == "node 1" and infinite.fov == pytest.approx(60)
    assert infinite.far > 7 and np.allclose(np.subtract(infinite.target, infinite.eye)[1:], 0, atol=1e-9)
    assert infinite.target[0] < 7
    assert flat.height == 4
    seen = draw.render(load(writer, tmp_path), (64, 64), camera=near, path="portable")
    assert seen.statistics.pixels_lit > 20


def test_lights_in_lux_and_candela(tmp_path):
    writer = triangle()
    lights = [
        {"type": "directional", "intensity": np.pi, "color": [1, 0.5, 0]},
        {"type": "point", "intensity": 2 * np.pi, "range": 8},
        {"type": "spot", "spot": {"innerConeAngle": 0.1, "outerConeAngle": 0.2}},
        {"type": "spot"},
    ]
    writer.json["extensions"] = {"KHR_lights_punctual": {"lights": lights}}
    half = float(np.sqrt(0.5))
    for i in range(4):
        node = {"extensions": {"KHR_lights_punctual": {"light": i}}, "translation": [i, 2, 3]}
        node |= {"rotation": [-half, 0, 0, half]} if i == 0 else {}  # -z becomes -y
        writer.json["nodes"].append(node)
        writer.json["scenes"][0]["nodes"].append(i + 1)
    sun, point, spot, wide = load(writer, tmp_path).lights
    assert sun.kind == "directional" and np.allclose(sun.direction, (0, -1, 0), atol=1e-7)
    assert np.allclose(sun.color, (1, 0.5, 0))
    assert (point.kind, point.position, point.reach) == ("point", (1, 2, 3), 8)
    assert np.allclose(point.color, (2, 2, 2))
    assert spot.inner == pytest.approx(np.degrees(0.1)) and spot.outer == pytest.approx(np.degrees(0.2))
    assert wide.outer == pytest.approx(45) and wide.inner == 0 and wide.reach == np.inf
    assert load(triangle(), tmp_path).lights is None


def test_unknown_optional_parts_are_passed_over(tmp_path):
    writer = triangle()
    writer.json |= {"extensionsUsed": ["X_new"], "extensions": {"X_new": 3}, "extras": [1]}
    writer.json["nodes"][0]["extensions"] = {"X_new": {}}
    writer.json["accessors"][0]["count"] = 3.0  # JSON has one kind of number
    assert load(writer, tmp_path).triangles == 1


def test_z_up_is_turned(tmp_path):
    writer = triangle()
    path = writer.glb(tmp_path / "a.glb")
    (node,) = draw.load(path, up="z").nodes
    assert np.allclose(world(node), [[0, 0, 0], [1, 0, 0], [0, 0, -1]])  # (x, y, z) becomes (x, z, -y)


@pytest.mark.parametrize("kind", ["float", "quantised"])
def test_draco(tmp_path, kind):
    """A sphere compressed by the DracoPy package; quantised to 14 bits of its extent."""
    draco = pytest.importorskip("DracoPy")
    mesh = draw.load("sphere:3").nodes[0].mesh
    data = draco.encode(
        mesh.positions, mesh.triangles.astype(np.uint32), preserve_order=kind == "float",
        quantization_bits=14, normals=mesh.normals.astype(np.float64),
    )  # fmt: skip
    numbers = {a["attribute_type"]: a["unique_id"] for a in draco.decode(data).attributes}
    writer = Writer()
    count = len(mesh.positions)
    accessor = {"componentType": 5126, "count": count, "type": "VEC3"}
    attributes = {"POSITION": writer.add("accessors", accessor), "NORMAL": writer.add("accessors", accessor)}
    index = {"componentType": 5123, "count": mesh.triangles.size, "type": "SCALAR"}
    extension = {
        "bufferView": writer.view(data),
        "attributes": {"POSITION": numbers[0], "NORMAL": numbers[1]},
    }
    writer.mesh(
        {
            "attributes": attributes,
            "indices": writer.add("accessors", index),
            "extensions": {"KHR_draco_mesh_compression": extension},
        }
    )
    writer.scene({"mesh": 0})
    writer.json["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    found = only(writer, tmp_path)
    assert found.triangles.shape == mesh.triangles.shape
    assert np.abs(np.linalg.norm(found.positions, axis=1) - 1).max() < 2 * 2 / 2**14
    assert np.allclose(found.positions, found.normals, atol=0.02)
    writer.json["accessors"][2]["count"] = 3
    with pytest.raises(UserError, match="triangles; 3 indices"):
        load(writer, tmp_path)


def test_trimesh_reads_the_same_positions(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    path = square().glb(tmp_path / "a.glb")
    peer = next(iter(trimesh.load(path, process=False).geometry.values()))
    mesh = draw.load(path).nodes[0].mesh
    assert np.array_equal(peer.vertices, mesh.positions) and np.array_equal(peer.faces, mesh.triangles)


def test_names_and_json_are_found_in_the_writer(tmp_path):
    """The writer itself writes what the specification's container format says."""
    data = triangle().bytes()
    assert data[:4] == b"glTF" and int.from_bytes(data[8:12], "little") == len(data)
    length = int.from_bytes(data[12:16], "little")
    assert json.loads(data[20 : 20 + length])["asset"]["version"] == "2.0"
