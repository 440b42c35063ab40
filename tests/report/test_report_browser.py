"""The page in a browser: no request, no complaint, charts drawn, nothing wider than the screen."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from whygpu import report

CHROMIUM = shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH ")

HOSTILE = "</script><script>window.hacked=1</script><img src='https://example.com/x.png' onerror='hacked=1'>"
LONG = "supercalifragilistic" * 20


@pytest.fixture(scope="module")
def folders(
    tmp_path_factory: pytest.TempPathFactory,
    make_results: Callable[..., Any],
    make_thinking: Callable[..., Any],
    pictures: dict[str, bytes],
    exhibits: dict[str, Any],
) -> dict[str, Path]:
    """Both languages with an answer that attacks the page, and one whose answer is a single long word."""
    paths = {}
    for name, language, text in (("en", "en", HOSTILE), ("zh", "zh", HOSTILE), ("long", "en", LONG)):
        results = make_results(thinking=make_thinking(text=text, prompt=text, model=text))
        folder = tmp_path_factory.mktemp(name)
        paths[name] = report.write(results, folder, language=language, images=pictures, exhibits=exhibits)
    return paths


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


class Visit:
    """One look at the page: what it requested and what the console said."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, **options: Any) -> None:
        self.requests: list[str] = []
        self.console: list[str] = []
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.goto(path.as_uri())

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    @property
    def external(self) -> list[str]:
        return [url for url in self.requests if not url.startswith(("file:", "data:"))]


@pytest.mark.parametrize("width", [1280, 800, 390])
@pytest.mark.parametrize("name", ["en", "zh", "long"])
def test_opens_offline_cleanly(browser: Any, folders: dict[str, Path], name: str, width: int) -> None:
    with Visit(browser, folders[name], width) as visit:
        page = visit.page
        opened = "[...document.querySelectorAll('details.fold')].filter(d => d.open).length"
        if width == 390:
            assert page.evaluate(opened) == 0  # chapters are folded: the page is a few screens long
            assert page.evaluate("document.documentElement.scrollHeight") < 6 * 800 or name == "long"
        else:
            assert page.evaluate(opened) == page.locator("section.chapter").count()
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        page.wait_for_timeout(300)
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        assert page.locator(".chart-box .main-svg").count() > 0
        assert visit.external == []
        assert visit.console == []
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wider = page.evaluate(
            "[...document.querySelectorAll('body *')]"
            ".filter(e => !e.closest('svg, .skip, thead, [popover], .x-scroll, .more > table'))"
            ".filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
            ".map(e => e.outerHTML.slice(0, 120))"
        )
        assert wider == []


def test_charts_are_drawn(browser: Any, folders: dict[str, Path]) -> None:
    with Visit(browser, folders["en"]) as visit:
        marks = visit.page.evaluate(
            "[...document.querySelectorAll('.chart-box')].map(b =>"
            " b.querySelectorAll('.points path, .points .point path, .point path').length)"
        )
        assert len(marks) == 6
        assert all(count > 0 for count in marks)


def test_dark_screens_get_dark_charts_and_follow_a_change(browser: Any, folders: dict[str, Path]) -> None:
    colour = "getComputedStyle(document.querySelector('#chart-roofline .legendtext')).fill"
    with Visit(browser, folders["en"], color_scheme="dark") as visit:
        assert visit.page.evaluate(colour) == "rgb(235, 236, 240)"
        assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 19, 24)"
        visit.page.emulate_media(color_scheme="light")
        visit.page.wait_for_timeout(500)  # (the policy forbids the eval that wait_for_function needs)
        assert visit.page.evaluate(colour) == "rgb(25, 26, 31)"


