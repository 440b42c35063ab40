"""The lab as a person has it, in Debian's chromium through Playwright: what ``benchmarks/lab.py`` calls.

Headless and without a GPU: the browser's own drawing runs on the same cores as the engine.
"""

import shutil
import statistics
from typing import Any

__all__ = ["in_a_browser"]

FRAMES = """(ms) => new Promise((resolve) => {
  const canvas = document.querySelector(".easel canvas");
  const found = [];
  const watch = new MutationObserver(() => {
    found.push([performance.now(), +canvas.dataset.latency, canvas.width, canvas.height]);
  });
  watch.observe(canvas, { attributeFilter: ["data-frames"] });
  setTimeout(() => { watch.disconnect(); resolve(found); }, ms);
})"""
REFRESHES = """(ms) => new Promise((resolve) => {
  const found = [];
  let last = 0;
  const next = (now) => {
    if (last) found.push(now - last);
    last = now;
    if (found.reduce((sum, each) => sum + each, 0) < ms) requestAnimationFrame(next); else resolve(found);
  };
  requestAnimationFrame(next);
})"""
RESIZE = """(node, [width, height]) => {
  node.style.cssText = `width:${width + 2}px;height:${height + 2}px;aspect-ratio:auto`;  // and its border
}"""
DRAG = """async (ms) => {
  const canvas = document.querySelector(".easel canvas");
  const box = canvas.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const send = (type, dx) => canvas.dispatchEvent(new PointerEvent(type, {
    pointerId: 1, clientX: x + dx, clientY: y, buttons: 1, bubbles: true }));
  canvas.setPointerCapture = () => {};
  send("pointerdown", 0);
  const started = performance.now();
  while (performance.now() - started < ms) {
    send("pointermove", (performance.now() - started) / 10);
    await new Promise(requestAnimationFrame);
  }
  send("pointerup", 0);
}"""


def in_a_browser(url: str, key: str, scene: str, size: tuple[int, int], seconds: float) -> dict[str, Any]:
    """Figures in milliseconds and frames a second."""
    from playwright.sync_api import sync_playwright

    place = shutil.which("chromium")
    if place is None:
        raise SystemExit("no chromium on PATH; --no-browser leaves this part out")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=place, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{url}/#key={key}&lang=en")
        page.wait_for_selector("body[data-ready]")
        found = {
            "orbit": orbit(page, scene, size, seconds),
            "prediction_ms": predictions(page),
            "exhibits_ms_between_refreshes": exhibits(page),
        }
        browser.close()
    return found


def spread(values: list[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    ordered = sorted(values)
    return {"p50": statistics.median(ordered), "p95": ordered[int(0.95 * (len(ordered) - 1))]}


def orbit(page: Any, scene: str, size: tuple[int, int], seconds: float) -> dict[str, Any]:
    """One nudge at a time, then a steady drag: from the pointer's event to the picture on the canvas."""
    page.evaluate(f"location.hash = '#/draw?scene={scene}'")
    page.wait_for_selector("section.view.draw")
    page.locator(".easel").evaluate(RESIZE, size)
    page.wait_for_timeout(800)
    box = page.locator(".easel canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    alone = []
    for step in range(1, 16):
        page.mouse.move(x + 6 * step, y)
        page.wait_for_timeout(150)
        alone.append(float(page.locator(".easel canvas").get_attribute("data-latency")))
        page.wait_for_timeout(400)
    page.mouse.up()
    page.wait_for_timeout(500)
    page.evaluate(f"window.found = ({FRAMES})({1000 * seconds}); void 0")
    page.evaluate(DRAG, 1000 * seconds)
    frames = page.evaluate("window.found")
    spent = (frames[-1][0] - frames[0][0]) / 1000
    return {
        "size": f"{frames[-2][2]}x{frames[-2][3]}",
        "one_nudge_event_to_canvas_ms": spread(alone),
        "drag_event_to_canvas_ms": spread([frame[1] for frame in frames]),
        "drag_fps": (len(frames) - 1) / spent,
    }


def predictions(page: Any) -> dict[str, float]:
    """Six machines, a slider moved: until the answer is shown."""
    on = "|".join(("GeForce RTX 4090", "H100 SXM", "A100 SXM 80 GB", "M4 Max", "L40S", "GeForce RTX 3060"))
    page.evaluate("(on) => { location.hash = `#/predict?on=${encodeURIComponent(on)}`; }", on)
    page.wait_for_selector(".lane .rate")
    slider, times = page.locator("input[type=range]").nth(2), []
    for step in range(20):
        before = page.locator("section.predict").get_attribute("data-ms")
        slider.fill(str(step % 8 + (step > 7)))
        for _ in range(100):
            page.wait_for_timeout(10)
            if (now := page.locator("section.predict").get_attribute("data-ms")) != before:
                times.append(float(now))
                break
    return spread(times)


def exhibits(page: Any) -> dict[str, dict[str, float]]:
    """Each plays for two seconds: the time between two refreshes of the screen, 16.7 ms at 60 a second."""
    page.evaluate("location.hash = '#/exhibits'")
    page.wait_for_selector("select.narrow", state="attached")
    names = page.locator("select.narrow option").evaluate_all("all => all.map((each) => each.value)")
    found = {}
    for name in names:
        page.locator("select.narrow").evaluate(
            "(node, name) => { node.value = name; node.dispatchEvent(new Event('change')); }", name
        )
        page.wait_for_selector(f"#x-{name}.x-ready", timeout=120_000)
        place = page.locator(f"#x-{name} .x-position")
        before = place.input_value()
        page.wait_for_timeout(1200)
        moves = place.input_value() != before
        found[name] = {**spread(page.evaluate(REFRESHES, 2000)), "plays": moves}
    return found
