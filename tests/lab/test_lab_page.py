"""The whole page in a real browser: it fits, stands still, needs only keys, and lets nobody else in."""

import re
from typing import Any

import pytest
from visit import CHROMIUM, KEY, VIEWS, Visit

from whygpu.lab.options import Address

pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")

SHIFT = """() => new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value;
  })
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(sum), 50);
})"""


@pytest.mark.parametrize(
    ("width", "scheme", "views"),
    [
        (390, "dark", VIEWS),
        (1280, "light", ("draw", "think", "verify", "claims")),
        (1920, "light", ("draw", "think", "same", "predict")),
    ],
)
def test_every_view_fits_in_both_languages(
    browser: Any, live: Address, width: int, scheme: str, views: tuple[str, ...]
) -> None:
    with Visit(browser, live, width, color_scheme=scheme, reduced_motion="reduce") as here:
        for view in views:
            here.go(view)
            for language in ("中文", "English"):
                here.page.get_by_role("button", name=language, exact=True).click()
                code = "zh-Hans" if language == "中文" else "en"
                here.page.wait_for_selector(f"html[lang={code}]")
                title = here.page.locator("h1").inner_text()
                assert (language == "中文") == bool(re.search("[\u4e00-\u9fff]", title))
                here.page.wait_for_timeout(60)
                assert here.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view
            assert here.page.evaluate("document.documentElement.lang") == "en"
        assert here.elsewhere == []
        assert here.console == []


def test_errors_are_told_in_words(visit: Visit) -> None:
    visit.go("predict")
    visit.page.wait_for_selector(".lane .rate")
    visit.page.route("**/api/predict", lambda route: route.abort())
    visit.page.locator("label:has-text('Devices') input").fill("1")
    visit.page.wait_for_selector(".toast.on:has-text('does not answer')")
    visit.page.route("**/api/predict", lambda route: route.fulfill(status=500, body="{}"))
    visit.page.get_by_role("button", name="中文", exact=True).click()
    visit.page.locator("label:has-text('设备数') input").fill("2")
    visit.page.wait_for_selector(".toast.on:has-text('实验室程序出错')")
    visit.console.clear()  # the browser notes failed requests there


def test_with_the_keyboard_alone(visit: Visit) -> None:
    def tab_to(wanted: str) -> None:
        for _ in range(60):
            visit.page.keyboard.press("Tab")
            if visit.page.evaluate(f"document.activeElement.matches({wanted!r})"):
                return
        raise AssertionError(f"the tab key does not reach {wanted}")

    visit.wait_for_frame(0)
    visit.page.evaluate("document.activeElement.blur()")
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.id") == "skip"
    tab_to(".easel canvas")
    before = visit.frames()
    visit.page.keyboard.press("ArrowRight")
    visit.page.keyboard.press("+")
    visit.page.keyboard.press("Enter")
    visit.wait_for_frame(before)
    visit.page.wait_for_url("**az=36**")
    visit.page.evaluate("document.activeElement.blur()")
    tab_to("a[href='#/think']")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("section.view.think")
    tab_to("textarea")
    visit.page.keyboard.type("th")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector(".said[data-finish]")
    tab_to(".said .tok")
    place = "[...document.activeElement.parentNode.children].indexOf(document.activeElement)"
    last = visit.page.evaluate(place)
    visit.page.keyboard.press("ArrowLeft")
    assert visit.page.evaluate(place) == last - 1
    tab_to(".cands button")


def test_nothing_moves_while_a_view_loads(browser: Any, live: Address) -> None:
    """The sum of all shifts (web.dev/cls: below 0.1 is good); nothing is pressed."""
    for width, views in ((1280, VIEWS), (390, ("draw", "think", "same", "predict", "claims"))):
        with Visit(browser, live, width) as here:
            before = 0.0
            for view in views:
                here.go(view)
                here.page.wait_for_timeout(250)
                now = here.page.evaluate(SHIFT)
                assert now - before < 0.03, (view, width)
                before = now


def test_less_motion_where_asked_for(browser: Any, live: Address) -> None:
    with Visit(browser, live, view="same", reduced_motion="reduce") as here:
        here.wait_for_frame(0)
        here.page.get_by_role("button", name="Start both").click()
        here.page.wait_for_selector(".card.t .num:has-text('tok/s')")
        before = here.frames()
        here.page.wait_for_timeout(500)
        assert here.frames() <= before + 1  # the scene stays where it is
        here.page.get_by_role("button", name="Stop").click()


def test_without_the_key_the_page_says_what_to_do(browser: Any, live: Address) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{live.url}/")
    page.wait_for_selector("text=This page needs the key of this run")
    context.close()


def test_a_page_elsewhere_cannot_read_or_drive(browser: Any, live: Address, tmp_path: Any) -> None:
    """A real hostile page, on another origin, in the same browser, even where it has learnt the key."""
    import functools
    import http.server
    import threading

    (tmp_path / "index.html").write_text("<!doctype html><title>hostile</title>")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    handler.func.log_message = lambda *_: None  # type: ignore[attr-defined]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{elsewhere.server_port}/")
        found = page.evaluate(HOSTILE, [live.url, KEY])
        framed = [frame.url for frame in page.frames[1:]]
        elsewhere.shutdown()
        context.close()
    assert set(found.values()) == {"refused"}
    assert len(found) == 4
    assert framed == ["chrome-error://chromewebdata/"]  # the lab lets nobody frame it


HOSTILE = """async ([target, key]) => {
  const tried = async (work) => { try { return await work(); } catch { return "refused"; } };
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = '{"what":"roofline"}';
  const read = await tried(async () => (await fetch(`${target}/api/facts`, { headers })).text());
  const post = { method: "POST", body, headers };
  const drive = await tried(async () => (await fetch(`${target}/api/runs`, post)).text());
  const open = await tried(async () => (await fetch(`${target}/static/app.js`)).text());
  const socket = await new Promise((resolve) => {
    const socket = new WebSocket(`${target.replace("http", "ws")}/ws/live`, ["whygpu", key]);
    socket.onmessage = () => resolve("read");
    socket.onclose = socket.onerror = () => resolve("refused");
  });
  const frame = document.createElement("iframe");
  frame.src = target;
  document.body.append(frame);
  await new Promise((resolve) => setTimeout(resolve, 800));
  return { read, drive, open, socket };
}"""
