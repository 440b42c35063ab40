"""Every view in a real browser: nothing from elsewhere, a clean console, and each does what it says."""

import csv
import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from visit import CHROMIUM, Visit

from whygpu import predict
from whygpu.lab.options import Address

pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")


def test_a_scene_is_orbited_and_a_vertex_followed(visit: Visit) -> None:
    visit.wait_for_frame(0)
    still = visit.picture()
    assert still.std() > 10
    box = visit.page.locator(".easel canvas").bounding_box()
    x, y = box["x"] + box["width"] * 0.45, box["y"] + box["height"] * 0.22
    visit.page.mouse.click(x, y)
    visit.page.wait_for_selector(".easel .mark:not([hidden])")
    assert visit.page.locator(".chain li").count() == 6
    before = visit.frames()
    visit.page.mouse.move(x, y)
    visit.page.mouse.down()
    visit.page.mouse.move(x + 160, y + 30, steps=8)
    visit.page.mouse.up()
    visit.wait_for_frame(before)
    visit.page.wait_for_timeout(400)
    assert np.abs(visit.picture() - still).mean() > 5
    assert "az=" in visit.page.url  # the address follows at rest
    before = visit.frames()
    visit.page.get_by_role("radio", name="Depth").click()
    visit.wait_for_frame(before)
    visit.page.wait_for_timeout(400)
    middle = visit.picture()[40:-60, 20:-20]
    grey = np.abs(middle - middle.mean(-1, keepdims=True)).max(-1) < 12
    assert grey.mean() > 0.2  # the surface is grey now
    address = visit.page.url
    visit.page.goto(address.replace("stage=depth", "stage=ids"))
    visit.page.reload()
    visit.page.wait_for_selector("[role=radio][aria-checked=true]:has-text('Triangle id')")


def test_a_chat_is_answered_branched_and_looked_into(visit: Visit) -> None:
    visit.go("think")
    visit.page.locator("textarea").fill("th")
    visit.page.get_by_role("button", name="Ask").click()
    visit.page.wait_for_selector(".said[data-finish]")
    count = visit.page.locator(".said .tok").count()
    assert count > 20
    # a random model says bytes that are no characters: choose a word that can be seen
    seen = visit.page.locator(".said .tok").evaluate_all(
        "all => all.findIndex((each) => /^[a-z]/.test(each.textContent))"
    )
    visit.page.locator(".said .tok").nth(seen).click()
    assert visit.page.locator(".cands li").count() == 8
    first = visit.page.locator(".said .tok").nth(seen).inner_text()
    visit.page.locator(".cands button").nth(1).click()
    visit.page.wait_for_selector(".tok.branch", state="attached")
    assert visit.page.locator(".said .tok").nth(seen).inner_text() != first
    visit.page.wait_for_selector(".said[data-finish]")
    # a second turn: the first stays above it, and is not read again
    visit.page.locator("textarea").fill("a")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector(".turn:nth-child(4) .said[data-finish]")
    assert visit.page.locator(".turn.you").all_inner_texts() == ["th", "a"]
    note = visit.page.locator(".turn .basis").nth(1).inner_text()
    read, reused = (int(number) for number in re.findall(r"(\d+)(?= tokens| of them)", note))
    assert read > reused > 0
    assert visit.page.locator(".said.past .tok").count() == 0
    visit.page.keyboard.press("ArrowUp")
    assert visit.page.locator("textarea").input_value() == "a"
    visit.page.locator("label:has-text('Tokens at most') input").fill("512")
    visit.page.keyboard.press("Tab")
    visit.page.locator("textarea").press("Enter")
    visit.page.get_by_role("button", name="Stop").wait_for()
    visit.page.locator("textarea").press("Escape")
    visit.page.wait_for_selector(".turn:nth-child(6) .said[data-finish]")
    visit.page.get_by_role("button", name="New chat").click()
    assert visit.page.locator(".turn").count() == 0
    visit.page.locator("textarea").fill("thabc")
    visit.page.get_by_role("button", name="Look inside").click()
    visit.page.wait_for_selector(".head")
    assert visit.page.locator(".tokens button").count() == 4


