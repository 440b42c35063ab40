"""The exhibits as pictures: loops close, characters have glyphs, no text overlaps or leaves the sheet."""

import json
from copy import deepcopy
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from whygpu.engine import UserError
from whygpu.report import palette as of_report
from whygpu.story import exhibits
from whygpu.story.exhibits import Job, Numbers, batch, film, parallel
from whygpu.story.exhibits.canvas import HEIGHT, WIDTH, Sheet, number
from whygpu.story.exhibits.fonts import missing, width
from whygpu.story.exhibits.palette import DARK, LIGHT, css, mix, rgb
from whygpu.story.exhibits.raster import Rasteriser
from whygpu.story.text import texts

NAMES = exhibits.NAMES
FOUND: dict[str, Numbers] = {}


@pytest.fixture(scope="module")
def found() -> Any:
    """Every exhibit's numbers; the slow measurements cut short."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "VERTICES", 20_000)
        patch.setattr(batch, "PATIENCE", 0.05)
        job = Job()

        def get(name: str) -> Numbers:
            if name == "embedding" and job.model.invented:
                pytest.skip("the default model cannot be had here")
            if name not in FOUND:
                FOUND[name] = exhibits.load(name).numbers(job)
            return FOUND[name]

        yield get
    FOUND.clear()


def characters_of(shapes: Any) -> str:
    return "".join(shape.text for shape in shapes if shape.kind == "text")


@pytest.mark.parametrize("name", NAMES)
def test_loop_closes(name: str, found: Any) -> None:
    """From the last frame to the first is no larger a step than between others."""
    exhibit, numbers, t = exhibits.load(name), found(name), texts("en")
    brush = Rasteriser((192, 108))
    frames = [
        np.asarray(brush.draw([s for s in sheet.shapes if s.kind != "text"]), np.int16)
        for sheet in (exhibit.sheet(numbers, t, step / exhibit.count) for step in range(exhibit.count))
    ]
    steps = [float(np.abs(a - b).mean()) for a, b in zip(frames, frames[1:] + frames[:1], strict=True)]
    assert steps[-1] <= max(steps[:-1]) * 1.1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_texts_have_glyphs_and_keep_apart(name: str, language: str, found: Any) -> None:
    exhibit, numbers = exhibits.load(name), found(name)
    for phase in (0.0, 0.13, 0.4, 0.55, 0.8, exhibit.poster):
        shapes = exhibit.sheet(numbers, texts(language), phase).shapes
        assert missing(characters_of(shapes)) == ""
        assert meetings(shapes) == [], phase


def meetings(shapes: Any) -> list[tuple[str, str]]:
    """Pairs of texts that touch; every text lies on the sheet."""
    boxes = []
    for shape in shapes:
        if shape.kind != "text":
            continue
        x, y, size = shape.at
        wide = width(shape.text, size, shape.weight)
        left = x - {"l": 0.0, "m": wide / 2, "r": wide}[shape.anchor]
        box = (left, y - 0.72 * size, left + wide, y + 0.05 * size, shape.text)
        assert left >= 4 and left + wide <= WIDTH - 4 and y <= HEIGHT - 8, box
        boxes.append(box)
    return [
        (a[4], b[4])
        for i, a in enumerate(boxes)
        for b in boxes[:i]
        if a[0] < b[2] - 1 and b[0] < a[2] - 1 and a[1] < b[3] and b[1] < a[3]
    ]


SPREAD = st.floats(-3, 3)  # decades


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.lists(st.tuples(SPREAD, SPREAD), min_size=7, max_size=7), st.sampled_from(["en", "zh"]))
def test_labels_keep_apart_whatever_was_measured(found: Any, by: Any, language: str) -> None:
    """Other machines find other rates: the points of the rooflines lie anywhere, also on each other."""
    for name in ("same", "roofline", "batch"):
        exhibit, numbers = exhibits.load(name), found(name)
        data = deepcopy(numbers.data)
        points = list(data["stages"].values()) if name == "same" else []
        for (across, up), stage in zip(by, points, strict=False):
            stage["seconds"] *= 10**up
            if stage["flop_per_byte"] is not None:
                stage["flop_per_byte"] *= 10**across
        if name == "roofline":
            # nothing lies near prefill, which reads the weights once for many tokens
            data["intensities"]["vertex"] *= 10 ** (by[5][0] / 3)
        if name == "batch":
            data["here_peak"] = min(data["chip_peak"], data["here_peak"] * 10 ** (abs(by[6][0]) + 0.5))
        shapes = exhibit.sheet(replace(numbers, data=data), texts(language), exhibit.poster).shapes
        assert meetings(shapes) == [], name


def test_every_sentence_of_the_exhibits_can_be_drawn() -> None:
    for language in ("en", "zh"):
        file = resources.files("whygpu.story").joinpath("locales", language, "exhibits.json")
        sentences = json.loads(file.read_text(encoding="utf-8"))
        lacking = missing("".join(sentences.values()).replace("\u00a0", " "))
        assert lacking == "", f"run tools/exhibit_font.py: {lacking}"


def test_a_missing_glyph_is_said() -> None:
    sheet = Sheet(texts("en"), "rotation")
    sheet.text(10, 40, "\u0e01")  # Thai
    with pytest.raises(UserError, match="has no"):
        Rasteriser((96, 54)).draw(sheet.shapes)


def test_names_that_others_gave_are_made_to_fit() -> None:
    """A model may be called anything: Thai, control characters, a kilobyte of markup."""
    name = f"\u0e01\u202e\x00</script>{'x' * 1000}"
    for language in ("en", "zh"):
        sheet = Sheet(texts(language), "batch")
        sheet.head(model=name, chip="B200")
        assert missing("".join(shape.text for shape in sheet.shapes)) == ""
        assert max(len(shape.text) for shape in sheet.shapes) < 160
        assert any("???</script>" in shape.text for shape in sheet.shapes)


def test_every_exhibit_has_its_words(found: Any) -> None:
    for language in ("en", "zh"):
        t = texts(language)
        for name in NAMES:
            for key in ("title", "lead", "basis", "alt"):
                assert t.has(f"exhibit.{name}.{key}"), (name, key)
            if name != "embedding":
                for key in found(name).figures:
                    assert t.has(f"exhibit.{name}.figure.{key}"), (name, key)


def test_font_comes_with_its_licence() -> None:
    folder = Path(str(resources.files("whygpu.story.exhibits").joinpath("fonts")))
    assert "SIL OPEN FONT LICENSE Version 1.1" in (folder / "OFL.txt").read_text(encoding="utf-8")
    assert sum(file.stat().st_size for file in folder.glob("*.otf")) < 1_500_000


def test_palette_is_the_reports() -> None:
    for ours, theirs in ((LIGHT, of_report.LIGHT), (DARK, of_report.DARK)):
        assert {role: value for role, value in theirs.items() if role in ours} == {
            role: ours[role] for role in theirs if role in ours
        }
        assert {"paper", "ink", "draw", "think"} <= set(ours) & set(theirs)


def test_mixtures_are_the_same_in_pictures_and_pages() -> None:
    assert rgb(mix("#ff0000", "#0000ff", 0.25), "light") == (64, 0, 191)
    assert css(mix("draw", "paper", 0.25)) == "color-mix(in srgb,var(--x-draw) 25%,var(--x-paper))"
    assert mix("draw", "paper", 0.0) == "paper" and mix("draw", "paper", 1.0) == "draw"


def test_numbers_have_a_true_minus_and_no_minus_zero() -> None:
    assert number(-1.5) == "−1.500"
    assert number(-0.0001) == "0.000"


def rotation(found: Any, count: int = 6) -> Any:
    exhibit = exhibits.load("rotation")
    return list(exhibit.frames(found("rotation"), texts("zh")))[:count]


@pytest.mark.parametrize("form", ["gif", "webp", "apng", "avif", "png"])
def test_formats(form: str, found: Any, tmp_path: Path) -> None:
    frames = rotation(found)
    path = tmp_path / f"rotation.{form}"
    film.write(path, frames[:1] if form == "png" else frames, (480, 270))
    with Image.open(path) as image:
        assert image.size == (480, 270)
        assert getattr(image, "n_frames", 1) == (1 if form == "png" else 6)
        if form in ("gif", "webp", "apng"):
            assert image.info.get("loop") == 0
        seen = np.asarray(image.convert("RGB"), np.int16)
    drawn = np.asarray(Rasteriser((480, 270)).draw(frames[0].shapes), np.int16)
    assert np.abs(seen - drawn).mean() < 3


@pytest.mark.parametrize("form", ["gif", "webp", "apng"])
def test_frames_stay_as_long_as_they_are_to(form: str, found: Any, tmp_path: Path) -> None:
    times = [60, 120, 1000, 60, 300, 60]
    frames = [frame._replace(milliseconds=ms) for frame, ms in zip(rotation(found), times, strict=True)]
    path = tmp_path / f"rotation.{form}"
    film.write(path, frames, (96, 54))
    with Image.open(path) as image:
        seen = []
        for place in range(6):
            image.seek(place)
            image.load()
            seen.append(image.info["duration"])
    if form == "webp":  # Pillow gives WebP's times of the frame read last
        assert sum(seen) == pytest.approx(sum(times), abs=10)
    else:
        assert seen == times


def test_mp4(found: Any, tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    path = tmp_path / "rotation.mp4"
    frames = rotation(found)
    frames[2] = frames[2]._replace(milliseconds=3 * frames[2].milliseconds)
    film.write(path, frames, (480, 270))
    with av.open(str(path)) as container:
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(pictures) == 8 and pictures[0].shape == (270, 480, 3)
    with pytest.raises(UserError, match="even sides"):
        film.write(tmp_path / "odd.mp4", frames, (481, 270))


def test_the_largest_stays_below_two_megabytes(found: Any, tmp_path: Path) -> None:
    exhibit = exhibits.load("mlp")
    frames = list(exhibit.frames(found("mlp"), texts("en")))[:17]  # a quarter of them
    path = tmp_path / "mlp.webp"
    film.write(path, frames)
    assert 4 * path.stat().st_size <= 2_000_000
    with Image.open(path) as image:
        assert image.size == (960, 540)


def test_same_frame_same_pixels_whatever_was_drawn_before(found: Any) -> None:
    """What is kept of the last frame changes nothing."""
    exhibit, numbers, t = exhibits.load("cube"), found("cube"), texts("en")
    used, fresh = Rasteriser((320, 180)), Rasteriser((320, 180))
    for phase in (0.1, 0.7, 0.3):
        used.draw(exhibit.sheet(numbers, t, phase).shapes)
    shapes = exhibit.sheet(numbers, t, 0.5).shapes
    assert used.draw(shapes).tobytes() == fresh.draw(shapes).tobytes()


def test_other_sizes_are_letterboxed() -> None:
    sheet = Sheet(texts("en"), "rotation")
    sheet.rect(0, 0, WIDTH, HEIGHT, fill="draw")
    image = np.asarray(Rasteriser((400, 400), "dark").draw(sheet.shapes))
    assert tuple(image[5, 200]) == rgb("paper", "dark") and tuple(image[200, 200]) == rgb("draw", "dark")
