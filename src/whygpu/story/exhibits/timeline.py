"""From CUDA to Blackwell: what happened, what each chip could do, how long training would have taken."""

import functools
import tomllib
from importlib import resources
from typing import Any

from whygpu import predict
from whygpu.engine import Basis
from whygpu.story import numbers as written
from whygpu.story.exhibits.base import Exhibit, Job, Number, Numbers, derived, ease
from whygpu.story.exhibits.canvas import Sheet
from whygpu.story.exhibits.chart import Scale
from whygpu.story.exhibits.palette import mix

__all__ = ["EXHIBIT", "history"]

FIRST, LAST = 2005.6, 2025.4
STILL = 8
TRAININGS = ("alexnet", "transformer", "gpt3")


@functools.cache
def history() -> dict[str, Any]:
    """The file of events, chips and trainings."""
    file = resources.files("whygpu.story.exhibits").joinpath("data", "timeline.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def numbers(job: Job) -> Numbers:
    """Peaks and bandwidths from the catalogue; training time = FLOP / (peak x efficiency)."""
    del job
    known = history()
    share = known["efficiency"]["value"]
    chips = [_chip(row) for row in known["chips"]]
    for chip in chips:
        chip["flop_per_byte"] = chip["flops"] / chip["bandwidth"]
        chip["seconds"] = {row["key"]: row["flop"] / (chip["flops"] * share) for row in known["trainings"]}
    first, last = chips[0], chips[-1]
    growth = f"{last['name']} over {first['name']}"
    return Numbers(
        {
            "flops": derived(last["flops"] / first["flops"], "x", f"FLOP/s, {growth}"),
            "bandwidth": derived(last["bandwidth"] / first["bandwidth"], "x", f"bytes/s, {growth}"),
            "ridge": derived(last["flop_per_byte"] / first["flop_per_byte"], "x", f"FLOP/byte, {growth}"),
            "gpt3": derived(last["seconds"]["gpt3"], "s", "3.14e23 FLOP / (peak x efficiency), one chip"),
            "efficiency": Number(share, "%", Basis.ASSUMED, known["efficiency"]["source"]),
        },
        {"events": known["events"], "chips": chips, "trainings": known["trainings"], "efficiency": share},
        Basis.DERIVED,
        "hardware catalogue and data/timeline.toml, each figure with its source",
    )


def _chip(row: dict[str, Any]) -> dict[str, Any]:
    if "catalogue" not in row:
        return {**row, "basis": str(Basis.PUBLISHED)}
    machine = predict.hardware(row["catalogue"])
    peak = machine.peak(row["dtype"])
    return {
        "name": machine.name,
        "short": row["short"],
        "year": machine.year,
        "dtype": row["dtype"],
        "flops": peak.value,
        "bandwidth": machine.bandwidth.value,
        "basis": str(peak.basis),
        "source": peak.source,
    }


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """Years across; events above, chips below, and the training times of the chip that is lit."""
    data = found.data
    count = len(data["chips"])
    place = phase * count % count
    lit = int(place)
    sheet.head(share=written.percent(data["efficiency"]))
    years = Scale(FIRST, LAST, 60, 885)
    back = ease((place - count + 0.5) * 2)  # at the end what is lit fades, to begin anew
    _events(sheet, data["events"], years, data["chips"][lit]["year"], back)
    _chips(sheet, data["chips"], years, lit, ease((place - lit) * 2.5), back)
    _trainings(sheet, data["chips"][lit])


def _events(sheet: Sheet, events: list[dict[str, Any]], years: Scale, now: int, back: float) -> None:
    axis = 232.0
    sheet.line([(years(FIRST), axis), (years(LAST), axis)], "soft", 1.5)
    for year in range(2006, 2026, 2):
        sheet.line([(years(year), axis), (years(year), axis + 5)], "soft", 1)
        sheet.text(years(year), axis + 19, str(year), 12, "soft", anchor="m")
    rows = {"cuda": 3, "alexnet": 3, "tensor": 3, "transformer": 2, "gpt3": 1, "chatgpt": 2, "trillion": 0,
            "blackwell": 3}  # fmt: skip
    for event in events:
        x = years(event["year"])
        y = 104 + 33 * rows[event["key"]]
        on = event["year"] <= now + 1
        stays = event["key"] == "cuda"
        color = mix("think", "rest", 1.0 if stays else 1 - back) if on else "rest"
        ink = mix("think", "soft", 1.0 if stays else 1 - back) if on else "soft"
        title, detail = sheet.say(f"event.{event['key']}"), sheet.say(f"detail.{event['key']}")
        tip = f"{title}: {event['source']}"
        right = event["key"] not in ("cuda", "blackwell")
        sheet.line([(x, y - 8), (x, axis)], mix("think" if on and back < 0.5 else "rest", "paper", 0.45), 1.2)
        anchor, at = ("r", x - 7) if right else ("l", x + 7)
        sheet.text(at, y, title, 14, ink, weight="bold", anchor=anchor, tip=tip)
        sheet.text(at, y + 14, detail, 12, "soft", anchor=anchor)
        sheet.circle(x, axis, 5, fill=color, stroke="paper", width=1.5, tip=tip)


def _chips(
    sheet: Sheet, chips: list[dict[str, Any]], years: Scale, lit: int, blend: float, back: float
) -> None:
    """FLOP/s and bytes/s as two rising rows of columns on logarithmic scales."""
    base = 412.0
    flops = Scale(1e11, 4e15, 0, 118, log=True)
    for i, chip in enumerate(chips):
        x = years(chip["year"] + 0.3)
        on = i == lit
        tall = flops(chip["flops"])
        thin = flops(chip["bandwidth"] * 10)
        tip = (
            f"{chip['name']}: {written.si(chip['flops'], 'FLOP/s')} {chip['dtype']}, "
            f"{written.si(chip['bandwidth'], 'B/s')}, {chip['flop_per_byte']:.3g} FLOP/B ({chip['basis']})"
        )
        fade = 1.0 - 0.6 * back if on else 0.4 - 0.18 * back if i < lit else 0.22
        sheet.rect(x - 15, base - tall, 18, tall, fill=mix("draw", "paper", fade), radius=2, tip=tip)
        sheet.rect(x + 4, base - thin, 12, thin, fill=mix("think", "paper", fade), radius=2, tip=tip)
        ink, weight = ("ink", "bold") if on else ("soft", "regular")
        sheet.text(x, base + 17, chip["short"], 13, ink, weight=weight, anchor="m", tip=tip)
        if on:
            sheet.fade(blend)
            top = base - max(tall, thin) - 8
            text = written.si(chip["flops"], "FLOP/s")
            sheet.text(x, top, text, 13.5, "draw", weight="bold", anchor="m")
            sheet.fade(1.0)
    sheet.line([(60, base), (900, base)], "line", 1.5)
    sheet.rect(60, 272, 11, 11, fill="draw")
    sheet.text(77, 282, sheet.say("legend.flops"), 13, "soft")
    sheet.rect(60, 290, 11, 11, fill="think")
    sheet.text(77, 300, sheet.say("legend.bandwidth"), 13, "soft")


def _trainings(sheet: Sheet, chip: dict[str, Any]) -> None:
    y = 464.0
    sheet.rect(36, 440, 888, 60, fill="panel", radius=8)
    sheet.text(52, y, chip["short"], 17, "ink", weight="bold")
    facts = (written.si(chip["bandwidth"], "B/s"), f"{written.significant(chip['flop_per_byte'])} FLOP/B")
    sheet.text(52, y + 23, "  ·  ".join(facts), 13, "soft")
    sheet.text(330, y, sheet.say("train"), 13, "soft", anchor="r")
    sheet.text(330, y + 23, sheet.say("on_one"), 13, "soft", anchor="r")
    for i, key in enumerate(TRAININGS):
        x = 436 + 184 * i
        sheet.text(x, y, sheet.say(f"train.{key}"), 13.5, "soft", anchor="m")
        sheet.text(x, y + 24, _long(sheet, chip["seconds"][key]), 19, "think", weight="bold", anchor="m")


def _long(sheet: Sheet, seconds: float) -> str:
    years = seconds / (365.25 * 86400)
    if years >= 2:
        return sheet.say("years", count=written.significant(years))
    days = seconds / 86400
    if days >= 2:
        return sheet.say("days", count=written.significant(days))
    if seconds >= 7200:
        return sheet.say("hours", count=written.significant(seconds / 3600))
    return sheet.say("minutes", count=written.significant(seconds / 60))


EXHIBIT = Exhibit("timeline", numbers, picture, 7 * STILL, 180, drag="slide", poster=0.91)
