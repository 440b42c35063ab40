"""Skins, morph targets and animations. Expected values: the specification's formulas, worked by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest
from gltf_writer import SQUARE, SQUARE_INDICES, TRIANGLE, Writer, triangle
from hypothesis import given
from hypothesis import strategies as st

from whygpu import draw, engine
from whygpu.draw.animation import Track, slerp
from whygpu.engine import UserError

HALF = math.sqrt(0.5)


def animated(path, times, values, interpolation=None, writer=None, node=0):
    """A triangle (or what ``writer`` has) with one channel."""
    writer = writer or triangle()
    sampler = {
        "input": writer.accessor(np.array(times, "f4")),
        "output": writer.accessor(np.asarray(values, getattr(values, "dtype", "f4")), **(
            {"normalized": True} if getattr(values, "dtype", np.dtype("f4")).kind != "f" else {})),
    }  # fmt: skip
    if interpolation:
        sampler["interpolation"] = interpolation
    channel = {"sampler": 0, "target": {"node": node, "path": path}}
    writer.add("animations", {"name": "move", "samplers": [sampler], "channels": [channel]})
    return writer


def load(writer, tmp_path):
    return draw.load(writer.glb(tmp_path / "a.glb"))


def matrix(scene, time):
    return scene.rig.at(scene, time).nodes[0].transform


def test_linear_step_and_the_ends(tmp_path):
    values = [[0, 0, 0], [2, 4, 6], [4, 0, 0]]
    scene = load(animated("translation", [1, 2, 4], values), tmp_path)
    for time, wanted in ((0, values[0]), (1, values[0]), (1.25, [0.5, 1, 1.5]), (2, values[1]),
                         (3, [3, 2, 3]), (4, values[2]), (99, values[2])):  # fmt: skip
        assert np.allclose(matrix(scene, time)[:3, 3], wanted, atol=1e-6)
    scene = load(animated("translation", [1, 2, 4], values, "STEP"), tmp_path)
    for time, wanted in ((0, values[0]), (1.9, values[0]), (2, values[1]), (3.9, values[1]), (4, values[2])):
        assert np.allclose(matrix(scene, time)[:3, 3], wanted)


def test_rotation_takes_the_shorter_arc_at_an_even_speed(tmp_path):
    # From no turn to a quarter turn about y, given as the far quaternion -q
    scene = load(animated("rotation", [0, 1], [[0, 0, 0, 1], [0, -HALF, 0, -HALF]]), tmp_path)
    for time in (0, 0.1, 1 / 3, 0.5, 0.9, 1):
        turn = math.radians(90 * time)
        wanted = [[math.cos(turn), 0, math.sin(turn)], [0, 1, 0], [-math.sin(turn), 0, math.cos(turn)]]
        assert np.allclose(matrix(scene, time)[:3, :3], wanted, atol=1e-6)


def test_scale_and_the_rest_pose(tmp_path):
    writer = animated("scale", [0, 2], [[1, 1, 1], [3, 1, 5]])
    writer.json["nodes"][0] |= {"translation": [7, 8, 9], "scale": [2, 2, 2]}
    scene = load(writer, tmp_path)
    assert np.allclose(scene.nodes[0].transform, [[2, 0, 0, 7], [0, 2, 0, 8], [0, 0, 2, 9], [0, 0, 0, 1]])
    assert np.allclose(matrix(scene, 1), [[2, 0, 0, 7], [0, 1, 0, 8], [0, 0, 3, 9], [0, 0, 0, 1]])
    rest = scene.rig.rest(scene)
    assert np.array_equal(rest.nodes[0].transform, scene.nodes[0].transform)


def test_cubic_spline_by_the_specifications_formula(tmp_path):
    """Keys at 1 s and 3 s: 2 seconds apart, so that slopes count twice. In exact fractions."""
    keys = [([9, 9, 9], [1, 0, 4], [2, 0, 1]), ([3, 0, -1], [5, 0, 2], [9, 9, 9])]
    scene = load(animated("translation", [1, 3], np.array(keys, "f4").reshape(6, 3), "CUBICSPLINE"), tmp_path)
    for step in range(9):
        t = Fraction(step, 8)
        wanted = [
            (2 * t**3 - 3 * t**2 + 1) * v0 + 2 * (t**3 - 2 * t**2 + t) * b0
            + (-2 * t**3 + 3 * t**2) * v1 + 2 * (t**3 - t**2) * a1
            for v0, b0, v1, a1 in zip(keys[0][1], keys[0][2], keys[1][1], keys[1][0], strict=True)
        ]  # fmt: skip
        assert np.allclose(matrix(scene, 1 + 2 * float(t))[:3, 3], [float(w) for w in wanted], atol=1e-5)
    for time, wanted in ((0, keys[0][1]), (9, keys[1][1])):
        assert np.allclose(matrix(scene, time)[:3, 3], wanted)


def test_a_cubic_rotation_has_length_one(tmp_path):
    keys = [[[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]], [[0, 0, 0, 0], [0, 0, HALF, HALF], [0, 0, 0, 0]]]
    writer = animated("rotation", [0, 1], np.array(keys, "f4").reshape(6, 4), "CUBICSPLINE")
    scene = load(writer, tmp_path)
    for time in (0.25, 0.5, 0.75):
        linear = matrix(scene, time)[:3, :3]
        assert np.allclose(linear @ linear.T, np.eye(3), atol=1e-6)
    # Half way the curve is the mean of both, and its direction the bisector: 45 degrees
    assert np.allclose(matrix(scene, 0.5)[:2, 0], [HALF, HALF], atol=1e-6)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
def test_rotations_as_normalised_integers(tmp_path, dtype):
    full = np.iinfo(dtype).max
    keys = np.array([[0, 0, 0, full], [full, 0, 0, 0]], dtype)
    scene = load(animated("rotation", [0, 1], keys), tmp_path)
    assert np.allclose(matrix(scene, 1)[:3, :3], np.diag([1, -1, -1]), atol=1e-6)
    assert np.allclose(matrix(scene, 0.5)[:3, :3] @ [0, 1, 0], [0, 0, 1], atol=1e-6)


unit = st.lists(st.floats(-1, 1), min_size=4, max_size=4).map(np.array).filter(lambda q: q @ q > 0.01)


@given(unit, unit, st.floats(0, 1))
def test_slerp_keeps_its_distance_to_both_ends(a, b, t):
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    found = slerp(a, b, t)
    whole = math.acos(min(1.0, abs(float(a @ b))))
    assert np.linalg.norm(found) == pytest.approx(1)
    assert math.acos(min(1.0, abs(float(a @ found)))) == pytest.approx(t * whole, abs=3e-8 + 1e-6)
    assert math.acos(min(1.0, abs(float(b @ found)))) == pytest.approx((1 - t) * whole, abs=3e-8 + 1e-6)


@given(st.lists(st.floats(0, 100, width=32), min_size=1, max_size=9), st.floats(-10, 110))
def test_a_track_stays_between_its_keys(times, time):
    times = np.sort(np.array(times, np.float64))  # two keys at the same time too
    values = np.arange(len(times), dtype=np.float32)[:, None]
    found = float(Track(0, "translation", times, values).at(time)[0])
    before = int((times <= time).sum()) - 1
    assert max(before, 0) - 1e-6 <= found <= min(before + 1, len(times) - 1) + 1e-6 or before < 0
    if before < 0:
        assert found == 0


def skinned(extra_weights=False):
    """A square whose lower edge hangs on joint 0 and whose upper edge on joint 1, half way between."""
    writer = Writer()
    joints = np.array([[0, 1, 0, 0]] * 4, "u1")
    weights = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 1, 0, 0]], "f4")
    attributes = {
        "POSITION": SQUARE,
        "NORMAL": np.tile(np.array([0, 0, 1], "f4"), (4, 1)),
        "JOINTS_0": joints,
        "WEIGHTS_0": weights,
    }
    if extra_weights:  # the same, in the second set
        attributes |= {"JOINTS_1": joints, "WEIGHTS_1": weights, "WEIGHTS_0": weights * 0}
    found = {name: writer.accessor(values) for name, values in attributes.items()}
    writer.mesh({"attributes": found, "indices": writer.accessor(SQUARE_INDICES)})
    inverse = np.tile(np.eye(4, dtype="f4"), (2, 1, 1))
    inverse[1, 1, 3] = -1  # joint 1 is bound at (0, 1, 0)
    columns = inverse.swapaxes(1, 2).reshape(2, 16)
    writer.json["nodes"] = [
        {"mesh": 0, "skin": 0, "translation": [100, 0, 0]},  # which the specification says to ignore
        {"children": [2]},
        {"translation": [0, 1, 0]},
    ]
    writer.json["scenes"] = [{"nodes": [0, 1]}]
    writer.add("skins", {"joints": [1, 2], "inverseBindMatrices": writer.accessor(columns)})
    return writer


@pytest.mark.parametrize("second_set", [False, True])
def test_skinning(tmp_path, second_set):
    # Joint 1 turns by 90 degrees about z: a point p goes to (0, 1) + turned (p - (0, 1))
    writer = animated(
        "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, HALF, HALF]], writer=skinned(second_set), node=2
    )
    scene = load(writer, tmp_path)
    assert np.allclose(scene.nodes[0].mesh.positions, SQUARE, atol=1e-6)  # the bind pose
    assert np.array_equal(scene.nodes[0].transform, np.eye(4))
    with engine.ledger() as ledger:
        moved = scene.rig.at(scene, 1.0).nodes[0]
    # (1, 1) half way between staying and going to (0, 2); (0, 1) is the joint itself
    assert np.allclose(moved.mesh.positions, [[0, 0, 0], [1, 0, 0], [0.5, 1.5, 0], [0, 1, 0]], atol=1e-6)
    products = [row for row in ledger.rows() if row.is_product]
    assert {row.name for row in products} == {"joint matrices", "skinning"}
    influences = 8 if second_set else 4
    blend, points, turns = 2 * 4 * influences * 12, 2 * 4 * 9, 2 * 4 * 9
    assert sum(row.flop for row in products if row.name == "skinning") == blend + points + turns
    assert all(row.workload == "draw" and row.stage == "animate" for row in products)


def test_skinned_normals_follow_the_inverse_transpose(tmp_path):
    """A joint that stretches y by 4: the normal (0, 1, 1) of a slope becomes (0, 1, 4) / length."""
    writer = skinned()
    writer.json["skins"][0].pop("inverseBindMatrices")
    writer.json["nodes"][2] = {"scale": [1, 4, 1]}
    slope = np.tile(np.array([0, 1, 1], "f4"), (4, 1))
    attributes = writer.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["NORMAL"] = writer.accessor(slope)
    mesh = load(writer, tmp_path).nodes[0].mesh
    normal = mesh.normals[3] / np.linalg.norm(mesh.normals[3])
    assert np.allclose(normal, np.array([0, 1, 4]) / math.sqrt(17), atol=1e-6)
    assert np.allclose(mesh.positions[3], [0, 4, 0])


def test_weights_are_brought_to_a_sum_of_one(tmp_path):
    writer = skinned()
    loose = np.array([[2, 0, 0, 0], [0, 0, 0, 0], [3, 1, 0, 0], [0, 0.1, 0, 0]], "f4")
    writer.json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"] = writer.accessor(loose)
    scene = load(animated("scale", [0, 1], [[1, 1, 1], [1, 1, 1]], writer=writer, node=2), tmp_path)
    found = scene.rig.parts[0].deform.weights
    assert np.allclose(found, [[1, 0, 0, 0], [1, 0, 0, 0], [0.75, 0.25, 0, 0], [0, 1, 0, 0]])


def morphing(**mesh):
    writer = Writer()
    targets = []
    for shift in ([0, 0, 2], [4, 0, 0]):
        delta = np.zeros((3, 3), "f4")
        delta[1] = shift
        targets.append({"POSITION": writer.accessor(delta)})
    targets[1]["NORMAL"] = writer.accessor(np.tile(np.array([1, 0, -1], "f4"), (3, 1)))
    attributes = {
        "POSITION": writer.accessor(TRIANGLE),
        "NORMAL": writer.accessor(np.tile(np.array([0, 0, 1], "f4"), (3, 1))),
    }
    writer.mesh({"attributes": attributes, "targets": targets}, **mesh)
    writer.scene({"mesh": 0})
    return writer


def test_morph_targets(tmp_path):
    plain = load(morphing(), tmp_path).nodes[0].mesh
    assert np.array_equal(plain.positions, TRIANGLE)
    mixed = load(morphing(weights=[0.5, 0.25]), tmp_path).nodes[0].mesh
    assert np.allclose(mixed.positions, [[0, 0, 0], [2, 0, 1], [0, 1, 0]])
    assert np.allclose(mixed.normals, [[0.25, 0, 0.75]] * 3)
    writer = morphing(weights=[1, 1])
    writer.json["nodes"][0]["weights"] = [0, 1]  # the node's count
    assert np.allclose(load(writer, tmp_path).nodes[0].mesh.positions[1], [5, 0, 0])


def test_animated_weights(tmp_path):
    scene = load(animated("weights", [0, 1], np.array([0, 0, 1, 0.5], "f4"), writer=morphing()), tmp_path)
    with engine.ledger() as ledger:
        found = scene.rig.at(scene, 0.5).nodes[0].mesh
    assert np.allclose(found.positions[1], [1 + 0.25 * 4, 0, 0.5 * 2])
    (product,) = {row.name for row in ledger.rows() if row.is_product}
    assert product == "morph targets"
    bytes_ = np.array([0, 0, 255, 51], "u1")
    scene = load(animated("weights", [0, 1], bytes_, writer=morphing()), tmp_path)
    assert np.allclose(scene.rig.at(scene, 1).nodes[0].mesh.positions[1], [1 + 0.2 * 4, 0, 2])


def test_flat_faces_stay_flat_when_they_move(tmp_path):
    writer = Writer()
    delta = np.zeros((3, 3), "f4")
    delta[2] = [0, -1, 1]  # the triangle's top folds towards the eye
    primitive = {
        "attributes": {"POSITION": writer.accessor(TRIANGLE)},
        "targets": [{"POSITION": writer.accessor(delta)}],
    }
    writer.mesh(primitive, weights=[1])
    writer.scene({"mesh": 0})
    mesh = load(writer, tmp_path).nodes[0].mesh
    assert np.allclose(mesh.normals, [[0, -1, 0]] * 3, atol=1e-6)


def test_animations_have_names_and_seconds(tmp_path):
    writer = animated("translation", [0, 2.5], [[0, 0, 0], [1, 0, 0]])
    first = writer.json["animations"][0]
    writer.json["animations"].append({**first, "name": "other"})
    writer.json["animations"].append({"samplers": first["samplers"], "channels": first["channels"]})
    scene = load(writer, tmp_path)
    assert [(a.name, a.seconds) for a in scene.rig.animations] == [
        ("move", 2.5), ("other", 2.5), ("animation 2", 2.5)
    ]  # fmt: skip
    assert scene.rig.at(scene, 1, "other").nodes[0].transform[0, 3] == pytest.approx(0.4)
    assert scene.rig.at(scene, 1, 2).rig is scene.rig
    assert draw.render(scene.rig.at(scene, 1, "1"), (16, 12), path="portable").statistics.triangles == 1
    for bad in ("run", 3, -1, "9"):
        with pytest.raises(UserError, match="0 move, 1 other, 2 animation 2"):
            scene.rig.at(scene, 0, bad)
    for bad in (math.nan, math.inf):
        with pytest.raises(UserError, match="time"):
            scene.rig.at(scene, bad)


def test_cameras_and_lights_move_too(tmp_path):
    writer = animated("translation", [0, 1], [[0, 0, 5], [4, 0, 5]], writer=triangle(), node=1)
    writer.add("cameras", {"type": "perspective", "perspective": {"yfov": 1, "znear": 0.1}})
    writer.json["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": "point"}]}}
    writer.json["nodes"].append({"camera": 0, "extensions": {"KHR_lights_punctual": {"light": 0}}})
    writer.json["scenes"][0]["nodes"].append(1)
    scene = load(writer, tmp_path)
    moved = scene.rig.at(scene, 0.5)
    assert moved.cameras[0].eye == (2, 0, 5) and moved.lights[0].position == (2, 0, 5)
    assert scene.cameras[0].eye == (0, 0, 0)


def test_a_scene_that_stands_still_has_no_rig(tmp_path):
    assert load(triangle(), tmp_path).rig is None
    assert load(skinned(), tmp_path).rig is None


def test_z_up_turns_the_rig_too(tmp_path):
    writer = animated("translation", [0, 1], [[0, 0, 0], [0, 0, 3]])
    scene = draw.load(writer.glb(tmp_path / "a.glb"), up="z")
    assert np.allclose(scene.rig.at(scene, 1).nodes[0].transform[:3, 3], [0, 3, 0])


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda j: j["skins"][0].update(joints=[1, 9]), r"skins\[0\].joints\[1\]: there is no nodes\[9\]"),
        (lambda j: j["skins"][0].update(joints=[1]), r"nodes\[0\].mesh: JOINTS name joint 1"),
        (lambda j: j["nodes"][0].update(skin=2), r"nodes\[0\].skin: there is no skins\[2\]"),
        (
            lambda j: j["accessors"][j["skins"][0]["inverseBindMatrices"]].update(count=1),
            r"skins\[0\].inverseBindMatrices: 1 matrices for 2 joints",
        ),
        (lambda j: j["animations"][0]["channels"][0].update(sampler=1),
         r"channels\[0\].sampler: there is no"),
        (lambda j: j["animations"][0]["channels"][0]["target"].update(node=7), r"target.node: there is no"),
        (lambda j: j["animations"][0]["samplers"][0].update(interpolation="EASE"),
         r"interpolation: .*'EASE'"),
        (lambda j: j["animations"][0]["samplers"][0].update(output=0), r"output: accessors\[0\] is VEC3"),
        (lambda j: j["accessors"][-1].update(count=1),
         r"output: accessors\[\d+\] has 1 elements; 2 are needed"),
        (lambda j: j["nodes"][2].update(matrix=[2] + [0] * 4 + [1] + [0] * 4 + [1] + [0] * 4 + [1]),
         r"channels\[0\].target: the node has a matrix"),
    ],
)  # fmt: skip
def test_broken_rigs_are_refused_by_their_place(tmp_path, change, path):
    writer = animated("rotation", [0, 1], [[0, 0, 0, 1], [0, 0, HALF, HALF]], writer=skinned(), node=2)
    change(writer.json)
    with pytest.raises(UserError, match=path) as error:
        load(writer, tmp_path)
    assert str(error.value).startswith("a.glb: ") and "\n" not in str(error.value)


@pytest.mark.parametrize("times", [[1, 0], [-1, 0]])
def test_times_that_run_backwards_are_refused(tmp_path, times):
    with pytest.raises(UserError, match=r"animations\[0\].samplers\[0\].input: times must start at 0"):
        load(animated("scale", times, [[1, 1, 1], [1, 1, 1]]), tmp_path)
