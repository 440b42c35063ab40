"""OBJ, PLY, STL and the teapot."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from whygpu import draw
from whygpu.draw.load.corners import fans
from whygpu.draw.shapes.teapot import patches, teapot
from whygpu.engine import UserError


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def one(path):
    (node,) = draw.load(path).nodes
    return node.mesh


def srgb(value):
    """IEC 61966-2-1."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


# OBJ

SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"


@pytest.mark.parametrize("face", ["1 2 3 4", "-4 -3 -2 -1", "1/1/1 2/2/1 3/3/1 4/4/1",
                                  "1//1 2//1 3//1 4//1", "1/1 2/2 3/3 4/4", "1// 2// 3// 4//",
                                  "-4/-4/-1 -3/-3/-1 -2/-2/-1 -1/-1/-1"])  # fmt: skip
def test_obj_faces_in_every_form(tmp_path, face):
    text = SQUARE + "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 1\n" + f"f {face}\n"
    mesh = one(write(tmp_path, "a.obj", text))
    assert np.array_equal(mesh.positions[mesh.triangles], np.array(
        [[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]]
    ))  # fmt: skip
    assert len(mesh.positions) == 4 and np.array_equal(mesh.normals, [[0, 0, 1]] * 4)
    if "/1" in face.replace("//", "") or "/-1" in face.replace("//", ""):
        assert np.array_equal(mesh.uv[0], [[0, 1], [1, 1], [1, 0], [0, 0]])  # v runs down


def test_obj_negative_indices_count_from_where_they_stand(tmp_path):
    text = SQUARE + "f -4 -3 -2\n" + "v 5 5 5\n" + "f -2 -4 -1\n"
    mesh = one(write(tmp_path, "a.obj", text))
    assert np.array_equal(mesh.positions[mesh.triangles[1]], [[0, 1, 0], [1, 0, 0], [5, 5, 5]])


def test_obj_normals_flat_smooth_and_given(tmp_path):
    """Two faces at a right angle along the y axis: flat without a group, 45 degrees within one."""
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 -1\n"
    faces = "f 1 2 3\nf 1 3 4\n"  # normals +z and -x
    flat = one(write(tmp_path, "a.obj", corners + faces))
    assert len(flat.positions) == 6
    assert np.allclose(flat.normals[flat.triangles], [[[0, 0, 1]] * 3, [[-1, 0, 0]] * 3])
    smooth = one(write(tmp_path, "b.obj", corners + "s 1\n" + faces))
    assert len(smooth.positions) == 4
    half = np.sqrt(0.5)
    assert np.allclose(smooth.normals[smooth.triangles[0, 0]], [-half, 0, half], atol=1e-6)
    apart = one(write(tmp_path, "c.obj", corners + "s 1\nf 1 2 3\ns 2\nf 1 3 4\n"))
    assert np.allclose(apart.normals[apart.triangles], [[[0, 0, 1]] * 3, [[-1, 0, 0]] * 3])
    off = one(write(tmp_path, "d.obj", corners + "s 1\ns off\n" + faces))
    assert np.allclose(off.normals, flat.normals)


def test_obj_vertex_colours_are_srgb(tmp_path):
    text = "v 0 0 0 1 0.5 0\nv 1 0 0 0 0 0.04\nv 0 1 0 1 1 1\nf 1 2 3\n"
    mesh = one(write(tmp_path, "a.obj", text))
    wanted = [[1, srgb(0.5), 0, 1], [0, 0, srgb(0.04), 1], [1, 1, 1, 1]]
    assert np.allclose(mesh.colors, wanted, atol=1e-6)
    some = one(write(tmp_path, "b.obj", "v 0 0 0 255 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"))
    assert np.allclose(some.colors, [[1, 0, 0, 1], [1, 1, 1, 1], [1, 1, 1, 1]])


