"""What is refused, what is drawn empty, and what a frame is."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from whygpu import draw, engine
from whygpu.draw import Background, Camera, Light, Material, Mesh, Node, Scene
from whygpu.engine import UserError

TRIANGLE = np.array([[-1.0, -1, 0], [1, -1, 0], [0, 1, 0]])
PATHS = ("portable", "fast")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
def test_positions_that_are_not_finite_are_refused(bad):
    points = TRIANGLE.copy()
    points[1, 2] = bad
    with pytest.raises(UserError, match=r"positions\[1\].*finite"):
        Mesh(points, [[0, 1, 2]])


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((TRIANGLE, [[0, 1, 3]]), "vertex 3"),
        ((TRIANGLE, [[0, 1, -1]]), "vertex -1"),
        ((TRIANGLE, [[0, 1]]), "triangles"),
        ((TRIANGLE, [[0.0, 1.0, 2.0]]), "integers"),
        ((TRIANGLE[:, :2], [[0, 1, 2]]), "positions"),
        ((TRIANGLE, [[0, 1, 2]], TRIANGLE[:2]), "normals"),
        ((TRIANGLE, [[0, 1, 2]], None, TRIANGLE[:2]), "colors"),
    ],
)
def test_meshes_that_lie_are_refused(arguments, word):
    with pytest.raises(UserError, match=word) as error:
        Mesh(*(np.array(a) if a is not None else None for a in arguments))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"size": (0, 10)}, "size"),
        ({"size": (10, 20000)}, "16384"),
        ({"size": (10.5, 20)}, "size"),
        ({"size": 10}, "size"),
        ({"path": "quick"}, "portable"),
        ({"threads": 0}, "threads"),
        ({"background": "pink"}, "background"),
        ({"background": (0, 0, 2)}, "background"),
        ({"path": "fast", "backend": "torch:cpu"}, "portable"),
    ],
)
def test_options_that_cannot_be_are_refused(options, word):
    with pytest.raises(UserError, match=word) as error:
        draw.render(draw.load("cube"), **options)
    assert "\n" not in str(error.value)


def test_cameras_and_lights_that_cannot_be_are_refused():
    for bad in (
        {"near": 0.0},
        {"near": 5.0, "far": 1.0},
        {"fov": 180.0},
        {"eye": (np.nan, 0, 0)},
        {"height": 0.0},
    ):
        with pytest.raises(UserError):
            Camera(**bad)
    with pytest.raises(UserError):
        Light((0.0, 0.0, 0.0))
    for camera in (Camera((0, 0, 0), (0, 0, 0)), Camera((0, 1, 0), (0, 0, 0))):
        with pytest.raises(UserError, match="camera"):
            draw.render(draw.load("cube"), (8, 8), camera=camera)
    with pytest.raises(UserError, match="transform"):
        Node(Mesh(TRIANGLE, [[0, 1, 2]]), np.full((4, 4), np.nan))


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_drawn_of_nothing(path):
    empty = Mesh(np.zeros((0, 3)), np.zeros((0, 3), int))
    flat = Mesh(np.zeros((3, 3)), [[0, 1, 2], [0, 0, 0]])
    for scene in (Scene(()), Scene((Node(empty),)), Scene((Node(flat),)), Scene((Node(empty), Node(flat)))):
        frame = draw.render(scene, (20, 10), path=path)
        assert (frame.ids == -1).all() and (frame.depth == 1).all()
        assert frame.statistics.pixels_lit == 0


@pytest.mark.parametrize("path", PATHS)
def test_backgrounds(path):
    scene = Scene(())
    assert (draw.render(scene, (4, 3), path=path, background="transparent").rgba == 0).all()
    assert (draw.render(scene, (4, 3), path=path, background=(1, 0, 0)).rgba == [255, 0, 0, 255]).all()
    rows = draw.render(scene, (4, 2), path=path, background=Background((0, 0, 0, 1), (1, 1, 1, 1))).rgba
    assert (rows[0, :, :3] == 64).all() and (rows[1, :, :3] == 191).all()  # a quarter, three quarters


@pytest.mark.parametrize("path", PATHS)
def test_a_white_wall_that_faces_the_light_is_lit_by_lamberts_law(path):
    """Rough, no ambient light: sRGB of cos(angle) plus a highlight that is small off the mirror direction."""
    mesh = Mesh(
        TRIANGLE * 50,
        [[0, 1, 2]],
        np.tile([0.0, 0.0, 1.0], (3, 1)),
        material=Material((1, 1, 1), roughness=1),
    )
    camera = Camera((0.0, 0.0, 3.0))
    for angle in (0.0, 45.0, 60.0, 120.0):
        towards = np.array([np.sin(np.radians(angle)), 0, np.cos(np.radians(angle))])
        light = Light(tuple(-towards), (0.5, 0.5, 0.5))
        scene = Scene((Node(mesh),), lights=(light,), sky=(0, 0, 0), ground=(0, 0, 0))
        red = draw.render(scene, (9, 9), camera=camera, path=path).rgba[4, 4, 0] / 255
        linear = ((red + 0.055) / 1.055) ** 2.4 if red > 0.04045 else red / 12.92
        expected = 0.5 * max(0.0, float(np.cos(np.radians(angle))))
        assert expected * 0.94 - 0.01 <= linear <= expected * 1.02 + 0.01


@pytest.mark.parametrize("path", PATHS)
def test_colours_are_interpolated_in_perspective(path):
    """On a floor that recedes, the middle of the picture is not the middle of the floor."""
    quad = np.array([[-50.0, 0, -1], [50, 0, -1], [50, 0, -11], [-50, 0, -11]])
    red = np.array([[0.0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0]])
    mesh = Mesh(
        quad, [[0, 1, 2], [0, 2, 3]], np.tile([0.0, 1.0, 0.0], (4, 1)), red, Material((1, 1, 1), roughness=1)
    )
    scene = Scene((Node(mesh),), lights=(), sky=(0.96, 0.96, 0.96), ground=(0.96, 0.96, 0.96))
    camera = Camera((0.0, 1.0, 0.0), (0.0, 1.0, -1.0), near=0.1, far=30.0, fov=90.0)
    frame = draw.render(scene, (65, 64), camera=camera, path=path)
    rows = np.arange(40, 62)
    distance = 32.0 / (rows + 0.5 - 32.0)  # of what each row shows
    expected = 0.96 * ((distance - 1) / 10 + 0.04)  # the even sky times the colour and 4 % reflection
    code = frame.rgba[rows, 32, 0] / 255
    linear = np.where(code > 0.04045, ((code + 0.055) / 1.055) ** 2.4, code / 12.92)
    seen = frame.ids[rows, 32] >= 0
    assert seen.sum() > 15
    np.testing.assert_allclose(linear[seen], expected[seen], atol=0.005)  # an 8-bit step


def test_arrays_cannot_be_changed_behind_the_scenes_back():
    points = TRIANGLE.astype(np.float32)
    mesh = Mesh(points, [[0, 1, 2]])
    points[0] = 9
    assert mesh.positions[0, 0] == -1
    with pytest.raises(ValueError, match="read-only"):
        mesh.positions[0] = 0


def test_a_frame_is_saved_whole_or_not_at_all(tmp_path):
    frame = draw.render(draw.load("cube"), (40, 30))
    assert frame.rgba.shape == (30, 40, 4) and frame.rgba.dtype == np.uint8
    assert frame.depth.dtype == np.float32 and frame.ids.dtype == np.int32
    frame.save(tmp_path / "a" / "cube.png")
    picture = np.asarray(Image.open(tmp_path / "a" / "cube.png"))
    assert np.array_equal(picture, frame.rgba[..., :3])
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(frame._repr_png_()))), picture)
    clear = draw.render(draw.load("cube"), (40, 30), background="transparent")
    assert Image.open(io.BytesIO(clear._repr_png_())).mode == "RGBA"
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError):
        frame.save(tmp_path / "file" / "cube.png")


def test_statistics_and_progress():
    told = []
    frame = draw.render(
        draw.load("cube"),
        (40, 30),
        path="portable",
        progress=lambda key, fraction=None, /, **values: told.append(key),
    )
    assert told[0] == "progress.vertex"
    assert (frame.statistics.triangles, frame.statistics.vertices) == (12, 24)
    assert set(frame.statistics.seconds) == {"vertex", "raster", "shade"}
    assert frame.statistics.path == "portable"


def test_two_threads_may_draw_at_once():
    from concurrent.futures import ThreadPoolExecutor

    scene = draw.load("sphere:5")
    expected = draw.render(scene, (160, 120), path="fast")
    with ThreadPoolExecutor(3) as pool:
        for frame in pool.map(lambda _: draw.render(scene, (160, 120), path="fast"), range(12)):
            assert np.array_equal(frame.rgba, expected.rgba)


def test_the_current_backend_is_used():
    with engine.using("torch:cpu"):
        assert draw.render(draw.load("cube"), (16, 12)).statistics.path == "portable"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Material(base_color=(1, 1)), "base_color"),
        (lambda: Material(alpha="1"), "5 numbers"),
        (lambda: Material(emissive="a"), "emissive"),
        (lambda: Material(base_color_texture=np.zeros((2, 2, 4), np.uint8)), "draw.Texture"),
        (lambda: draw.Light(direction=(1, 0)), "direction"),
        (lambda: draw.Light(color="red"), "3 numbers"),
        (lambda: Scene((), sky=(float("nan"), 1, 1)), "sky"),
        (lambda: Camera(height=float("nan")), "height"),
        (lambda: draw.Background((float("nan"),) * 4), "background"),
        (lambda: draw.render(Scene(()), threads=2.5), "threads"),
        (lambda: draw.render(Scene(()), wireframe=[]), "wireframe"),
    ],
)
def test_numbers_that_are_none_are_named(make, words):
    with pytest.raises(UserError, match=words):
        make()


@pytest.mark.parametrize("path", ["fast", "portable"])
@pytest.mark.parametrize("length", [1e20, 1e-16, 1e-30])
def test_normals_may_have_any_length(path, length):
    mesh = draw.load("sphere:2").nodes[0].mesh
    same = [
        draw.render(Scene((Node(replace(mesh, normals=mesh.normals * np.float32(k))),)), (40, 30), path=path)
        for k in (1, length)
    ]
    assert np.abs(same[0].rgba.astype(int) - same[1].rgba).max() <= 1


@pytest.mark.parametrize("kind", ["point", "spot"])
def test_a_light_may_be_far_away_and_cast_shadows(kind):
    light = draw.Light(kind=kind, position=(0, 0, 1e17))
    frame = draw.render(Scene(draw.load("cube").nodes, lights=(light,)), (16, 16), shadows=True)
    assert (frame.ids >= 0).any()
