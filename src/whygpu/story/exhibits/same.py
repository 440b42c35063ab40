"""Drawing and thinking side by side: both streams of products, on one roofline, and the table row by row."""

from typing import Any

from whygpu.engine import Basis
from whygpu.story import numbers as written
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, ease, measured
from whygpu.story.exhibits.canvas import Picture, Sheet
from whygpu.story.exhibits.chart import Named, Plane
from whygpu.story.exhibits.palette import mix
from whygpu.story.exhibits.work import Event, work

__all__ = ["EXHIBIT"]

SHOWN = 6
TICKS = 20
STILL = 3
STAGES = (
    ("vertex", "draw"),
    ("raster", "draw"),
    ("shade", "draw"),
    ("prefill", "think"),
    ("decode", "think"),
)


def numbers(job: Job) -> Numbers:
    """One frame and a few tokens by the best path here, heard by a ledger that keeps the order."""
    done, roofline = work(job), job.roofline
    machine = roofline.as_machine()
    stages = {
        name: {"flop": s.flop, "bytes": s.bytes, "seconds": s.seconds, "flop_per_byte": s.intensity}
        for name, s in done.stages.items()
    }
    frame_flop = sum(done.stages[name].flop for name, who in STAGES if who == "draw")
    return Numbers(
        {
            "frames": measured(1 / done.frame_seconds, "frames/s", "one frame of the character, 1280 x 720"),
            "tokens": measured(1 / done.token_seconds, "tokens/s", f"decoding with {done.model}"),
            "frame_flop": measured(frame_flop, "FLOP", "ledger: products of a frame"),
            "token_flop": measured(done.stages["decode"].flop, "FLOP", "ledger: products of a token"),
        },
        {
            "model": done.model,
            "invented": done.invented,
            "draw": [_event(event) for event in done.drawn],
            "think": [_event(event) for event in done.thought],
            "stages": stages,
            "vertices": done.vertices,
            "pixels": done.pixels,
            "text": done.text,
            "peak": machine.peak("fp32").value,
            "bandwidth": machine.bandwidth.value,
        },
        Basis.MEASURED,
        "draw.render and think on the fast paths; FLOP and bytes from the ledger, seconds without it",
        Picture(done.picture.rgba[::3, 192:-192:3]),
    )


def _event(event: Event) -> dict[str, Any]:
    shape = {"batch": event.batch * event.count, "m": event.m, "n": event.n, "k": event.k}
    return {"stage": event.stage, "name": event.name, **shape}


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """Streams on the left, the roofline on the right, the table below."""
    data = found.data
    place = phase * TICKS % TICKS
    tick = int(place)
    slide = ease((place - tick) * 2.8)
    sheet.head(model=data["model"])
    _stream(sheet, 36.0, "draw", data["draw"], tick, slide)
    _stream(sheet, 258.0, "think", data["think"], tick, slide)
    lit = {data[who][tick % len(data[who])]["stage"] for who in ("draw", "think")}
    _roofline(sheet, data, lit)
    _table(sheet, found, tick)


def _stream(sheet: Sheet, x: float, who: str, events: list[dict[str, Any]], tick: int, slide: float) -> None:
    wide, top, row = 210.0, 122.0, 34.0
    sheet.text(x, 110, sheet.say(f"who.{who}"), 15, who, weight="bold")
    for k in range(SHOWN):
        event = events[(tick - k) % TICKS % len(events)]
        now = k == 0
        y = top if now else top + row * (k - 1 + slide)
        share = (slide if now else 1.0) * (1 - 0.13 * (k - 1 + slide if k else 0))
        sheet.fade(share)
        fill = who if now else mix(who, "paper", 0.12)
        sheet.rect(x, y, wide, row - 5, fill=fill, radius=6)
        ink = "paper" if now else "ink"
        name = _name(sheet, event["name"])
        sheet.text(x + 10, y + 19, name, 13, ink, weight="bold")
        batch = f"{_many(event['batch'])}·" if event["batch"] > 1 else ""
        shape = f"{batch}({event['m']:,}×{event['k']:,})({event['k']:,}×{event['n']:,})"
        size = 11.5
        free = wide - 26 - sheet.measure(name, 13, "bold")
        while sheet.measure(shape, size) > free and size > 8.5:
            size -= 0.5
        sheet.text(x + wide - 9, y + 19, shape, size, "paper" if now else "soft", anchor="r")
    sheet.fade(1.0)


