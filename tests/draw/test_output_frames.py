"""Films: which cameras and times, and that each frame stands alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from moving_gltf import moving_triangle

from whygpu import draw
from whygpu.draw import Background, Camera, Light, Scene, View
from whygpu.engine import UserError

SIZE = (60, 40)


def off_centre() -> Scene:
    """A long bar far from the origin: a camera that is not placed with care loses it."""
    cube = draw.load("cube").nodes[0]
    matrix = np.diag([4.0, 0.5, 0.5, 1.0])
    matrix[:3, 3] = 30, -7, 12
    return Scene((draw.Node(cube.mesh, matrix),))


@pytest.mark.parametrize("elevation", [-90.0, -30.0, 0.0, 20.0, 90.0])
def test_a_turntable_keeps_everything_in_sight(elevation: float) -> None:
    plan = draw.plan(off_centre(), SIZE, view=View(15.0, elevation), spin=True, count=7)
    lit = []
    for frame in draw.frames(plan):
        border = np.concatenate([frame.ids[0], frame.ids[-1], frame.ids[:, 0], frame.ids[:, -1]])
        assert (border == -1).all()
        columns = np.flatnonzero((frame.ids >= 0).any(0))
        lit.append(columns[-1] - columns[0] + 1)
    assert max(lit) > 0.7 * SIZE[0] or elevation in (-90.0, 90.0)  # and it is not lost in the distance


def test_a_turntable_has_no_seam() -> None:
    count = 8
    cameras = [shot.camera for shot in draw.plan(off_centre(), SIZE, spin=True, count=count).shots]
    eyes = np.array([camera.eye for camera in cameras if isinstance(camera, Camera)])
    middle = eyes.mean(0)
    angles = np.unwrap(np.arctan2(eyes[:, 0] - middle[0], eyes[:, 2] - middle[2]))
    np.testing.assert_allclose(np.diff(angles), 2 * np.pi / count, rtol=1e-9)  # from above: anti-clockwise
    np.testing.assert_allclose(np.hypot(*(eyes - middle)[:, [0, 2]].T), np.hypot(*(eyes - middle)[0, [0, 2]]))
    np.testing.assert_allclose(middle[[0, 2]], [30, 12], atol=1e-6)  # about the scene's own axis
    first = cameras[0]
    assert isinstance(first, Camera)
    np.testing.assert_allclose(draw.orbit(first, 360).eye, first.eye, atol=1e-9)


def test_frames_stand_alone() -> None:
    plan = draw.plan(draw.load("cube"), SIZE, spin=True, count=5)
    together = [frame.rgba for frame in draw.frames(plan)]
    for indices in ([3], [4, 0, 2], range(1, 5, 2)):
        for index, frame in zip(indices, draw.frames(plan, indices), strict=True):
            np.testing.assert_array_equal(frame.rgba, together[index])
    assert not np.array_equal(together[0], together[1])


def test_a_plan_says_what_its_film_is() -> None:
    cube = draw.load("cube")
    assert draw.plan(cube, SIZE).film == draw.Film(60, 40, 1, 25.0, False)
    turn = draw.plan(cube, SIZE, spin=True).film
    assert (turn.count, turn.fps) == (72, 25.0)
    for background, transparent in (
        ("transparent", True),
        ((1.0, 0.0, 0.0), False),
        ((1.0, 0.0, 0.0, 0.5), True),
        (Background((0, 0, 0, 1), (0, 0, 0, 0.9)), True),
    ):
        plan = draw.plan(cube, SIZE, background=background)
        assert plan.film.transparent == transparent
        (frame,) = draw.frames(plan)
        assert bool((frame.rgba[..., 3] < 255).any()) == transparent


def test_views_distances_and_fields_of_view() -> None:
    cube = draw.load("cube")  # its middle is the origin
    (shot,) = draw.plan(cube, SIZE, view=View(90.0, 0.0, distance=8.0)).shots
    assert isinstance(shot.camera, Camera)
    np.testing.assert_allclose(shot.camera.eye, (8, 0, 0), atol=1e-12)
    narrow, wide = (draw.plan(cube, SIZE, fov=fov).shots[0].camera for fov in (20.0, 60.0))
    assert isinstance(narrow, Camera)
    assert isinstance(wide, Camera)
    assert (narrow.fov, wide.fov) == (20.0, 60.0)
    away = [np.linalg.norm(np.subtract(camera.eye, camera.target)) for camera in (narrow, wide)]
    assert away[0] > 2 * away[1]
    inside = draw.plan(cube, SIZE, view=View(0.0, 0.0, distance=1e-3)).shots[0].camera
    assert isinstance(inside, Camera)  # near and far are still such that it can be drawn
    assert 0 < inside.near < inside.far


def test_lights_replace_the_scene_s_own() -> None:
    sun, dark = (draw.plan(draw.load("cube"), SIZE, lights=lights) for lights in ([Light()], []))
    bright, dim = (next(draw.frames(plan)).rgba[..., :3].astype(int).sum() for plan in (sun, dark))
    assert bright > dim


def test_cameras_by_name_and_number() -> None:
    cameras = (Camera((0, 0, 5), name="front"), Camera((5, 0, 0), name="Side view"))
    scene = Scene(draw.load("cube").nodes, cameras=cameras)
    pictures = [next(draw.frames(draw.plan(scene, SIZE, camera=i))).rgba for i in ("Side view", "1", 1)]
    expected = draw.render(scene, SIZE, camera=cameras[1]).rgba
    for picture in pictures:
        np.testing.assert_array_equal(picture, expected)
    with pytest.raises(UserError, match=r"did you mean Side view.*0 front, 1 Side view"):
        draw.plan(scene, SIZE, camera="side viev")
    with pytest.raises(UserError, match="no camera '2'"):
        draw.plan(scene, SIZE, camera=2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time": 1.0}, "no animation"),
        ({"play": True}, "no animation"),
        ({"animation": "Walk"}, "no animation"),
        ({"count": 3}, "3 frames of what"),
        ({"camera": 0, "spin": True}, "turntable"),
        ({"camera": 0, "view": View()}, "view"),
        ({"camera": 0}, "no camera"),
    ],
)
def test_what_cannot_be_filmed(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        draw.plan(draw.load("cube"), SIZE, **options)


@pytest.fixture
def moving(tmp_path: Path) -> Scene:
    pytest.importorskip("whygpu.draw.rig")
    moving_triangle(tmp_path / "moving.gltf")
    return draw.load(str(tmp_path / "moving.gltf"))


def middles(plan: draw.Plan) -> list[float]:
    """Where the triangle stands in each frame: the mean column of its pixels."""
    return [float(np.nonzero(frame.ids >= 0)[1].mean()) for frame in draw.frames(plan)]


def test_an_animation_plays_once_at_its_speed(moving: Scene) -> None:
    plan = draw.plan(moving, (200, 60), view=View(0.0, 0.0), play=True, fps=5)
    assert [shot.time for shot in plan.shots] == pytest.approx([0.2 * place for place in range(10)])
    seen = middles(plan)
    np.testing.assert_allclose(np.diff(seen), np.mean(np.diff(seen)), atol=1.5)  # evenly, camera at rest
    for frame in draw.frames(plan):
        border = np.concatenate([frame.ids[0], frame.ids[-1], frame.ids[:, 0], frame.ids[:, -1]])
        assert (border == -1).all()  # in sight from beginning to end
    assert draw.plan(moving, SIZE, play=True, count=4).fps == 2.0
    assert len(draw.plan(moving, SIZE, play=True).shots) == 50


def test_a_moment_of_an_animation_by_name_or_number(moving: Scene) -> None:
    slid = draw.plan(moving, SIZE, camera="eye", time=2.0, animation="Slide")
    assert len(slid.shots) == 1
    start = draw.plan(moving, SIZE, camera="eye", time=0.0)
    assert middles(slid)[0] > middles(start)[0] + 10
    risen = [draw.plan(moving, SIZE, camera=0, time=2.0, animation=which) for which in ("Rise", 1, "1")]
    pictures = [next(draw.frames(plan)).rgba for plan in risen]
    np.testing.assert_array_equal(pictures[0], pictures[1])
    np.testing.assert_array_equal(pictures[0], pictures[2])
    with pytest.raises(UserError, match="did you mean Slide"):
        draw.plan(moving, SIZE, time=0.0, animation="slid")


def test_frames_of_an_animation_stand_alone(moving: Scene) -> None:
    plan = draw.plan(moving, SIZE, play=True, count=6, spin=True, lights=[Light()])
    together = [frame.rgba for frame in draw.frames(plan)]
    for index, frame in zip([5, 2], draw.frames(plan, [5, 2]), strict=True):
        np.testing.assert_array_equal(frame.rgba, together[index])