def test_another_model_is_chosen_in_the_page(visit: Visit) -> None:
    visit.go("think")
    choice = visit.page.get_by_label("Model", exact=True)
    visit.page.wait_for_selector("option[value='scenes/other.gguf']", state="attached")
    choice.select_option("scenes/broken.gguf")
    visit.page.wait_for_selector(".toast.on:has-text('the one before answers on')")
    assert choice.input_value() == "tiny"
    for name in ("scenes/other.gguf", "tiny"):
        choice.select_option(name)
        visit.page.wait_for_selector(".model select:not([disabled])")
        assert choice.input_value() == name
        visit.page.locator("textarea").fill("th")
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_selector(".turn:last-child .said[data-finish=length] .tok", state="attached")


def test_both_at_once_stand_on_one_roofline(visit: Visit) -> None:
    visit.go("same")
    visit.page.get_by_role("button", name="Start both").click()
    visit.page.wait_for_selector(".card.t .num:has-text('tok/s')")
    visit.page.wait_for_selector(".table tbody .dot.draw")
    visit.page.wait_for_selector(".table tbody .dot.think")
    before = visit.frames()
    visit.wait_for_frame(before + 2)  # it turns by itself while the model talks
    visit.page.get_by_role("button", name="Stop").click()


def test_a_prediction_changes_with_a_slider_and_lives_in_the_address(visit: Visit) -> None:
    visit.go("predict")
    visit.page.wait_for_selector(".lane .rate")
    before = visit.page.locator(".lane .rate").first.inner_text()
    visit.page.locator("label:has-text('Answers at once') input").fill("4")
    for _ in range(200):
        if visit.page.locator(".lane .rate").first.inner_text() != before:
            break
        visit.page.wait_for_timeout(20)
    after = visit.page.locator(".lane .rate").first.inner_text()
    assert after != before
    assert "batch=16" in visit.page.url
    visit.page.reload()
    visit.page.wait_for_selector(".lane .rate")
    assert visit.page.locator(".lane .rate").first.inner_text() == after
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="CSV").click()
    assert download.value.suggested_filename == "whygpu-predict.csv"
    rows = list(csv.DictReader(download.value.path().read_text("utf-8").splitlines()))
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="JSON").click()
    whole = json.loads(download.value.path().read_text("utf-8"))
    assert whole["request"]["batch"] == 16
    known = [machine for machine in whole["machines"] if "error" not in machine]
    assert [row["machine"] for row in rows] == [machine["machine"] for machine in known]
    for row, machine in zip(rows, known, strict=True):
        if machine["asked"] != "this machine":
            how = {"quant": "Q4_K_M", "batch": 16, "prompt_tokens": 512, "reply": 256}
            wanted = predict.inference("llama-3.1-8b", machine["asked"], **how).as_dict()  # type: ignore[arg-type]
            assert float(row["tokens_per_second"]) == pytest.approx(wanted["batch_tokens_per_second"])
            assert machine["seconds_per_token"] == pytest.approx(wanted["seconds_per_token"])
        assert float(row["s_per_token_p10"]) < float(row["s_per_token"]) < float(row["s_per_token_p90"])
        assert row["batch"] == "16"


def test_fingers_turn_move_and_zoom_and_a_file_is_dropped(browser: Any, live: Address) -> None:
    with Visit(browser, live, 390, has_touch=True, is_mobile=True) as here:
        here.wait_for_frame(0)
        touch = here.context.new_cdp_session(here.page)
        box = here.page.locator(".easel canvas").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

        def fingers(*path: list[tuple[float, float]]) -> None:
            """Each step says where the fingers are, from the middle of the picture."""
            for step, places in enumerate(path):
                points = [{"x": x + dx, "y": y + dy, "id": i} for i, (dx, dy) in enumerate(places)]
                kind = "touchMove" if step else "touchStart"
                touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

        def state() -> dict[str, float]:
            here.page.wait_for_timeout(200)  # the address follows at rest
            query = parse_qs(urlsplit(here.page.url).fragment.partition("?")[2])
            names = ("az", "el", "zoom", "x", "y")
            return {name: float(query[name][0]) for name in names if name in query}

        scrolled = here.page.evaluate("scrollY")
        fingers([(-0.05 * box["width"], -0.28 * box["height"])])  # a tap follows the vertex
        here.page.wait_for_selector(".easel .mark:not([hidden])")
        before = here.frames()
        fingers([(0, 0)], [(20, 0)], [(40, 10)])
        here.wait_for_frame(before)
        turned = state()
        assert turned["az"] == pytest.approx(30 - 40 * 0.45, abs=1)
        assert turned["el"] == pytest.approx(18 + 10 * 0.45, abs=1)
        fingers([(-30, 0), (30, 0)], [(-60, 0), (60, 0)])  # twice as far apart
        pinched = state()
        assert pinched["zoom"] == pytest.approx(2, rel=0.05)
        assert (pinched["az"], pinched["el"]) == (turned["az"], turned["el"])
        fingers([(-30, 0), (30, 0)], [(-30, 40), (30, 40)])  # both the same way
        moved = state()
        assert moved["zoom"] == pytest.approx(2, rel=0.05)
        assert moved["y"] == pytest.approx(-40 / box["height"], abs=0.02)
        assert moved.get("x", 0) == pytest.approx(0, abs=0.02)
        assert here.page.evaluate("scrollY") == scrolled  # the page stays where it is
        here.page.evaluate(DROP, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        here.page.wait_for_selector("option:has-text('dropped.obj')", state="attached")
        here.page.wait_for_selector(".figures dd:text-is('1')")
        here.page.wait_for_url("**scene=upload**")
        strip = here.page.locator(".rail nav")
        assert "after" in (strip.get_attribute("class") or "")  # it shows that there is more
        strip.evaluate("(node) => { node.scrollLeft = node.scrollWidth; }")
        here.page.wait_for_selector(".rail nav.before:not(.after)")
        assert here.elsewhere == []
        assert here.console == []


DROP = """(text) => {
  const files = new DataTransfer();
  files.items.add(new File([text], "dropped.obj"));
  const easel = document.querySelector(".easel");
  for (const type of ["dragover", "drop"])
    easel.dispatchEvent(new DragEvent(type, { dataTransfer: files, bubbles: true, cancelable: true }));
}"""


def test_a_run_shows_progress_and_stays_in_the_history(visit: Visit) -> None:
    visit.go("verify")
    visit.page.locator(".run-grid .card").nth(2).get_by_role("button").click()
    visit.page.get_by_role("button", name="Show").first.wait_for(timeout=40_000)
    assert visit.page.locator("text=operations, @ over *").count() == 1
    assert visit.page.locator("text=2,048 ×").count() >= 1
    visit.page.get_by_role("button", name="Remove this run").first.click()
    visit.page.wait_for_selector("text=No run yet.")


def test_exhibits_play_in_the_page(visit: Visit) -> None:
    visit.go("exhibits")
    visit.page.wait_for_selector("#x-rotation.x-ready")
    place = visit.page.locator("#x-rotation .x-position")
    before = place.input_value()
    visit.page.wait_for_timeout(400)
    assert place.input_value() != before  # it plays
    visit.page.get_by_role("button", name="中文", exact=True).click()
    visit.page.wait_for_selector("#x-rotation.x-ready[lang=zh-Hans]")
    visit.go("claims")
    visit.page.wait_for_selector(".claim")
    visit.go("history")
    visit.page.wait_for_selector(".years li")