def test_obj_materials_groups_lines_and_points(tmp_path):
    write(tmp_path, "my library.mtl", """# comment
newmtl red paint
Kd 1 0 0
d 0.5
Ns 98
Ke 0 0.5 0
newmtl map
map_Kd -s 2 3 -o 0.25 0.5 -clamp on dir/a picture.png
Pr 0.25
Pm 1
""")  # fmt: skip
    (tmp_path / "dir").mkdir()
    pixels = np.arange(16, dtype=np.uint8).reshape(2, 2, 4)
    pixels[..., 3] = 255
    Image.fromarray(pixels).save(tmp_path / "dir" / "a picture.png")
    text = ("mtllib my library.mtl\n" + SQUARE + "g one\nusemtl red paint\nf 1 2 3\nusemtl map\nf 1 3 4\n"
            "usemtl red paint\nf 2 3 4\nl 1 2 3\nl 4 1\np 1 2\n")  # fmt: skip
    scene = draw.load(write(tmp_path, "a.obj", text))
    red, mapped, lines, points = (node.mesh for node in scene.nodes)
    assert (len(red.triangles), len(mapped.triangles)) == (2, 1)
    assert red.material.name == "red paint" and red.material.base_color == (1, 0, 0)
    assert red.material.alpha == 0.5 and red.material.alpha_mode == "blend"
    assert red.material.emissive == pytest.approx((0, srgb(0.5), 0))
    assert red.material.roughness == pytest.approx(np.sqrt(2 / 100))
    texture = mapped.material.base_color_texture
    assert np.array_equal(texture.image, pixels) and texture.wrap == ("clamp", "clamp")
    assert (mapped.material.roughness, mapped.material.metallic) == (0.25, 1)
    # v up (0.5, 0.25) is sampled at (0.5 * 2 + 0.25, 0.25 * 3 + 0.5) with v up, 1 - that with v down
    assert np.allclose(np.array([0.5, 1 - 0.25, 1]) @ texture.transform.T, [1.25, 1 - 1.25])
    assert np.array_equal(
        lines.positions[lines.lines][:, :, :2], [[[0, 0], [1, 0]], [[1, 0], [1, 1]], [[0, 1], [0, 0]]]
    )
    assert len(points.points) == 2 and lines.material.unlit


def test_obj_long_lines_comments_and_what_is_not_read(tmp_path):
    text = ("# head\r\nv 0 0 0 # corner\r\nv 1 \\\r\n 0 0\r\nv 0 1 0\r\nvp 1 2\r\nmtllib none.mtl\r\n"
            "usemtl gone\r\nf 1 \\\r\n2 3 # face\r\n\r\n")  # fmt: skip
    mesh = one(write(tmp_path, "a.obj", text))
    assert np.array_equal(mesh.positions, [[0, 0, 0], [1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no face, line or point"),
        (SQUARE, "no face, line or point"),
        (SQUARE + "f 1 2\n", "line 5: f names 2 vertices"),
        (SQUARE + "f 1 2 5\n", "line 5: f names vertex 5; there are 4"),
        (SQUARE + "f 1 2 0\n", "line 5: f names vertex 0"),
        (SQUARE + "f 1 2 -5\n", "line 5: f names vertex -5"),
        (SQUARE + "f 1/1 2/1 3/1\n", "line 5: f names texture coordinate 1; there are 0"),
        (SQUARE + "f 1//2 2//1 3//1\n", "line 5: f names normal 2"),
        (SQUARE + "f a b c\n", "line 5: 'a' names no vertex"),
        (SQUARE + "f 1/2/3/4 1 2\n", "line 5: '1/2/3/4' names no vertex"),
        (SQUARE + "f 99999999999999999999999 1 2\n", "line 5: .* names no vertex"),
        ("v 0 0\nf 1 1 1\n", "line 1: v: it has 2 numbers"),
        ("v 0 0 x\nf 1 1 1\n", "line 1: v: '0 0 x' are no numbers"),
        ("v 0 0 nan\nf 1 1 1\n", "line 1: v: numbers must be finite"),
        ("v 0 0 0 nan 0 0\nf 1 1 1\n", "line 1: v: numbers must be finite"),
        ("v 0 0 1e99\nv 0 0 0\nf 1 2 2\n", "finite"),
    ],
)
def test_obj_that_is_wrong_is_refused_by_its_line(tmp_path, text, word):
    with pytest.raises(UserError, match=word) as error:
        draw.load(write(tmp_path, "a.obj", text))
    assert str(error.value).startswith("a.obj: ") and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("library", "word"),
    [
        ("newmtl a\nmap_Kd none.png\n", "line 2: 'none.png': there is no such file"),
        ("newmtl a\nmap_Kd ../up.png\n", "leaves the scene's folder"),
        ("newmtl a\nmap_Kd /etc/passwd\n", "is no relative path"),
        ("newmtl a\nmap_Kd ..\\up.png\n", "leaves the scene's folder"),
        ("newmtl a\nKd x\n", "line 2: 'x' are no numbers"),
        ("newmtl a\nNs nan\n", "line 2: .* finite"),
        ("newmtl a\nmap_Kd a.obj\n", "a PNG, JPEG or WebP file is needed"),
        ("newmtl a\nmap_Kd -zoom 3 a.png\n", "option '-zoom' is unknown"),
    ],
)
def test_mtl_that_is_wrong_is_refused_by_its_line(tmp_path, library, word):
    write(tmp_path, "a.mtl", library)
    with pytest.raises(UserError, match=word) as error:
        draw.load(write(tmp_path, "a.obj", "mtllib a.mtl\n" + SQUARE + "f 1 2 3\n"))
    assert "\n" not in str(error.value)