def test_basis_opens_by_keyboard_pointer_and_tap(browser: Any, folders: dict[str, Path]) -> None:
    opened = "document.querySelector('[popover]:popover-open')?.id ?? ''"
    with Visit(browser, folders["en"], has_touch=True) as visit:
        page = visit.page
        number = page.locator(".answer .number").first
        wanted = number.get_attribute("popovertarget")
        page.keyboard.press("Tab")  # the skip link
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Tab")
        assert page.evaluate(opened) == wanted
        page.keyboard.press("Escape")
        assert page.evaluate(opened) == ""
        page.locator("#bandwidth .more summary").first.click()
        cell = page.locator("#bandwidth td[data-basis]").first
        cell.scroll_into_view_if_needed()
        cell.tap()
        assert page.evaluate(opened) == cell.get_attribute("data-basis")
        page.keyboard.press("Escape")
        number.scroll_into_view_if_needed()
        number.hover()
        assert page.evaluate(opened) == wanted
        box = page.evaluate("document.querySelector(':popover-open').getBoundingClientRect().toJSON()")
        assert box["left"] >= 0 and box["right"] <= 1280 and box["top"] >= 0 and box["bottom"] <= 800


def test_without_scripts_the_tables_tell_everything(browser: Any, folders: dict[str, Path]) -> None:
    with Visit(browser, folders["en"], java_script_enabled=False) as visit:
        assert visit.external == []
        assert visit.page.locator(".chart-box").first.is_hidden()
        assert visit.page.locator("section.chapter .body").last.is_visible()
        fold = visit.page.locator("#bandwidth .more").first
        fold.locator("summary").click()  # folds need no script
        assert fold.locator("table").is_visible()
        visit.page.locator(".answer .number").first.click()  # popovers need no script
        assert visit.page.locator("[popover]:popover-open").count() == 1
        visit.page.keyboard.press("Escape")
        answer_a_guess(visit.page)  # guesses need no script
        assert visit.page.locator(".x-exhibit .x-stage").first.is_visible()


def answer_a_guess(page: Any) -> None:
    """The answer waits for a choice; a wrong one shows which was right."""
    guess = page.locator("#guess-bandwidth")
    answer = guess.locator(".answered")
    assert answer.is_hidden()
    guess.locator(".choice:not(.right)").first.click()
    assert answer.is_visible()
    assert guess.locator(".miss").is_visible() and guess.locator(".hit").is_hidden()
    guess.locator(".choice.right").click()
    assert guess.locator(".hit").is_visible() and guess.locator(".miss").is_hidden()


def test_a_folded_chapter_opens_by_tap_and_by_link(browser: Any, folders: dict[str, Path]) -> None:
    with Visit(browser, folders["zh"], 390, has_touch=True) as visit:
        page = visit.page
        chapter = page.locator("#bandwidth")
        assert chapter.locator(".body").is_hidden()
        chapter.locator("summary").first.tap()
        assert chapter.locator(".body").is_visible()
        page.wait_for_timeout(300)
        assert chapter.locator(".chart-box .main-svg").count() > 0  # drawn when there was room
        answer_a_guess(page)
        page.evaluate("location.hash = '#chain'")
        page.wait_for_timeout(300)
        assert page.locator("#chain .body").is_visible()
        assert page.locator("#glossary .body").is_hidden()


def test_exhibits_play_and_stand_still_where_motion_is_reduced(
    browser: Any, folders: dict[str, Path]
) -> None:
    at = "document.querySelector('#x-rotation .x-position').value"
    for options, moves in (({}, True), ({"reduced_motion": "reduce"}, False)):
        with Visit(browser, folders["en"], **options) as visit:
            visit.page.locator("#x-rotation").scroll_into_view_if_needed()
            visit.page.wait_for_timeout(200)
            before = visit.page.evaluate(at)
            visit.page.wait_for_timeout(900)
            assert (visit.page.evaluate(at) != before) is moves


def test_prints_on_paper(browser: Any, folders: dict[str, Path], tmp_path: Path) -> None:
    with Visit(browser, folders["zh"], color_scheme="dark") as visit:
        path = tmp_path / "report.pdf"
        visit.page.pdf(path=path, format="A4", print_background=True)
        assert path.read_bytes().startswith(b"%PDF")
        visit.page.emulate_media(media="print")
        assert visit.page.locator("#guess-bandwidth .answered").is_visible()  # paper cannot be tapped
        assert visit.page.locator("#bandwidth table").first.is_visible()
        assert visit.page.locator("#basis-1").is_visible()  # the bases become a list at the end
        assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(252, 252, 250)"


def test_reduced_motion_is_honoured(browser: Any, folders: dict[str, Path]) -> None:
    with Visit(browser, folders["en"], reduced_motion="reduce") as visit:
        assert visit.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
