"""Valid files, changed at random: a scene or one line of error comes out, within bounds of time and memory.

300 inputs of each kind with `make test`, 10,000 with HYPOTHESIS_PROFILE=nightly (see tests/conftest.py).
"""

import copy
import json
import math
import sys
import time

import numpy as np
import pytest
from gltf_writer import Writer, square
from hypothesis import given
from hypothesis import strategies as st

from whygpu import draw
from whygpu.draw.load.budget import FACTOR, FLOOR
from whygpu.engine import UserError

SECONDS = 20
"""Far more than any small file takes, on a busy machine too."""


def rich():
    """Everything that a glTF file may hold, in one."""
    writer = square({"pbrMetallicRoughness": {"baseColorTexture": {
        "index": 0, "extensions": {"KHR_texture_transform": {"offset": [0.5, 0]}}}},
        "normalTexture": {"index": 0}, "alphaMode": "BLEND"})  # fmt: skip
    writer.add("textures", {"source": writer.image(np.arange(64).reshape(4, 4, 4)), "sampler": 0})
    writer.add("samplers", {"wrapS": 33071, "minFilter": 9984})
    primitive = writer.json["meshes"][0]["primitives"][0]
    primitive["attributes"] |= {
        "JOINTS_0": writer.accessor(np.array([[0, 1, 0, 0]] * 4, "u1")),
        "WEIGHTS_0": writer.accessor(np.array([[0.5, 0.5, 0, 0]] * 4, "f4")),
        "COLOR_0": writer.accessor(np.full((4, 4), 200, "u1"), normalized=True),
    }
    delta = {
        "componentType": 5126, "count": 4, "type": "VEC3",
        "sparse": {
            "count": 1,
            "indices": {"bufferView": writer.view(b"\2\0"), "componentType": 5123},
            "values": {"bufferView": writer.view(np.ones(3, "f4").tobytes())},
        },
    }  # fmt: skip
    primitive["targets"] = [{"POSITION": writer.add("accessors", delta)}]
    positions = primitive["attributes"]["POSITION"]
    writer.mesh({"attributes": {"POSITION": positions}, "mode": 6})
    writer.mesh({"attributes": {"POSITION": positions}, "mode": 2})
    writer.json["nodes"] = [
        {"mesh": 0, "skin": 0},
        {"children": [2, 3, 4]},
        {"translation": [0, 1, 0], "extensions": {"KHR_lights_punctual": {"light": 0}}},
        {"mesh": 1, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 0, 0, 1]},
        {"mesh": 2, "camera": 0},
    ]
    writer.json["scenes"] = [{"nodes": [0, 1]}]
    writer.add("cameras", {"type": "perspective", "perspective": {"yfov": 1, "znear": 0.1}})
    matrices = np.tile(np.eye(4, dtype="f4").reshape(1, 16), (2, 1))
    writer.add("skins", {"joints": [1, 2], "inverseBindMatrices": writer.accessor(matrices)})
    writer.json["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": "spot"}]}}
    times = writer.accessor(np.array([0, 1], "f4"))
    turns = writer.accessor(np.array([[0, 0, 0, 1], [1, 0, 0, 0]], "f4"))
    weights = writer.accessor(np.array([0, 0, 0, 0, 1, 0], "f4"))
    writer.add("animations", {
        "samplers": [{"input": times, "output": turns},
                     {"input": times, "output": weights, "interpolation": "CUBICSPLINE"}],
        "channels": [{"sampler": 0, "target": {"node": 2, "path": "rotation"}},
                     {"sampler": 1, "target": {"node": 0, "path": "weights"}}],
    })  # fmt: skip
    return writer


RICH = rich()
OBJ = b"""mtllib a.mtl
v 0 0 0 1 0 0
v 1 0 0 1 1 0
v 1 1 0 0 0 1
v 0 1 0.5 1 1 1
vt 0 0
vt 1 0.5
vn 0 0 1
s 1
usemtl red
f 1/1/1 2/2/1 3/1/1 4/2/1
f -1 -2 -4
s off
f 1//1 3//1 4//1
usemtl blue
f 1/1 2/2 4/1
l 1 2 3
p 1 4
"""
MTL = b"newmtl red\nKd 1 0 0\nd 0.5\nNs 10\nmap_Kd -s 2 2 -clamp on a.png\nnewmtl blue\nKe 0 0 1\nPr 0.5\n"


def ply(kind):
    head = (
        b"ply\nformat "
        + kind
        + b""" 1.0
element vertex 3
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
element face 2
property list uchar int vertex_indices
end_header
"""
    )
    if kind == b"ascii":
        return head + b"0 0 0 1 2 3\n1 0 0 4 5 6\n0 1 0 7 8 9\n3 0 1 2\n4 0 1 2 0\n"
    order = "<" if b"little" in kind else ">"
    rows = np.zeros(3, [("p", order + "f4", 3), ("c", "u1", 3)])
    rows["p"] = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    faces = b"\3" + np.array([0, 1, 2], order + "i4").tobytes()
    return head + rows.tobytes() + faces + b"\4" + np.array([0, 1, 2, 0], order + "i4").tobytes()