@given(st.lists(st.integers(3, 9), min_size=1, max_size=20))
def test_polygons_as_fans(counts):
    found, start = fans(np.array(counts)).tolist(), 0
    wanted = []
    for count in counts:
        wanted += [[start, start + i, start + i + 1] for i in range(1, count - 1)]
        start += count
    assert found == wanted


# PLY

HEADER = """ply
format {format} 1.0
comment made by a test
element vertex 4
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
property float s
property float t
element other 1
property list uchar short ignored
property double more
element face 2
property list uchar int vertex_indices
end_header
"""
ROWS = [
    (0, 0, 0, 255, 0, 51, 0, 0),
    (1, 0, 0, 0, 0, 0, 1, 0),
    (1, 1, 0, 1, 2, 3, 1, 1),
    (0, 1, 0, 9, 9, 9, 0, 1),
]
FACES = [(0, 1, 2, 3), (0, 1, 2)]


def ply(format, faces=FACES):
    text = HEADER.format(format=format).replace("face 2", f"face {len(faces)}").encode()
    if format == "ascii":
        rows = [*ROWS, (2, 7, 8, 1.5), *((len(f), *f) for f in faces)]
        return text + "\n".join(" ".join(map(str, row)) for row in rows).encode() + b"\n"
    order = "<" if "little" in format else ">"
    body = b"".join(struct.pack(order + "fffBBBff", *row) for row in ROWS)
    body += struct.pack(order + "Bhhd", 2, 7, 8, 1.5)
    return text + body + b"".join(struct.pack(f"{order}B{len(f)}i", len(f), *f) for f in faces)


