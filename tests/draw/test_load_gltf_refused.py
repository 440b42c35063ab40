"""glTF files that lie: one line with file, JSON path and reason; bounded memory; no hang."""

import base64
import json
import os
import struct

import numpy as np
import pytest
from gltf_writer import TRIANGLE, Writer, square, triangle

from whygpu import draw
from whygpu.draw.load.budget import FACTOR, FLOOR
from whygpu.engine import UserError


def refuse(path, word):
    with pytest.raises(UserError, match=word) as error:
        draw.load(path)
    text = str(error.value)
    assert text.startswith(f"{path.name}: ") and "\n" not in text and len(text) < 400
    return text


LIES = [
    # asset and extensions
    (lambda j: j.pop("asset"), r"asset.version: it is missing"),
    (lambda j: j["asset"].update(version="1.0"), r"asset.version: this is glTF 1"),
    (lambda j: j["asset"].update(version="3.0"), r"asset.version: glTF '3.0'"),
    (lambda j: j["asset"].update(minVersion="2.7"), r"asset.version: glTF '2.0' \(at least '2.7'\)"),
    (lambda j: j.update(extensionsRequired=["KHR_wonder"]),
     r"extensionsRequired\[0\]: the file needs 'KHR_wonder'"),
    (lambda j: j.update(extensionsRequired=["EXT_meshopt_compression"]), r"gltfpack without -c"),
    # the schema
    (lambda j: j.update(nodes={"a": 1}), r"nodes: input should be a valid list, it is \{'a': 1\}"),
    (lambda j: j.update(materials={"a": 1}), r"materials: input should be a valid list"),
    (lambda j: j["meshes"][0].update(primitives=[]), r"meshes\[0\].primitives: list should have at least 1"),
    (lambda j: j["meshes"][0]["primitives"][0].pop("attributes"),
     r"primitives\[0\].attributes: this property"),
    (lambda j: j["meshes"][0]["primitives"][0].update(mode=7), r"primitives\[0\].mode"),
    (lambda j: j["nodes"][0].update(mesh="0"),
     r"nodes\[0\].mesh: input should be a valid integer, it is '0'"),
    (lambda j: j["nodes"][0].update(mesh=True), r"nodes\[0\].mesh"),
    (lambda j: j["nodes"][0].update(mesh=-1), r"nodes\[0\].mesh"),
    (lambda j: j["nodes"][0].update(matrix=[1, 2]), r"nodes\[0\].matrix"),
    (lambda j: j["accessors"][0].update(componentType=5124), r"accessors\[0\].componentType"),
    (lambda j: j["accessors"][0].update(count=0), r"accessors\[0\].count"),
    (lambda j: j["accessors"][0].update(count=2.5), r"accessors\[0\].count"),
    (lambda j: j["accessors"][0].update(type="VEC9"), r"accessors\[0\].type"),
    (lambda j: j["bufferViews"][0].update(byteStride=7), r"bufferViews\[0\].byteStride"),
    (lambda j: j["bufferViews"][0].update(byteOffset=-4), r"bufferViews\[0\].byteOffset"),
    # what names what
    (lambda j: j["nodes"][0].update(mesh=5),
     r"nodes\[0\].mesh: there is no meshes\[5\]; there are 1, from 0 to 0"),
    (lambda j: j.update(scene=3), r"scene: there is no scenes\[3\]"),
    (lambda j: j["scenes"][0].update(nodes=[8]), r"scenes\[0\].nodes\[0\]: there is no nodes\[8\]"),
    (lambda j: j["nodes"][0].update(children=[4]), r"nodes\[0\].children\[0\]: there is no nodes\[4\]"),
    (lambda j: j["nodes"][0].update(camera=0), r"nodes\[0\].camera: there is no cameras\[0\]; .*none at all"),
    (lambda j: j["meshes"][0]["primitives"][0].update(material=0), r"primitives\[0\].material: there is no"),
    (lambda j: j["meshes"][0]["primitives"][0].update(indices=9),
     r"primitives\[0\].indices: there is no accessors"),
    (lambda j: j["meshes"][0]["primitives"][0].update(indices=0),
     r"indices: accessors\[0\] is VEC3; it must be SCALAR"),
    (lambda j: j["meshes"][0]["primitives"][0]["attributes"].pop("POSITION"), r"it has no POSITION"),
    (lambda j: j["accessors"][0].update(bufferView=7), r"accessors\[0\].bufferView: there is no"),
    (lambda j: j["bufferViews"][0].update(buffer=7), r"bufferViews\[0\].buffer: there is no"),
    # sizes
    (lambda j: j["accessors"][0].update(count=4), r"accessors\[0\]: 4 elements end at byte 48"),
    (lambda j: j["accessors"][0].update(count=2**31 - 1), r"accessors\[0\]"),
    (lambda j: j["accessors"][0].update(count=2**31), r"accessors\[0\].count"),
    (lambda j: j["accessors"][0].update(byteOffset=4), r"accessors\[0\]: 3 elements end at byte 40"),
    (lambda j: j["accessors"][0].update(byteOffset=2**31 - 1), r"accessors\[0\]"),
    (lambda j: j["bufferViews"][0].update(byteStride=252), r"accessors\[0\]: 3 elements end at byte 516"),
    (lambda j: j["bufferViews"][0].update(byteStride=8),
     r"bufferViews\[0\].byteStride: 8; an element of .* 12 bytes"),
    (lambda j: j["bufferViews"][0].update(byteLength=2**31 - 1), r"bufferViews\[0\]: it ends at byte"),
    (lambda j: j["bufferViews"][0].update(byteOffset=8),
     r"bufferViews\[0\]: it ends at byte 44 of a buffer of 36"),
    (lambda j: (j["accessors"][0].pop("bufferView") and None) or j["accessors"][0].update(count=2**31 - 1),
     r"accessors\[0\]: 25,769,803,764 more bytes would take over 64 times"),
    # nodes
    (lambda j: j["nodes"][0].update(children=[0]), r"nodes\[0\].children: the node is its own ancestor"),
    (lambda j: j.update(nodes=[{"mesh": 0}, {"children": [2]}, {"children": [3]}, {"children": [1]}]),
     r"nodes\[\d\].children: the node is its own ancestor"),
    (lambda j: j.update(nodes=[{"children": [2]}, {"children": [2]}, {"mesh": 0}]),
     r"nodes\[1\].children\[0\]: nodes\[2\] already is a child of nodes\[0\]"),
    (lambda j: j["nodes"][0].update(rotation=[0, 0, 0, 0]), r"nodes\[0\].rotation: a quaternion of length 0"),
    (lambda j: j["nodes"][0].update(matrix=[1] * 16), r"nodes\[0\].matrix: its last row"),
    (lambda j: j["nodes"][0].update(translation=[1e308] * 3, scale=[1e308] * 3, children=[1])
     or j["nodes"].append({"mesh": 0, "scale": [1e308] * 3}), r"nodes: .*finite"),
    (lambda j: j["nodes"][0].pop("mesh"), r"scenes: the scene shows no mesh"),
    # cameras and lights
    (lambda j: j.update(cameras=[{"type": "perspective"}]) or j["nodes"][0].update(camera=0),
     r"cameras\[0\].perspective: this property is required"),
    (lambda j: j.update(cameras=[{"type": "perspective", "perspective": {"yfov": 9, "znear": 1}}]),
     r"cameras\[0\].perspective.yfov"),
    (lambda j: j.update(cameras=[{"type": "perspective", "perspective": {"yfov": 1, "znear": 2, "zfar": 1}}])
     or j["nodes"][0].update(camera=0), r"cameras\[0\].perspective.zfar"),
    (lambda j: j["nodes"][0].update(extensions={"KHR_lights_punctual": {"light": 2}}),
     r"there is no light 2"),
    (lambda j: j.update(extensions={"KHR_lights_punctual": {"lights": [{"type": "spot", "spot": {
        "innerConeAngle": 1, "outerConeAngle": 0.5}}]}})
     or j["nodes"][0].update(extensions={"KHR_lights_punctual": {"light": 0}}),
     r"extensions.KHR_lights_punctual.lights\[0\]: light: it must have reach > 0 and 0 <= inner < outer"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(LIES)))
