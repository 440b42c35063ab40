"""256 tasks one by one against a row at a time; then the true race on this machine."""

from time import perf_counter
from typing import Any

import numpy as np

from whygpu import engine
from whygpu.engine import Backend, Basis, UserError
from whygpu.engine.backends.python import multiply
from whygpu.story import numbers as written
from whygpu.story.exhibits.base import Exhibit, Job, Number, Numbers, derived, ease, measured
from whygpu.story.exhibits.canvas import Sheet
from whygpu.story.exhibits.palette import mix

__all__ = ["EXHIBIT", "VERTICES"]

VERTICES = 1_000_000
TASKS, ROW = 256, 16
CHUNK = 50_000
"""Rows of the plain Python run at once: lists of Python floats take much memory."""
STEPS = 72


def numbers(job: Job) -> Numbers:
    """Multiply a million vertices by one 4 x 4 matrix in every way that there is here."""
    random = np.random.default_rng(3)
    vertices = random.random((VERTICES, 4), dtype=np.float32)
    matrix = random.random((4, 4), dtype=np.float32)
    racers: list[dict[str, Any]] = []
    job.progress("exhibit.progress.race", 0.0)
    started = perf_counter()
    for at in range(0, VERTICES, CHUNK):
        multiply(vertices[at : at + CHUNK].tolist(), matrix.tolist())
    racers.append({"who": "python", "threads": 1, "name": "", "seconds": perf_counter() - started})
    for count in dict.fromkeys((1, engine.available_threads())):
        seconds = _best(engine.backend("cpu", threads=count), vertices, matrix)
        racers.append(
            {"who": "core" if count == 1 else "cores", "threads": count, "name": "", "seconds": seconds}
        )
    racers += _accelerated(vertices, matrix)
    fastest = min(racer["seconds"] for racer in racers)
    flop = 2 * VERTICES * 4 * 4
    return Numbers(
        {
            "python": _time(racers[0]),
            "core": _time(racers[1]),
            "best": measured(fastest, "s", "the least of all ways"),
            "ratio": derived(racers[0]["seconds"] / fastest, "x", "plain Python over the fastest"),
            "flop": derived(flop, "FLOP", "2 m n k = 2 x 1,000,000 x 4 x 4"),
        },
        {"vertices": VERTICES, "tasks": TASKS, "row": ROW, "racers": racers},
        Basis.MEASURED,
        "engine.matmul (1,000,000 x 4) @ (4 x 4) in float32, least of several; plain Python once",
    )


def _time(racer: dict[str, Any]) -> Number:
    return measured(racer["seconds"], "s", f"(1,000,000 x 4) @ (4 x 4) on {racer['threads']} thread(s)")


def _best(backend: Backend, vertices: Any, matrix: Any) -> float:
    with engine.using(backend):
        a, b = backend.asarray(vertices), backend.asarray(matrix)
        times = []
        for _ in range(9):
            started = perf_counter()
            engine.matmul(a, b, name="vertices")
            backend.synchronize()
            times.append(perf_counter() - started)
    return min(times)


def _accelerated(vertices: Any, matrix: Any) -> list[dict[str, Any]]:
    """The first PyTorch device beside the CPU that works here; the data lie on it already."""
    from whygpu import measure

    devices = measure.this_host().accelerators
    for kind in ("cuda", "mps", "xpu", "npu") if devices else ():
        try:
            seconds = _best(engine.backend(f"torch:{kind}"), vertices, matrix)
        except UserError:
            continue
        return [{"who": "accelerator", "threads": 0, "name": devices[0].name, "seconds": seconds}]
    return []


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """Two boards of tasks above each other on the left, the race on the right."""
    sheet.head()
    run = min(1.0, phase / 0.8)
    fade = 1.0 if phase < 0.92 else 1 - ease((phase - 0.92) / 0.08)
    done = round(run * TASKS / ROW)
    _board(sheet, 36, "serial", done, 1, fade)
    _board(sheet, 240, "rows", min(TASKS, done * ROW), ROW, fade)
    sheet.text(36, 344, sheet.say("ticks", ticks=done), 14, "think", weight="bold")
    sheet.paragraph(36, 372, sheet.say("note"), 376, 14)
    _race(sheet, found, phase, fade)


def _board(sheet: Sheet, x: float, key: str, done: int, width: int, fade: float) -> None:
    sheet.text(x, 112, sheet.say(key), 14, "ink", weight="bold")
    side, gap = 8.6, 2.2
    for i in range(TASKS):
        row, column = divmod(i, ROW)
        finished = i < done
        now = finished and i >= done - width
        color = "draw" if now else mix("draw", "paper", 0.5) if finished else "panel"
        if finished:
            sheet.fade(1.0)
            color = mix(color.split("*")[0], "panel", (1.0 if now else 0.5) * fade)
        sheet.rect(x + column * (side + gap), 124 + row * (side + gap), side, side, fill=color, radius=1.5)
    sheet.text(x, 318, sheet.say("done", done=done, tasks=TASKS), 14, "soft")


def _race(sheet: Sheet, found: Numbers, phase: float, fade: float) -> None:
    left, right = 470.0, 924.0
    racers = found.data["racers"]
    slowest = max(racer["seconds"] for racer in racers)
    sheet.text(left, 112, sheet.say("race"), 16, "ink", weight="bold")
    now = min(1.0, phase / 0.8) * slowest
    gap = 88 if len(racers) <= 3 else 70
    for i, racer in enumerate(racers):
        y = 150 + gap * i
        label = sheet.say(f"who.{racer['who']}", threads=racer["threads"], name=racer["name"][:32])
        sheet.text(left, y, label, 14.5)
        finished = now >= racer["seconds"]
        color = ("rest", "think", "think", "third")[min(i, 3)]
        share = min(1.0, now / racer["seconds"]) if racer["seconds"] else 1.0
        sheet.rect(left, y + 9, right - left, 20, fill="panel", radius=4)
        track = (right - left) * racer["seconds"] / slowest
        shown = mix(color, "panel", fade)
        sheet.rect(left, y + 9, max(3.0, track * share), 20, fill=shown, radius=3)
        ratio = written.significant(slowest / racer["seconds"])
        text = written.duration(racer["seconds"]) + ("" if i == 0 else f"  ·  {ratio} ×")
        if finished:
            sheet.fade(fade)
            sheet.text(right, y, text, 15, color if i else "ink", weight="bold", anchor="r")
            sheet.fade(1.0)
    y = 150 + gap * len(racers) - 18
    sheet.line([(left, y), (right, y)], "soft", 1)
    for k in range(5):
        x = left + (right - left) * k / 4
        sheet.line([(x, y), (x, y + 5)], "soft", 1)
        label = written.duration(slowest * k / 4) if k else "0"
        sheet.text(x, y + 20, label, 12, "soft", anchor=("l", "m", "m", "m", "r")[k])
    sheet.paragraph(left, y + 50, sheet.say("race_note"), right - left, 14)


EXHIBIT = Exhibit("parallel", numbers, picture, STEPS, 90, poster=0.8)