@pytest.mark.parametrize("format", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("faces", [FACES, [(0, 1, 2), (0, 2, 3)]], ids=["mixed", "triangles"])
def test_ply_in_every_format(tmp_path, format, faces):
    mesh = one(write(tmp_path, "a.ply", ply(format, faces)))
    assert np.array_equal(mesh.positions, [row[:3] for row in ROWS])
    assert np.allclose(mesh.colors[0], [1, 0, srgb(0.2), 1], atol=1e-6)
    assert np.array_equal(mesh.uv[0], [[0, 1], [1, 1], [1, 0], [0, 0]])
    wanted = [[0, 1, 2], [0, 2, 3], [0, 1, 2]] if faces is FACES else [[0, 1, 2], [0, 2, 3]]
    assert mesh.triangles.tolist() == wanted
    trimesh = pytest.importorskip("trimesh")
    if faces is not FACES:
        peer = trimesh.load(tmp_path / "a.ply", process=False)
        assert np.array_equal(peer.vertices, mesh.positions) and np.array_equal(peer.faces, mesh.triangles)


def test_ply_normals_strips_edges_points_and_textures(tmp_path):
    head = "ply\nformat ascii 1.0\n"
    vertex = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    rows = "0 0 0\n1 0 0\n0 1 0\n"
    points = one(write(tmp_path, "p.ply", f"{head}{vertex}end_header\n{rows}"))
    assert points.points.tolist() == [0, 1, 2] and points.material.unlit
    edges = one(write(tmp_path, "e.ply",
                      f"{head}{vertex}element edge 1\nproperty int vertex1\nproperty int vertex2\n"
                      f"end_header\n{rows}2 0\n"))  # fmt: skip
    assert edges.lines.tolist() == [[2, 0]]
    strips = one(write(tmp_path, "s.ply",
                       f"{head}{vertex.replace('3', '4')}element tristrips 1\n"
                       "property list int int vertex_indices\nend_header\n"
                       f"{rows}1 1 0\n8 0 1 2 3 -1 2 1 0\n"))  # fmt: skip
    assert strips.triangles.tolist() == [[0, 1, 2], [1, 3, 2], [2, 1, 0]]
    Image.new("RGB", (2, 2), (1, 2, 3)).save(tmp_path / "a b.png")
    normals = "property float nx\nproperty float ny\nproperty float nz\nproperty float u\nproperty float v\n"
    lit = one(write(tmp_path, "n.ply",
                    f"{head}comment TextureFile a b.png\n{vertex}{normals}element face 1\n"
                    f"property list uchar uint vertex_index\nend_header\n"
                    + "".join(f"{row} 0 0 2 0 1\n" for row in rows.splitlines()) + "3 0 1 2\n"))  # fmt: skip
    assert lit.normals.tolist() == [[0, 0, 2]] * 3
    assert lit.material.base_color_texture.image[0, 0].tolist() == [1, 2, 3, 255]


def lies(data):
    """A PLY file with other counts."""
    return [
        (data.replace(b"vertex 4", b"vertex 4000000000"), "announced"),
        (data.replace(b"face 2", b"face 2147483648"), "announced"),
        (data.replace(b"float z", b"float w"), "x, y and z"),
        (data[:-3], "cut short|announced|room|line"),
        (data.replace(b"end_header", b"end_heeder"), "end_header"),
        (data.replace(b"format", b"farmat"), "line 2"),
        (data.replace(b"uchar red", b"quark red"), "line 8"),
        (b"plx" + data[3:], "begins with"),
        (b"", "begins with"),
    ]


@pytest.mark.parametrize("format", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("case", range(9))
def test_ply_that_lies_is_refused(tmp_path, format, case):
    data, word = lies(ply(format))[case]
    with pytest.raises(UserError, match=word) as error:
        draw.load(write(tmp_path, "a.ply", data))
    assert str(error.value).startswith("a.ply: ") and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("faces", "word"),
    [([(0, 1, 4)], "names vertex 4"), ([(0, 1, -1)], "vertex -1"), ([(0, 1)], "at least 3")],
)
@pytest.mark.parametrize("format", ["ascii", "binary_big_endian"])
def test_ply_faces_that_lie_are_refused(tmp_path, faces, word, format):
    with pytest.raises(UserError, match=word):
        draw.load(write(tmp_path, "a.ply", ply(format, faces)))


# STL

CORNERS = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 0], [0, 1, 0], [0, 0, 1]]], np.float32)


def binary_stl(head=b"binary", count=2):
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *corners.ravel(), 0) for corners in CORNERS)
    return head.ljust(80, b" ") + struct.pack("<I", count) + body


def ascii_stl():
    text = "solid two words\n"
    for corners in CORNERS:
        text += " facet normal 0 0 0\n  outer loop\n"
        text += "".join(f"   vertex {x:g} {y:e} {z}\n" for x, y, z in corners)
        text += "  endloop\n endfacet\n"
    return (text + "endsolid two words\n").encode()


@pytest.mark.parametrize("data", [binary_stl(), binary_stl(b"solid"), ascii_stl(), binary_stl() + b"tail"])
def test_stl_in_both_formats(tmp_path, data):
    mesh = one(write(tmp_path, "a.stl", data))
    assert np.array_equal(mesh.positions[mesh.triangles], CORNERS)
    assert np.allclose(mesh.normals[[0, 3]], [[0, 0, 1], [1, 0, 0]])
    if not data.endswith(b"tail"):
        trimesh = pytest.importorskip("trimesh")
        peer = trimesh.load(tmp_path / "a.stl", process=False)
        assert np.array_equal(peer.triangles, CORNERS)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "it has 0 bytes"),
        (b"solid a\nendsolid a\n", "no triangle"),
        (binary_stl(count=0)[:84], "no triangle"),
        (binary_stl(count=3), "3 triangles are announced, 2 are there"),
        (binary_stl(count=2**32 - 1), "4,294,967,295 triangles are announced"),
        (ascii_stl().replace(b"vertex 1", b"vertx 1"), "the facet has 2 vertices"),
        (ascii_stl().replace(b"endfacet", b""), "no"),
        (ascii_stl().replace(b"vertex 1 ", b"vertex one "), "no number"),
        (ascii_stl().replace(b"vertex 1 ", b"vertex inf "), "facet 0: vertex 1"),
        (ascii_stl().replace(b"vertex 1 ", b"vertex 1 2 "), "line 5: a vertex has three"),
        (ascii_stl()[:60], "line 4: a vertex has three"),
        (binary_stl().replace(struct.pack("<f", 1), struct.pack("<f", np.nan)), "facet 0: vertex 1"),
    ],
)
def test_stl_that_lies_is_refused(tmp_path, data, word):
    if word == "no":
        assert one(write(tmp_path, "a.stl", data)).triangles.shape == (2, 3)  # the end marks say nothing new
        return
    with pytest.raises(UserError, match=word) as error:
        draw.load(write(tmp_path, "a.stl", data))
    assert str(error.value).startswith("a.stl: ") and "\n" not in str(error.value)


