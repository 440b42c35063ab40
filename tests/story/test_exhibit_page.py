"""Exhibits as HTML: one file without requests, played, dragged and computed in a browser."""

import json
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whygpu.story import exhibits
from whygpu.story.exhibits import Job, Numbers
from whygpu.story.exhibits.canvas import Sheet
from whygpu.story.exhibits.page import fragment, page, script, style
from whygpu.story.exhibits.svg import Elements
from whygpu.story.text import texts

CHROMIUM = shutil.which("chromium")
NAMES = ("rotation", "cube", "mlp", "timeline")


@pytest.fixture(scope="module")
def found() -> dict[str, Numbers]:
    job = Job()
    return {name: exhibits.load(name).numbers(job) for name in NAMES}


def test_fragments_keep_apart(found: dict[str, Numbers]) -> None:
    """Ids begin with the exhibit's own name; style rules touch nothing else of the page."""
    ids: list[str] = []
    for name in NAMES:
        html = fragment(exhibits.load(name), found[name], "en")
        own = re.findall(r'\sid="([^"]+)"', html)
        assert all(i == f"x-{name}" or i.startswith(f"x-{name}-") for i in own)
        ids += own
        rules = re.search(r"<style>(.*?)</style>", html)
        assert rules is not None
        assert all(rule.startswith(f"#x-{name} ") for rule in rules[1].split("}") if rule)
        assert "http" not in re.sub(r"<script.*?</script>", "", html)
    assert len(ids) == len(set(ids))
    without = re.sub(r"@media[^{]*|/\*.*?\*/", "", style())
    selectors = [part for rule in re.findall(r"([^{}]+)\{", without) for part in rule.split(",")]
    assert all(part.strip().startswith(".x-exhibit") for part in selectors if part.strip())


def test_fragment_carries_all_numbers(found: dict[str, Numbers]) -> None:
    html = fragment(exhibits.load("cube"), found["cube"], "zh")
    data = re.search(r'<script type="application/json" class="x-numbers">(.*?)</script>', html)
    assert data is not None and json.loads(data[1]) == json.loads(json.dumps(found["cube"].as_dict()))
    assert 'lang="zh-Hans"' in html and "立方体" in html


def test_thin_fragment_keeps_its_length(found: dict[str, Numbers]) -> None:
    cube = exhibits.load("cube")
    sizes, lengths = [], []
    for thin in (1, 3):
        html = fragment(cube, found["cube"], "en", thin=thin)
        data = json.loads(re.search(r'class="x-data">(.*?)</script>', html)[1])  # type: ignore[index]
        sizes.append(len(html))
        lengths.append(sum(data["times"]))
    assert sizes[1] < 0.6 * sizes[0] and lengths == [72 * 60, 72 * 60]


def test_words_cannot_become_elements() -> None:
    sheet = Sheet(texts("en"), "cube")
    sheet.text(10, 20, "</text><script>alert(1)</script>", tip='"onload="x')
    elements = Elements("x-test")
    elements.frame(sheet.shapes)
    assert "<script" not in elements.texts[0] and '"onload' not in elements.texts[0]


def test_page_forbids_every_request(found: dict[str, Numbers]) -> None:
    html = page(exhibits.load("rotation"), found["rotation"], "en")
    assert "default-src 'none'" in html and "unsafe-eval" not in html
    assert "</script" not in script() and "<!--" not in script()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def files(found: dict[str, Numbers], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("exhibits")
    paths = {}
    for name in NAMES:
        for language in ("en", "zh"):
            paths[f"{name}-{language}"] = path = folder / f"{name}-{language}.html"
            path.write_text(page(exhibits.load(name), found[name], language), encoding="utf-8")
    return paths


class Visit:
    """One look at a page, with all that it asked for and complained about."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, **options: Any) -> None:
        self.heard: list[str] = []
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        self.page = self.context.new_page()
        self.page.on(
            "request", lambda r: None if r.url.startswith(("file:", "data:")) else self.heard.append(r.url)
        )
        self.page.on("console", lambda message: self.heard.append(message.text))
        self.page.on("pageerror", lambda error: self.heard.append(str(error)))
        self.page.goto(path.as_uri())

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.heard == []


POSITION = "+document.querySelector('.x-position').value"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["mlp", "timeline"])
def test_opens_cleanly(browser: Any, files: dict[str, Path], name: str, language: str, width: int) -> None:
    with Visit(browser, files[f"{name}-{language}"], width, color_scheme="dark") as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate("document.querySelectorAll('.x-layer > *').length") > 20
        assert tab.evaluate("getComputedStyle(document.querySelector('.x-exhibit')).backgroundColor") == (
            "rgb(18, 19, 24)"
        )
        tab.wait_for_timeout(700)
        first = tab.evaluate(POSITION)
        tab.wait_for_timeout(700)
        assert tab.evaluate(POSITION) != first  # it plays


def test_point_is_dragged_to_an_angle(browser: Any, files: dict[str, Path]) -> None:
    with Visit(browser, files["rotation-en"], reduced_motion="reduce") as tab:
        box = tab.locator(".x-stage").bounding_box()
        scale = box["width"] / 960
        tab.mouse.move(box["x"] + 380 * scale, box["y"] + 220 * scale)
        tab.mouse.down()
        angle = math.atan2(1, 2) + math.radians(120)
        x, y = 232 + 150 * math.cos(angle), 294 - 150 * math.sin(angle)
        tab.mouse.move(box["x"] + x * scale, box["y"] + y * scale, steps=4)
        tab.mouse.up()
        assert "θ = 120°" in tab.locator(".x-layer").text_content()


def test_cube_is_dragged_sideways(browser: Any, files: dict[str, Path]) -> None:
    with Visit(browser, files["cube-zh"], reduced_motion="reduce") as tab:
        before = tab.evaluate(POSITION)
        box = tab.locator(".x-stage").bounding_box()
        tab.mouse.move(box["x"] + 100, box["y"] + 300)
        tab.mouse.down()
        tab.mouse.move(box["x"] + 100 + box["width"] / 4, box["y"] + 300, steps=3)
        tab.mouse.up()
        assert (tab.evaluate(POSITION) - before) % 72 == 18  # a quarter of the width, a quarter turn


def test_reduced_motion_stands_still(browser: Any, files: dict[str, Path]) -> None:
    with Visit(browser, files["cube-en"], reduced_motion="reduce") as tab:
        before = tab.evaluate(POSITION)
        tab.wait_for_timeout(400)
        assert tab.evaluate(POSITION) == before
        tab.locator(".x-play").click()  # unless it is asked to move
        tab.wait_for_timeout(500)
        assert tab.evaluate(POSITION) != before


def test_network_is_computed_in_the_page(
    browser: Any, files: dict[str, Path], found: dict[str, Numbers]
) -> None:
    data, x = found["mlp"].data, (0.5, -0.25, 1.0, -1.0)
    raised = [sum(x[i] * data["up"][i][j] for i in range(4)) for j in range(16)]
    bent = [0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in raised]
    wanted = [sum(bent[j] * data["down"][j][k] for j in range(16)) for k in range(4)]
    with Visit(browser, files["mlp-en"]) as tab:
        for i, value in enumerate(x):
            tab.locator(".x-sliders input").nth(i).evaluate(
                "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
                value,
            )
        out = json.loads(tab.evaluate("document.querySelector('.x-exhibit').dataset.out"))
        assert out == pytest.approx(wanted, abs=1e-12)
        shown = tab.locator("[data-name=out0text]").text_content()
        assert shown == f"{wanted[0]:.2f}".replace("-", "−")


def test_events_tell_their_source(browser: Any, files: dict[str, Path]) -> None:
    with Visit(browser, files["timeline-en"], reduced_motion="reduce") as tab:
        tab.locator("text[data-tip*=Krizhevsky]").first.hover()
        assert "Krizhevsky" in tab.locator(".x-tip").text_content()
        tab.keyboard.press("Escape")
        assert tab.locator(".x-tip").is_hidden()


def test_without_scripts_the_poster_and_the_numbers_stand(browser: Any, files: dict[str, Path]) -> None:
    with Visit(browser, files["cube-en"], java_script_enabled=False) as tab:
        assert tab.locator(".x-layer text").first.is_visible()
        assert tab.locator(".x-figures dd").count() == 3
        assert tab.locator(".x-bar").is_hidden()
