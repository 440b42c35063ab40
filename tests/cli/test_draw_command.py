"""``whygpu draw``: pictures and films, as a person and as a program ask for them."""

import contextlib
import io
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from PIL import Image, ImageSequence
from rich.cells import cell_len

from whygpu import draw
from whygpu.cli.drawing_document import schema
from whygpu.cli.drawing_targets import file_names
from whygpu.cli.main import main
from whygpu.draw.output import FORMATS
from whygpu.story.text import load_catalogue

ROOT = Path(__file__).parents[2]
SMALL = ("--size", "64x48")


def here(*arguments: str) -> tuple[int, str, str]:
    """The command within this process: exit code, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(["draw", *arguments])
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()


def drawn(*arguments: str) -> str:
    code, out, err = here(*arguments)
    assert code == 0, err
    return out


def refused(*arguments: str) -> str:
    """The one line with which it ends."""
    code, out, err = here(*arguments)
    assert (code, out) == (2, ""), err
    (line,) = err.strip().splitlines()
    assert line.startswith("whygpu: ")
    return line


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANG", "C.UTF-8")
    return tmp_path


def test_schema_is_documented_and_kept(inside: Path) -> None:
    documented = json.loads((ROOT / "docs" / "draw.schema.json").read_text(encoding="utf-8"))
    assert documented == json.loads(json.dumps(schema()))
    still = json.loads(drawn("cube", "-o", "a.png", *SMALL, "--json"))
    turn = json.loads(
        drawn("cube", "-o", "a.gif", "--turntable", "--frames", "3", *SMALL, "--ledger", "--json")
    )
    for document in (still, turn):
        jsonschema.validate(document, documented)
    frame = draw.render(draw.load("cube"), (64, 48))
    (picture,) = still["pictures"]
    assert (picture["file"], picture["size"], picture["frames"]) == ("a.png", [64, 48], 1)
    assert picture["triangles"] == 12
    assert picture["pixels_lit"] == (frame.ids >= 0).sum()
    assert picture["bytes"] == (inside / "a.png").stat().st_size
    assert still["ledger"] is None
    assert turn["pictures"][0]["frames"] == 3
    products = {(line["stage"], line["name"]) for line in turn["ledger"] if line["is_product"]}
    assert ("vertex", "model-view-projection") in products
    assert sum(line["share"] for line in turn["ledger"]) == pytest.approx(1)
    stages = [line["stage"] for line in turn["ledger"]]
    assert list(dict.fromkeys(stages)) == ["vertex", "raster", "shade"]


def test_the_ledger_of_a_film_counts_every_frame(inside: Path) -> None:
    counts = []
    for frames in ("2", "6"):
        arguments = ("cube", "-o", "a.webp", "--turntable", "--frames", frames, *SMALL, "--ledger", "--json")
        lines = json.loads(drawn(*arguments))["ledger"]
        (line,) = (line for line in lines if line["name"] == "model-view-projection")
        assert line["flop"] == int(frames) * 2 * 24 * 4 * 4  # 24 vertices, (1, 4) @ (4, 4) each
        counts.append(line["products"])
    assert counts == [2, 6]


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_type_of_file(inside: Path, suffix: str) -> None:
    if FORMATS[suffix].needs:
        pytest.importorskip(str(FORMATS[suffix].needs))
    film = FORMATS[suffix].moves
    drawn("cube", "-o", f"x{suffix}", *SMALL, *(("--turntable", "--frames", "4") if film else ()))
    plan = draw.plan(draw.load("cube"), (64, 48), spin=film, count=4 if film else None)
    expected = np.stack([frame.rgba for frame in draw.frames(plan)])
    if suffix == ".npy":
        np.testing.assert_array_equal(np.load("x.npy"), expected)
    elif suffix == ".npz":
        with np.load("x.npz") as arrays:
            np.testing.assert_array_equal(arrays["rgba"], expected)
    elif suffix != ".mp4":
        with Image.open(f"x{suffix}") as image:
            seen = np.stack([np.asarray(f.convert("RGBA")) for f in ImageSequence.Iterator(image)])
        if FORMATS[suffix].lossless == "yes":
            np.testing.assert_array_equal(seen, expected)
        assert np.abs(seen.astype(int) - expected).mean() < 3
    assert [path.name for path in inside.iterdir()] == [f"x{suffix}"]


def test_stdout_holds_the_png_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "whygpu", "draw", "cube", "-o", "-", *SMALL]
    for extra in ([], ["--json", "--ledger"]):
        done = subprocess.run([*command, *extra], capture_output=True, cwd=tmp_path, check=True)
        with Image.open(io.BytesIO(done.stdout)) as image:
            seen = np.asarray(image.convert("RGBA"))
        np.testing.assert_array_equal(seen, draw.render(draw.load("cube"), (64, 48)).rgba)
        assert done.stdout.endswith(b"IEND\xaeB`\x82")
        if extra:
            assert json.loads(done.stderr)["pictures"][0]["file"] == "-"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, check=False, env=buffered
        )
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"disk is full" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_several_scenes_never_overwrite_one_another(inside: Path) -> None:
    out = drawn("cube", "sphere:2", "sphere:3", "cube", "-o", "new/pictures", *SMALL, "--json")
    files = [picture["file"] for picture in json.loads(out)["pictures"]]
    names = ["cube.png", "sphere-2.png", "sphere-3.png", "cube-2.png"]
    assert files == [f"new/pictures/{name}" for name in names]
    assert sorted(path.name for path in (inside / "new" / "pictures").iterdir()) == sorted(names)
    drawn("cube", "-o", "new/", *SMALL, "--format", "npy")
    drawn("cube", "-o", "new", *SMALL, "--turntable", "--frames", "2")
    assert (inside / "new" / "cube.npy").is_file()
    assert (inside / "new" / "cube.webp").is_file()


def test_file_names() -> None:
    scenes = ["a/duck.glb", "b/Duck.obj", "duck.2.glb", "..", "sphere:3", "a/模型 1.stl", ".glb", "a b/c"]
    assert file_names(scenes, ".png") == [
        "duck.png", "Duck-2.png", "duck.2.png", "scene.png", "sphere-3.png", "模型-1.png", "glb.png", "c.png"
    ]  # fmt: skip


def test_the_options_reach_the_picture(inside: Path) -> None:
    view = draw.View(75.0, 10.0, 20.0, 9.0)
    lights = [draw.Light((0.0, -1.0, 0.0), (0.5, 0.5, 0.5)), draw.Light((-1.0, 0.0, 0.0))]
    red = (1.0, 0.0, 0.0, 0x80 / 255)
    plan = draw.plan(draw.load("cube"), (64, 48), view=view, fov=20.0, lights=lights, background=red)
    arguments = ("--view", "75,10,9", "--fov", "20", "--background", "#ff000080")
    drawn("cube", "-o", "x.npy", *SMALL, *arguments, "--light", "0,90,0.5", "--light", "90,0")
    expected = next(draw.frames(plan)).rgba
    seen = np.load("x.npy")
    assert np.abs(seen.astype(int) - expected).max() <= 1  # sines of right angles are not quite 0
    assert tuple(seen[0, 0]) == (255, 0, 0, 128)
    drawn("cube", "-o", "y.npy", *SMALL, "--background", "transparent", "--view", "-30,-20")
    assert np.load("y.npy")[0, 0, 3] == 0
    drawn("cube", "-o", "z.npy", *SMALL, "--path", "portable", "--background", "navy", "--threads", "1")
    assert tuple(np.load("z.npy")[0, 0]) == (0, 0, 128, 255)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cube",), ("--output", "cube.png")),
        (("-o", "x.png"), ("SCENE", "torus-knot")),
        (("cube", "-o", "x.gfi"), (".gif",)),
        (("cube", "-o", "x"), ("suffix", ".png")),
        (("cube", "-o", "no/such/x.png"), ("no folder no/such", "mkdir")),
        (("cube", "sphere", "-o", "x.png"), ("folder",)),
        (("cube", "sphere", "-o", "-"), ("folder",)),
        (("cube", "sphere", "-o", "taken"), ("a file stands",)),
        (("cube", "-o", "taken/x.png"), ("taken",)),
        (("cube", "-o", "x.png", "--format", "gif"), ("--format",)),
        (("cube", "-o", "./", "--format", "bmp"), ("bmp", ".png")),
        (("cube", "-o", "x.mp4"), ("--turntable", "--animation")),
        (("cube", "-o", "x.png", "--turntable"), ("72", ".gif")),
        (("cube", "-o", "x.gif", "--turntable", "--fps", "60"), ("50",)),
        (("cube", "-o", "x.gif", "--frames", "9"), ("--turntable",)),
        (("cube", "-o", "x.png", "--view", "12"), ("30,20",)),
        (("cube", "-o", "x.png", "--view", "0,91"), ("-90 and 90",)),
        (("cube", "-o", "x.png", "--view", "0,0,-1"), ("distance",)),
        (("cube", "-o", "x.png", "--view", "nan,0"), ("30,20",)),
        (("cube", "-o", "x.png", "--light", "0,0,-1"), ("intensity",)),
        (("cube", "-o", "x.png", "--fov", "180"), ("180",)),
        (("cube", "-o", "x.png", "--background", "yelow"), ("yellow",)),
        (("cube", "-o", "x.png", "--camera", "0"), ("no camera",)),
        (("cube", "-o", "x.png", "--camera", "0", "--view", "0,0"), ("--camera and --view",)),
        (("cube", "-o", "x.gif", "--camera", "0", "--turntable"), ("--camera and --turntable",)),
        (("cube", "-o", "x.gif", "--animation", "Walk"), ("no animation",)),
        (("cube", "-o", "x.png", "--time", "1"), ("no animation",)),
        (("cube", "-o", "x.png", "--samples", "3"), ("4",)),
    ],
    ids=" ".join,
)  # fmt: skip
def test_bad_input_is_one_line(inside: Path, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    (inside / "taken").write_text("mine")
    line = refused(*arguments)
    for word in words:
        assert word in line
    assert [path.name for path in inside.iterdir()] == ["taken"]


def test_a_film_needs_what_holds_it(inside: Path) -> None:
    pytest.importorskip("av")
    film = ("cube", "-o", "x.mp4", "--turntable", "--frames", "2")
    assert "34x32" in refused(*film, "--size", "33x32")
    assert "transparency" in refused(*film, "--background", "transparent")
    assert list(inside.iterdir()) == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_tables_and_lines_in_both_languages(inside: Path, language: str) -> None:
    texts = load_catalogue(language)
    listed = drawn("--lang", language)
    for name in draw.BUILT_IN:
        assert name in listed
        assert texts[f"drawing.scene.{name}"] in listed
    for suffix in FORMATS:
        assert suffix in listed
    film = ("cube", "-o", "x.gif", "--turntable", "--frames", "2", *SMALL)
    out = drawn(*film, "--ledger", "--lang", language)
    for key in ("ledger", "stage.raster", "step.edge functions", "step.lighting"):
        assert texts[f"drawing.{key}"] in out
    assert max(cell_len(line) for line in (listed + out).splitlines()) <= 100


def test_the_list_as_json(inside: Path) -> None:
    listed = json.loads(drawn("--json"))
    assert listed["scenes"] == list(draw.BUILT_IN)
    assert list(listed["formats"]) == list(FORMATS)


def test_a_line_each_tenth_where_no_terminal_is(inside: Path) -> None:
    code, out, err = here("cube", "-o", "x.webp", "--turntable", "--frames", "30", *SMALL)
    assert code == 0
    assert err.splitlines()[0] == "3 of 30 frames (10 %)"
    assert len(err.splitlines()) == 10
    assert "30 frames" in out
    assert here("cube", "-o", "x.png", *SMALL)[2] == ""


def test_files_that_move(inside: Path) -> None:
    pytest.importorskip("whygpu.draw.rig")
    source = ROOT / "tests" / "draw" / "moving_gltf.py"
    runpy.run_path(str(source))["moving_triangle"](inside / "m.gltf")
    film = json.loads(drawn("m.gltf", "-o", "m.webp", "--animation", "Rise", "--fps", "4", *SMALL, "--json"))
    (picture,) = film["pictures"]
    assert (picture["frames"], picture["fps"]) == (8, 4.0)  # two seconds
    still = json.loads(drawn("m.gltf", "-o", "m.png", "--camera", "eye", "--time", "1", *SMALL, "--json"))
    assert still["pictures"][0]["camera"] is None  # the file's own, which may move
    assert "one picture" in refused("m.gltf", "-o", "x.png", "--animation", "Rise")
    assert "did you mean Rise" in refused("m.gltf", "-o", "x.gif", "--animation", "Ries")
    drawn("m.gltf", "-o", "y.npy", "--view", "0,0", *SMALL)
    drawn("m.gltf", "-o", "z.npy", "--view", "0,0", "--up", "z", *SMALL)  # it lies flat, seen edge on
    assert len(np.unique(np.load("y.npy")[..., 0])) > len(np.unique(np.load("z.npy")[..., 0]))
    drawn("m.gltf", "-o", "m.npz", *SMALL)
    with np.load("m.npz") as arrays:
        assert set(arrays) == {"rgba", "depth", "ids", "normals"}
        there = arrays["ids"] >= 0
        np.testing.assert_allclose(np.linalg.norm(arrays["normals"][there], axis=-1), 1, atol=1e-3)


@pytest.mark.parametrize("suffix", [".gif", ".webp", ".npz"])
def test_ctrl_c_leaves_nothing(tmp_path: Path, suffix: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "whygpu", "draw", "cube", "-o", f"x{suffix}", "--turntable",
         "--frames", "100000", *SMALL],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    given_up = time.monotonic() + 60
    opened = Path(f"/proc/{process.pid}/fd")  # a film in .npz waits in a nameless file
    while not list(tmp_path.iterdir()) and time.monotonic() < given_up:
        if any(str(tmp_path) in str(link.readlink()) for link in opened.iterdir() if link.is_symlink()):
            break
        time.sleep(0.05)  # until something is being written
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []
