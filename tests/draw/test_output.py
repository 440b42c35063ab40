"""Files decoded by somebody else's code hold what was drawn."""

import os
import struct
import subprocess
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageSequence

from whygpu import draw
from whygpu.draw.output import FORMATS, Film, format_of, save
from whygpu.draw.output.film import rgba_of
from whygpu.draw.output.region import bounds, changed
from whygpu.engine import UserError

Pixels = NDArray[np.uint8]
COUNT, WIDTH, HEIGHT = 6, 96, 64
MOVING = [suffix for suffix, kind in FORMATS.items() if kind.moves and kind.suffix not in (".npy", ".npz")]


def film(transparent: bool, count: int = COUNT, fps: float = 25.0) -> Film:
    return Film(WIDTH, HEIGHT, count, fps, transparent)


@pytest.fixture(scope="module")
def opaque() -> list[draw.Frame]:
    return list(draw.frames(draw.plan(draw.load("torus-knot"), (WIDTH, HEIGHT), spin=True, count=COUNT)))


@pytest.fixture(scope="module")
def clear() -> list[draw.Frame]:
    """Some pixels with half their alpha, as edges and glass have it."""
    plan = draw.plan(
        draw.load("torus-knot"), (WIDTH, HEIGHT), spin=True, count=COUNT, background="transparent"
    )
    drawn = list(draw.frames(plan))
    for frame in drawn:
        frame.rgba.setflags(write=True)
        frame.rgba[20:24, :, 3] //= 2
    return drawn


def needs(suffix: str) -> None:
    if FORMATS[suffix].needs:
        pytest.importorskip(str(FORMATS[suffix].needs))


def decoded(path: Path) -> list[Pixels]:
    """All pictures of a file, (height, width, 4)."""
    if path.suffix == ".mp4":
        import av

        with av.open(str(path)) as container:
            rgb = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        return [np.dstack([pixels, np.full(pixels.shape[:2], 255, np.uint8)]) for pixels in rgb]
    with Image.open(path) as image:
        return [np.asarray(frame.convert("RGBA")) for frame in ImageSequence.Iterator(image)]


def decibels(seen: Pixels, drawn: Pixels) -> float:
    """Peak signal to noise where something is."""
    there = drawn[..., 3] > 0
    error = (seen[..., :3].astype(float) - drawn[..., :3])[there]
    return float(10 * np.log10(255**2 / max(float((error**2).mean()), 1e-9)))


@pytest.mark.parametrize("background", ["opaque", "clear"])
@pytest.mark.parametrize("suffix", [".png", ".webp", ".apng"])
def test_a_still_is_kept_exactly(suffix: str, background: str, tmp_path: Path, request: Any) -> None:
    frame = request.getfixturevalue(background)[0]
    path = tmp_path / f"still{suffix}"
    save(path, [frame], film(background == "clear", 1))
    (seen,) = decoded(path)
    np.testing.assert_array_equal(seen, frame.rgba)


@pytest.mark.parametrize("background", ["opaque", "clear"])
def test_apng_keeps_a_film_exactly(background: str, tmp_path: Path, request: Any) -> None:
    frames = request.getfixturevalue(background)
    save(tmp_path / "film.apng", frames, film(background == "clear"))
    for seen, frame in zip(decoded(tmp_path / "film.apng"), frames, strict=True):
        np.testing.assert_array_equal(seen, frame.rgba)


@pytest.mark.parametrize("suffix", [".webp", ".avif", ".mp4", ".gif"])
def test_a_film_is_close_to_what_was_drawn(suffix: str, opaque: list[draw.Frame], tmp_path: Path) -> None:
    needs(suffix)
    save(tmp_path / f"film{suffix}", opaque, film(False))
    seen = decoded(tmp_path / f"film{suffix}")
    assert len(seen) == COUNT
    for pixels, frame in zip(seen, opaque, strict=True):
        # a small picture is all edges, and 4:2:0 halves the colours of those
        assert decibels(pixels, frame.rgba) > (27 if suffix == ".mp4" else 30)
        assert (pixels[..., 3] == 255).all()


@pytest.mark.parametrize("suffix", [".webp", ".avif", ".gif"])
def test_a_transparent_film_lets_through(suffix: str, clear: list[draw.Frame], tmp_path: Path) -> None:
    save(tmp_path / f"film{suffix}", clear, film(True))
    for pixels, frame in zip(decoded(tmp_path / f"film{suffix}"), clear, strict=True):
        alpha = frame.rgba[..., 3]
        if suffix == ".gif":
            np.testing.assert_array_equal(pixels[..., 3], np.where(alpha >= 128, 255, 0))
        elif suffix == ".webp":
            np.testing.assert_array_equal(pixels[..., 3], alpha)
        else:
            assert np.abs(pixels[..., 3].astype(int) - alpha).mean() < 2
        solid = np.where(alpha[..., None] == 255, frame.rgba, 0)
        assert decibels(pixels, solid) > 27


@pytest.mark.parametrize("fps", [25.0, 30.0, 12.5])
@pytest.mark.parametrize("suffix", [".gif", ".apng", ".webp", ".avif"])
def test_a_film_loops_and_keeps_its_time(
    suffix: str, fps: float, opaque: list[draw.Frame], tmp_path: Path
) -> None:
    path = tmp_path / f"film{suffix}"
    save(path, opaque, film(False, fps=fps))
    lasts = []
    with Image.open(path) as image:
        assert image.n_frames == COUNT
        if suffix != ".avif":  # says nothing where it loops without end
            assert image.info["loop"] == 0
        for place in range(COUNT):
            image.seek(place)
            image.load()
            lasts.append(image.info["duration"])
    unit = {".gif": 10, ".apng": 0.02}.get(suffix, 1)
    assert sum(lasts) == pytest.approx(1000 * COUNT / fps, abs=unit * COUNT if suffix == ".apng" else unit)
    assert max(lasts) - min(lasts) <= unit


def test_mp4_plays_everywhere(opaque: list[draw.Frame], tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    path = tmp_path / "film.mp4"
    save(path, opaque, film(False, fps=30000 / 1001))
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert (stream.average_rate.numerator, stream.average_rate.denominator) == (30000, 1001)
        assert stream.frames == COUNT
        assert stream.codec_context.colorspace == 1  # BT.709
    raw = path.read_bytes()
    assert raw.index(b"moov") < raw.index(b"mdat")  # the index first


@pytest.mark.parametrize("color", [(200, 30, 30), (30, 200, 30), (30, 30, 200), (255, 255, 255), (0, 0, 0)])
def test_mp4_has_the_colours_of_bt_709(color: tuple[int, int, int], tmp_path: Path) -> None:
    """ITU-R BT.709, section 3, quantised as its section 4 says."""
    av = pytest.importorskip("av")
    flat = np.full((32, 32, 4), (*color, 255), np.uint8)
    save(tmp_path / "flat.mp4", [flat, flat], Film(32, 32, 2, transparent=False))
    with av.open(str(tmp_path / "flat.mp4")) as container:
        planes = next(container.decode(video=0)).to_ndarray()  # Y above U above V
    red, green, blue = (part / 255 for part in color)
    luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    expected = (
        16 + 219 * luma, 128 + 224 * (blue - luma) / 1.8556, 128 + 224 * (red - luma) / 1.5748
    )  # fmt: skip
    seen = [planes[8, 8], planes[33, 3], planes[41, 3]]
    np.testing.assert_allclose(seen, expected, atol=1.01)


def test_a_gif_has_one_palette(opaque: list[draw.Frame], tmp_path: Path) -> None:
    save(tmp_path / "film.gif", opaque, film(False))
    raw = (tmp_path / "film.gif").read_bytes()
    assert raw[:6] == b"GIF89a"
    assert struct.unpack_from("<HH", raw, 6) == (WIDTH, HEIGHT)
    at = 13 + 3 * 256 + 19  # screen, palette, loop
    local_palettes = 0
    while raw[at : at + 1] != b";":
        if raw[at : at + 1] == b"!":
            at += 2
        else:
            assert raw[at : at + 1] == b","
            local_palettes += raw[at + 9] >> 7
            at += 11
        while raw[at]:
            at += raw[at] + 1
        at += 1
    assert at == len(raw) - 1
    assert local_palettes == 0


def test_a_gif_of_few_colours_is_exact(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    colors = rng.integers(0, 256, (255, 3), np.uint8)
    pictures = [np.dstack([colors[rng.integers(0, 255, (40, 50))], np.full((40, 50), 255, np.uint8)])] * 2
    pictures[1] = np.roll(pictures[0], 3, 1)
    save(tmp_path / "few.gif", pictures, Film(50, 40, 2, 10))
    for seen, picture in zip(decoded(tmp_path / "few.gif"), pictures, strict=True):
        np.testing.assert_array_equal(seen, picture)


@pytest.mark.parametrize("suffix", [".gif", ".webp", ".apng", ".avif"])
def test_a_picture_of_nothing_and_pictures_that_stand_still(suffix: str, tmp_path: Path) -> None:
    nothing = np.zeros((8, 8, 4), np.uint8)
    save(tmp_path / f"nothing{suffix}", [nothing, nothing, nothing], Film(8, 8, 3))
    assert all((pixels[..., 3] == 0).all() for pixels in decoded(tmp_path / f"nothing{suffix}"))


def test_arrays_are_the_frames(opaque: list[draw.Frame], tmp_path: Path) -> None:
    save(tmp_path / "one.npy", opaque[:1], film(False, 1))
    save(tmp_path / "all.npy", opaque, film(False))
    save(tmp_path / "one.npz", opaque[:1], film(False, 1))
    save(tmp_path / "all.npz", opaque, film(False))
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), opaque[0].rgba)
    np.testing.assert_array_equal(np.load(tmp_path / "all.npy"), np.stack([f.rgba for f in opaque]))
    with np.load(tmp_path / "one.npz") as one, np.load(tmp_path / "all.npz") as together:
        assert {"rgba", "depth", "ids"} <= set(one)
        for name in one:
            np.testing.assert_array_equal(one[name], getattr(opaque[0], name))
            np.testing.assert_array_equal(together[name], np.stack([getattr(f, name) for f in opaque]))
            assert one[name].dtype == getattr(opaque[0], name).dtype
    with pytest.raises(UserError, match=r"\.npy"):
        save(tmp_path / "bare.npz", [opaque[0].rgba], film(False, 1))


def test_the_same_frames_give_the_same_bytes(opaque: list[draw.Frame], tmp_path: Path) -> None:
    for suffix in (".gif", ".apng", ".webp", ".npz"):
        for name in ("a", "b"):
            save(tmp_path / f"{name}{suffix}", opaque, film(False))
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", [*MOVING, ".npy"])
def test_pictures_are_fetched_one_by_one_and_let_go(suffix: str, tmp_path: Path) -> None:
    needs(suffix)
    living: list[weakref.ref[Any]] = []
    most = 0

    def pictures() -> Iterator[Pixels]:
        nonlocal most
        for place in range(24):
            made = np.full((32, 32, 4), place, np.uint8)
            made[..., 3] = 255
            living.append(weakref.ref(made))
            most = max(most, sum(reference() is not None for reference in living))
            yield made
            del made

    save(tmp_path / f"film{suffix}", pictures(), Film(32, 32, 24, transparent=False))
    assert most <= 3


@pytest.mark.parametrize("suffix", [*MOVING, ".npy", ".npz"])
def test_what_fails_half_way_leaves_the_old_file(
    suffix: str, opaque: list[draw.Frame], tmp_path: Path
) -> None:
    needs(suffix)

    def failing() -> Iterator[draw.Frame]:
        yield from opaque[:3]
        raise KeyboardInterrupt

    path = tmp_path / f"film{suffix}"
    path.write_bytes(b"mine")
    with pytest.raises(KeyboardInterrupt):
        save(path, failing(), film(False))
    with pytest.raises(UserError, match="3 of 6"):
        save(path, opaque[:3], film(False))
    assert path.read_bytes() == b"mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(small)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    noise = np.random.default_rng(0).integers(0, 256, (4, 128, 128, 4), np.uint8)
    noise[..., 3] = 255
    try:
        for suffix, kind in FORMATS.items():
            if not kind.installed or suffix == ".npz":
                continue
            count = 4 if kind.moves else 1
            with pytest.raises(UserError, match="disk is full"):
                save(small / f"x{suffix}", list(noise), Film(128, 128, count, transparent=False))
            assert list(small.iterdir()) == [], suffix
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize(
    ("path", "given", "words"),
    [
        ("x.png", Film(8, 8, 2), "one picture, not 2.*gif"),
        ("x.mp4", Film(8, 8, 1, transparent=False), "no film"),
        ("x.mp4", Film(8, 8, 2), "transparency"),
        ("x.mp4", Film(9, 8, 2, transparent=False), "10x8"),
        ("x.gif", Film(8, 8, 2, 100), "at most 50"),
        ("x.webp", Film(16384, 8), "16383"),
        ("x.jpg", Film(8, 8), r"\.png, \.gif"),
        ("x.gfi", Film(8, 8), r"did you mean \.gif"),
        ("x", Film(8, 8), "no suffix"),
    ],
)
def test_what_a_type_cannot_hold_is_refused_before_any_work(path: str, given: Film, words: str) -> None:
    def never() -> Iterator[Pixels]:
        raise AssertionError("nothing may be drawn")
        yield

    needs(Path(path).suffix if Path(path).suffix in FORMATS else ".png")
    with pytest.raises(UserError, match=words) as error:
        save(path, never(), given)
    assert "\n" not in str(error.value)
    assert not Path(path).exists()


def test_a_missing_extra_is_said_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'whygpu\[video\]'"):
        format_of("x.mp4").check(Film(8, 8, 2, transparent=False), "x.mp4")


def test_pictures_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for wrong in (np.zeros((8, 8, 3), np.uint8), np.zeros((8, 8, 4)), np.zeros((4, 8, 4), np.uint8)):
        with pytest.raises(UserError, match="picture 0"):
            save(tmp_path / "x.png", [wrong], Film(8, 8))
    assert list(tmp_path.iterdir()) == []


@given(st.integers(1, 200), st.floats(0.2, 240), st.sampled_from([100, 1000]))
def test_durations_add_up(count: int, fps: float, units: int) -> None:
    given = Film(1, 1, count, fps)
    lasts = given.durations(units)
    assert abs(sum(lasts) - units * count / float(given.rate)) <= 0.5
    assert all(abs(last - units / float(given.rate)) < 1 + 1e-9 for last in lasts)
    assert float(given.rate) == pytest.approx(fps, abs=1e-3)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 8)), max_size=4))
def test_a_region_holds_what_changed_and_no_more(points: list[tuple[int, int]]) -> None:
    before = np.zeros((7, 9, 4), np.uint8)
    now = before.copy()
    for y, x in points:
        now[y, x, 2] = 1
    region = changed(before, now)
    if not points:
        assert (region.width, region.height) == (1, 1)
        return
    rows, columns = [y for y, _ in points], [x for _, x in points]
    assert (region.left, region.top) == (min(columns), min(rows))
    assert (region.width, region.height) == (max(columns) - min(columns) + 1, max(rows) - min(rows) + 1)
    assert bounds(now[..., 2] > 0) == region


def test_a_frame_saves_itself_by_its_suffix(opaque: list[draw.Frame], tmp_path: Path) -> None:
    for suffix in (".png", ".webp", ".npy"):
        opaque[0].save(tmp_path / f"frame{suffix}")
    np.testing.assert_array_equal(np.load(tmp_path / "frame.npy"), rgba_of(opaque[0]))
    np.testing.assert_array_equal(decoded(tmp_path / "frame.webp")[0], opaque[0].rgba)