def test_json_that_lies_is_refused_by_its_path(tmp_path, case):
    change, word = LIES[case]
    writer = triangle()
    change(writer.json)
    refuse(writer.glb(tmp_path / "a.glb"), word)


def test_numbers_that_are_none_are_refused(tmp_path):
    for bad in (np.nan, np.inf, -np.inf):
        writer = triangle()
        points = TRIANGLE.copy()
        points[1, 2] = bad
        writer.data[:] = points.tobytes()
        refuse(
            writer.glb(tmp_path / "a.glb"), r"accessors\[0\]: element 1 \(meshes\[0\].*POSITION\) is .*finite"
        )
    writer = triangle()
    writer.json["nodes"][0]["translation"] = [float("nan"), 0, 0]
    refuse(writer.gltf(tmp_path / "a.gltf"), "its JSON cannot be read")


def test_triangles_without_area_are_drawn_as_nothing(tmp_path):
    writer = triangle()
    writer.data[:] = np.zeros((3, 3), "f4").tobytes()
    scene = draw.load(writer.glb(tmp_path / "a.glb"))
    assert draw.render(scene, (16, 12), path="portable").statistics.pixels_lit == 0


def test_indices_out_of_range(tmp_path):
    for bad in (4, 65535):
        writer = square()
        writer.data[-12:] = np.array([0, 1, 2, 0, bad, 3], "u2").tobytes()
        word = rf"meshes\[0\].primitives\[0\].indices: element 4 names vertex {bad:,}; there are 4"
        refuse(writer.glb(tmp_path / "a.glb"), word)