# The teapot, and the front door


def test_teapot_by_known_facts():
    """32 patches; its size, and how many control points differ, counted ring by ring."""
    control = patches()
    assert control.shape == (32, 4, 4, 3)
    # 17 rings of 12 points, three poles; handle and spout of seven rows of six each; (-2, 0, 0.9) is the
    # body's and the handle's
    points = np.round(control.reshape(-1, 3), 6) + 0.0
    assert len(np.unique(points, axis=0)) == 17 * 12 + 3 + 2 * 7 * 6 - 1
    assert np.allclose(control.min((0, 1, 2)), [-3, -2, 0]) and np.allclose(
        control.max((0, 1, 2)), [3.525, 2, 3.15]
    )
    assert len(teapot(0).triangles) == 64
    for level in (3, 4):
        mesh = teapot(level)
        assert len(mesh.triangles) == 64 * 4**level
        corners = mesh.positions[mesh.triangles].astype(float)
        faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert ((faces[:, None] * mesh.normals[mesh.triangles]).sum(-1) > -1e-6).all()  # faces out


def test_teapot_borders_meet_exactly():
    """Neighbours' borders are the same float32 numbers: no pixel between them is left out."""
    points = teapot(3).positions.reshape(32, 9, 9, 3)
    for profile in range(6):
        for quarter in range(4):
            this, following = points[4 * profile + quarter], points[4 * profile + (quarter + 1) % 4]
            assert np.array_equal(this[:, -1] + 0, following[:, 0] + 0)
    for above, below in ((0, 1), (1, 2), (2, 5), (3, 4)):  # rim, body, body, bottom; knob, lid
        for quarter in range(4):
            assert np.array_equal(points[4 * above + quarter, -1] + 0, points[4 * below + quarter, 0] + 0)
    for side in range(24, 32, 2):
        assert np.array_equal(points[side, :, 0] + 0, points[side + 1, :, -1] + 0)
        assert np.array_equal(points[side, :, -1] + 0, points[side + 1, :, 0] + 0)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("teapot:9", "whole number from 0 to 8"),
        ("teapot:x", "whole number from 0 to 8"),
        ("none.glb", "none.glb: there is no such file"),
        ("a\0.glb", "NUL"),
        ("whatever.fbx", "files: .glb, .gltf"),
    ],
)
def test_names_that_are_nothing(name, word):
    with pytest.raises(UserError, match=word) as error:
        draw.load(name)
    assert "\n" not in str(error.value)


def test_the_front_door(tmp_path, monkeypatch):
    assert draw.load("teapot:2").triangles == 64 * 16
    with pytest.raises(UserError, match="up 'x'"):
        draw.load("cube", up="x")
    for suffix in (".glb", ".obj"):
        (tmp_path / f"folder{suffix}").mkdir()
        with pytest.raises(UserError, match="no ordinary file"):
            draw.load(tmp_path / f"folder{suffix}")
    write(tmp_path, "a.txt", "words")
    with pytest.raises(UserError, match=r"a .txt file cannot be drawn; read are .glb"):
        draw.load(tmp_path / "a.txt")
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "cube", "not this one")
    assert draw.load("cube").triangles == 12  # a built-in name wins over a file without a suffix


def test_z_up(tmp_path):
    scene = draw.load(write(tmp_path, "a.stl", binary_stl()), up="z")
    (node,) = scene.nodes
    top = node.transform @ [0, 0, 1, 1]
    assert np.allclose(top, [0, 1, 0, 1])