FACET = b"facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
STL = b"solid a\n" + 2 * FACET + b"endsolid\n"
RECORD = np.array([0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0], "<f4").tobytes() + b"\0\0"
BINARY_STL = b"binary".ljust(80) + b"\2\0\0\0" + 2 * RECORD

PLAIN = {
    "obj": OBJ,
    "mtl": MTL,
    "ply": ply(b"ascii"),
    "little.ply": ply(b"binary_little_endian"),
    "big.ply": ply(b"binary_big_endian"),
    "stl": STL,
    "binary.stl": BINARY_STL,
}

WORDS = [b"", b"\0", b"\xff" * 4, b"\x00\x00\x00\x80", b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f",
         b"4294967295", b"-1", b"nan", b"1e999", b"\n", b" ", b"/", b"#", b"0",
         b"99999999999999999999"]  # fmt: skip
changes = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(["put", "insert", "cut", "double"]),
              st.one_of(st.sampled_from(WORDS), st.binary(max_size=6)), st.integers(1, 40)),
    min_size=1, max_size=5,
)  # fmt: skip


def changed(data, steps):
    """``data`` with bytes written over, put in, cut out or doubled."""
    for place, kind, word, length in steps:
        at = int(place * len(data))
        if kind == "put":
            data = data[:at] + word + data[at + len(word) :]
        elif kind == "insert":
            data = data[:at] + word + data[at:]
        elif kind == "cut":
            data = data[:at] + data[at + length :]
        else:
            data = data[: at + length] + data[at:]
    return data


numbers = st.one_of(
    st.sampled_from(
        [0, 1, -1, 2, 5, 255, 2**31 - 1, 2**31, 2**63, 0.5, 1e-300, 1e30, 1e308, -1e308, 5126, 5121, 4, 36]
    ),
    st.integers(-3, 70),
)
values = st.one_of(
    numbers,
    st.sampled_from(
        [None, True, "", "a\nb", "VEC3", "SCALAR", "MAT4", "LINEAR", "data:;base64,AAAA", "../x", {}, []]
    ),
    st.lists(numbers, max_size=17),
)
edits = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(["set", "drop", "copy"]), values), min_size=1, max_size=4
)


def places(tree, found):
    """Every (container, key) of a JSON tree."""
    for key, item in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        found.append((tree, key))
        if isinstance(item, dict | list):
            places(item, found)
    return found


def edited(tree, steps):
    """A copy of a JSON document with parts set, left out or copied from elsewhere in it."""
    tree = copy.deepcopy(tree)
    for place, kind, value in steps:
        there = places(tree, [])
        container, key = there[min(int(place * len(there)), len(there) - 1)]
        if kind == "set":
            container[key] = value
        elif kind == "drop":
            del container[key]
        else:
            other, name = there[int(place * 7919 * len(there)) % len(there)]
            container[key] = copy.deepcopy(other[name])
    return tree


@pytest.fixture(autouse=True)
def bounded_memory():
    """Whoever allocates beyond the documented bound gets a MemoryError, and fails."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    with open("/proc/self/statm") as statm:  # noqa: PTH123
        pages = int(statm.read().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + FLOOR + FACTOR * (1 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def survives(path):
    """Load it; where that works, pose it and gather its buffers."""
    started = time.perf_counter()
    try:
        scene = draw.load(path)
    except UserError as error:
        text = str(error)
        assert "\n" not in text and text.startswith(path.name) and len(text) < 600
        scene = None
    try:
        if scene is not None and scene.rig is not None:
            scene = scene.rig.at(scene, 0.3)
    except UserError as error:
        assert "\n" not in str(error)
    if scene is not None:
        assert scene.geometry.vertex_start[-1] == scene.vertices
        assert all(math.isfinite(part) for camera in scene.cameras for part in camera.eye)
    assert time.perf_counter() - started < SECONDS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("fuzz")
    (place / "a.png").write_bytes(b"no image")
    return place


def test_what_is_changed_is_valid(folder):
    scene = draw.load(RICH.glb(folder / "rich.glb"))
    assert len(scene.nodes) == 3 and len(scene.rig.animations) == 1 and scene.cameras and scene.lights
    for name, data in PLAIN.items():
        if name != "mtl":
            path = folder / f"valid.{name}"
            path.write_bytes(data)
            draw.load(path)


@given(changes)
def test_changed_bytes_of_a_glb(folder, steps):
    path = folder / "bytes.glb"
    path.write_bytes(changed(RICH.bytes(), steps))
    survives(path)


@given(edits)
def test_changed_json(folder, steps):
    writer = Writer()
    writer.data, writer.json = RICH.data, edited(RICH.json, steps)
    path = folder / "json.glb"
    try:
        data = writer.bytes()
    except (KeyError, IndexError, TypeError, AttributeError):  # the writer itself needs a buffer
        data = b"glTF" + json.dumps(writer.json).encode()
    path.write_bytes(data)
    survives(path)


@given(changes)
@pytest.mark.parametrize("name", PLAIN)
def test_changed_plain_files(folder, name, steps):
    path = folder / f"plain.{name}"
    data = changed(PLAIN[name], steps)
    if name == "mtl":
        (folder / "a.mtl").write_bytes(data)
        path, data = folder / "with.obj", OBJ
    path.write_bytes(data)
    survives(path)