def test_attributes_of_different_lengths(tmp_path):
    writer = square(NORMAL=np.ones((3, 3), "f4"))
    refuse(writer.glb(tmp_path / "a.glb"), r"attributes.NORMAL: accessors\[1\] has 3 elements; 4 are needed")


@pytest.mark.parametrize(
    ("places", "count", "word"),
    [
        ([2, 1], 2, "must grow"),
        ([1, 1], 2, "must grow"),
        ([1, 3], 2, "below 3"),
        ([0, 1, 2, 3], 4, "sparse.count"),
    ],
)
def test_sparse_accessors_that_lie(tmp_path, places, count, word):
    writer = triangle()
    writer.json["accessors"][0]["sparse"] = {
        "count": count,
        "indices": {"bufferView": writer.view(np.array(places, "u1").tobytes()), "componentType": 5121},
        "values": {"bufferView": writer.view(np.zeros((count, 3), "f4").tobytes())},
    }
    refuse(writer.glb(tmp_path / "a.glb"), rf"accessors\[0\].sparse.*{word}|accessors\[0\].{word}")
    writer.json["accessors"][0]["sparse"]["count"] = 2**31 - 1
    refuse(writer.glb(tmp_path / "a.glb"), r"accessors\[0\].sparse.count")


def glb():
    return triangle().bytes()


def with_length(data, at, value):
    return data[:at] + struct.pack("<I", value) + data[at + 4 :]


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "it is empty"),
        (b"{}", r"begins with b'\{\}'; a .glb begins with b'glTF'"),
        (b"hello, this is text and no binary file", "begins with b'hello, t'"),
        (glb()[:15], "it ends after 15 bytes"),
        (glb()[:100], "100 are there; it is cut short"),
        (glb()[:-1], "it is cut short"),
        (with_length(glb(), 4, 1), "of version 1"),
        (with_length(glb(), 8, 2**32 - 1), "4,294,967,295 bytes are announced"),
        (with_length(glb(), 12, 2**32 - 1), "chunk 0 at byte 12 has 4,294,967,295 bytes"),
        (with_length(glb(), 16, 0x004E4942), "first chunk is not JSON"),
        (with_length(glb(), 12, 4), "chunk 1 at byte 24 has .* past the end"),
    ],
)
def test_binary_files_that_lie(tmp_path, data, word):
    path = tmp_path / "a.glb"
    path.write_bytes(data)
    refuse(path, word)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "its JSON cannot be read"),
        (b"[1]", "its JSON is no object"),
        (b'{"asset":', "its JSON cannot be read"),
        (b"\xff\xfe\x00", "its JSON cannot be read"),
        (b"[" * 100_000, "its JSON cannot be read"),
        (b'{"a":' * 100_000, "its JSON cannot be read"),
        (b"9" * 100_000, "JSON"),
        (glb(), "a binary glTF; rename it to .glb"),
    ],
)
def test_text_files_that_lie(tmp_path, data, word):
    path = tmp_path / "a.gltf"
    path.write_bytes(data)
    refuse(path, word)


@pytest.mark.parametrize(
    ("uri", "word"),
    [
        ("none.bin", "'none.bin': there is no such file"),
        ("../a.bin", "leaves the scene's folder"),
        ("%2e%2e/a.bin", "leaves the scene's folder"),
        ("x/..\\a.bin", "leaves the scene's folder"),
        ("/etc/passwd", "is no relative path"),
        ("%2Fetc%2Fpasswd", "is no relative path"),
        ("C:\\a.bin", "is no relative path"),
        ("file:///etc/passwd", "is no relative path"),
        ("http://example.org/a.bin", "is no relative path"),
        ("a%00.bin", "leaves the scene's folder|no relative path"),
        ("link.bin", "leads out of the scene's folder"),
        (".", "no ordinary file"),
        ("", "leaves the scene's folder"),
        ("x" * 5000, "cannot be read|no such file|no path"),
        ("data:text/plain,hello", "a data URI must be"),
        ("data:application/octet-stream;base64", "a data URI must be"),
        ("data:;base64,@@@@", "the data URI is not base64"),
        ("data:;base64,AAA", "the data URI is not base64"),
        ("data:;base64,AAAA", "36 bytes are announced, 3 are there"),
    ],
)
def test_uris_that_lead_elsewhere(tmp_path, uri, word):
    folder = tmp_path / "scene"
    folder.mkdir()
    (tmp_path / "a.bin").write_bytes(bytes(36))
    (folder / "link.bin").symlink_to(tmp_path / "a.bin")
    refuse(triangle().gltf(folder / "a.gltf", uri), rf"buffers\[0\].uri.*({word})|buffers\[0\].*{word}")


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "a.glb")
    with pytest.raises(UserError, match="no ordinary file"):
        draw.load(tmp_path / "a.glb")