def _many(count: int) -> str:
    return written.count(count) if count < 10_000 else f"{count / 1000:,.0f} k"


def _name(sheet: Sheet, name: str) -> str:
    """A product's name in the reader's language, where it is known."""
    key = f"exhibit.same.product.{name.lower().replace(' ', '_').replace('-', '_')}"
    return sheet.t(key) if sheet.t.has(key) else name


def _roofline(sheet: Sheet, data: Any, lit: set[str]) -> None:
    plane = Plane.of((548, 106, 376, 176), (0.1, 1000), (1e8, max(1e12, data["peak"] * 2)))
    plane.frame(sheet)
    roof = plane.roof(sheet, data["peak"], data["bandwidth"], "here", 2.5)
    named = []
    for name, who in STAGES:
        stage = data["stages"][name]
        flops = stage["flop"] / stage["seconds"]
        inside = stage["flop_per_byte"] is not None
        intensity = stage["flop_per_byte"] if inside else plane.x.high
        on = name in lit
        text = f"{sheet.say(f'stage.{name}')}: {written.si(flops, 'FLOP/s')}"
        text += f", {written.significant(intensity)} FLOP/B" if inside else f", {sheet.say('registers')}"
        plane.point(sheet, intensity, flops, who, 7 if on else 5, tip=text)
        named.append(Named(intensity, flops, sheet.say(f"stage.{name}"), who))
    plane.labels(sheet, named, roof)


def _table(sheet: Sheet, found: Numbers, tick: int) -> None:
    data, figures = found.data, found.figures
    top = 356.0
    xs = (36.0, 132.0, 322.0, 524.0, 668.0, 796.0)
    for x, key in zip(xs[1:], ("items", "product", "formula", "rate", "result"), strict=True):
        sheet.text(x, top, sheet.say(f"column.{key}"), 13, "soft")
    sheet.line([(36, top + 9), (924, top + 9)], "line", 1.5)
    for k, (who, rate) in enumerate((("draw", figures["frames"]), ("think", figures["tokens"]))):
        y = top + 46 + 62 * k
        sheet.text(xs[0], y, sheet.say(f"short.{who}"), 16, who, weight="bold")
        items = sheet.say(
            f"items.{who}", vertices=written.count(data["vertices"]), pixels=written.count(data["pixels"])
        )
        for n, line in enumerate(items.split("|")):
            sheet.text(xs[1], y - 8 + 18 * n, line.strip(), 13.5)
        for n, line in enumerate(sheet.say(f"product_of.{who}").split("|")):
            sheet.text(xs[2], y - 8 + 18 * n, line.strip(), 13.5)
        sheet.text(xs[3], y, "C = A × B", 18, "ink", weight="bold")
        sheet.text(xs[4], y, written.significant(rate.value), 19, who, weight="bold")
        wide = sheet.measure(written.significant(rate.value), 19, "bold")
        sheet.text(xs[4] + wide + 6, y, sheet.say(f"rate.{who}"), 13, "soft")
        sheet.line([(36, y + 31), (924, y + 31)], "line", 1)
    sheet.image(796, 373, 74, 59.5, found.drawn)
    words = data["text"].split()
    words = words[: 1 + tick * len(words) // TICKS]
    while sheet.measure(" ".join(words), 13) > 220 and len(words) > 1:
        words = words[1:]
    sheet.paragraph(796, 457, " ".join(words)[:48], 132, 13, "think")


EXHIBIT = Exhibit("same", numbers, picture, TICKS * STILL, 130, poster=0.535)