def test_a_buffer_without_data(tmp_path):
    writer = triangle()
    path = writer.gltf(tmp_path / "a.gltf")
    document = json.loads(path.read_text())
    document["buffers"][0].pop("uri")
    path.write_text(json.dumps(document))
    refuse(path, r"buffers\[0\]: it has no uri and the file no binary chunk")


def test_meshopt_without_a_fallback_is_refused_clearly(tmp_path):
    writer = triangle()
    writer.json["bufferViews"][0]["extensions"] = {"EXT_meshopt_compression": {"buffer": 0}}
    assert draw.load(writer.glb(tmp_path / "a.glb")).triangles == 1  # this one has a fallback
    writer.json["buffers"].append({"byteLength": 36})
    writer.json["bufferViews"][0]["buffer"] = 1
    refuse(writer.glb(tmp_path / "a.glb"), "EXT_meshopt_compression, which is not read; decompress")


def test_names_stay_on_one_line(tmp_path):
    writer = triangle()
    writer.json["extensionsRequired"] = ["a\nb" + "x" * 10_000]
    refuse(writer.glb(tmp_path / "a.glb"), "extensionsRequired")
    writer = triangle()
    writer.json["meshes"][0] = {"name": "a\nb", "primitives": [{"attributes": {"POSITION": "\n" * 9999}}]}
    refuse(writer.glb(tmp_path / "a.glb"), "attributes.POSITION")


def instances(count):
    """One mesh of 30,000 triangles, shown ``count`` times."""
    writer = Writer()
    rng = np.random.default_rng(5)
    positions = rng.random((90_000, 3), np.float32)
    writer.mesh(
        {"attributes": {"POSITION": writer.accessor(positions), "NORMAL": writer.accessor(positions)}}
    )
    writer.scene(*({"mesh": 0} for _ in range(count)))
    return writer


def test_a_mesh_shown_too_often_is_refused(tmp_path):
    assert draw.load(instances(20).glb(tmp_path / "a.glb")).triangles == 600_000
    refuse(instances(2000).glb(tmp_path / "a.glb"), "claims more than it holds")


BOMBS = """
import sys, base64
from pathlib import Path
from whygpu import draw
from whygpu.engine import UserError
limit({limit})
try:
    draw.load(Path(sys.stdin.read()))
except UserError as error:
    print(error)
else:
    print("loaded")
"""


@pytest.mark.parametrize("bomb", ["zeros", "accessors", "instances", "objects", "image"])
def test_memory_is_bounded(tmp_path, memory_limited, bomb):
    """Within the documented bound (and a quarter more, for the interpreter) nothing else can happen."""
    writer = triangle()
    if bomb == "zeros":
        writer.json["accessors"][0] = {"componentType": 5126, "count": 2**31 - 1, "type": "VEC3"}
    elif bomb == "accessors":  # a thousand of 12 MB each, of nothing
        primitives = [{"attributes": {"POSITION": i}} for i in range(1000)]
        writer.json["meshes"] = [{"primitives": primitives}]
        writer.json["accessors"] = [{"componentType": 5126, "count": 1_000_000, "type": "VEC3"}] * 1000
    elif bomb == "instances":
        writer = instances(3000)
    elif bomb == "objects":
        writer.json["nodes"] = [{}] * 2_000_000
    else:
        writer = square({"emissiveTexture": {"index": 0}})
        writer.image(np.zeros((16000, 8000), np.uint8))
        writer.add("textures", {"source": 0})
    path = writer.glb(tmp_path / "a.glb")
    size = FLOOR + FACTOR * path.stat().st_size
    said = memory_limited(BOMBS.format(limit=(size >> 20) * 5 // 4), str(path))
    assert said.startswith("a.glb: ") and said.count("\n") == 1


def test_base64_is_read_within_its_budget(tmp_path):
    data = base64.b64encode(bytes(3_000_000)).decode()
    writer = triangle()
    writer.announced = 36
    path = writer.gltf(tmp_path / "a.gltf", "data:;base64," + data)
    assert draw.load(path).triangles == 1


def test_the_command_line_says_it_in_one_line(tmp_path, whygpu):
    path = triangle().glb(tmp_path / "a.glb")
    path.write_bytes(path.read_bytes()[:-5])
    done = whygpu("draw", str(path), "-o", str(tmp_path / "a.png"))
    assert done.returncode == 2 and done.stdout == "" and not (tmp_path / "a.png").exists()
    assert "a.glb: " in done.stderr and "Traceback" not in done.stderr
