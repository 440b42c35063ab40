"""Many sequences at once: decoding moves along the roofline from bandwidth to arithmetic."""

from time import perf_counter
from typing import Any

from whygpu import engine, models, predict, think
from whygpu.engine import Basis
from whygpu.predict import arithmetic_dtype
from whygpu.story import numbers as written
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, derived, ease, measured
from whygpu.story.exhibits.canvas import Sheet
from whygpu.story.exhibits.chart import Named, Plane
from whygpu.story.exhibits.palette import mix

__all__ = ["BATCHES", "CHIP", "EXHIBIT"]

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CHIP = "GeForce RTX 4090"
FLOAT, HALF = 4, 2
PATIENCE, LONG = 14.0, 0.25
"""Seconds after which no larger batch is timed (a busy machine), and no batch once more."""


def numbers(job: Job) -> Numbers:
    """One decode step of 1 to 256 sequences on the portable path; the same step bounded for a GPU."""
    chip = predict.hardware(job.chips[0] if job.chips else CHIP)
    peak = chip.peak(arithmetic_dtype(chip)).value
    a = job.model.architecture
    machine = job.roofline.as_machine()
    rows: list[dict[str, Any]] = []
    clock = _Clock(job.model)
    for place, batch in enumerate(BATCHES):
        job.progress("exhibit.progress.batch", place / len(BATCHES), batch=batch)
        rows.append(_row(a, batch, clock.step(batch), peak, chip.bandwidth.value))
    timed = [row for row in rows if row["seconds"] is not None]
    first, last, end = rows[0], timed[-1], rows[-1]
    return Numbers(
        {
            "one": measured(
                first["tokens_per_second"], "tokens/s", "portable path, float32 weights, one sequence"
            ),
            "many": measured(last["tokens_per_second"], "tokens/s", f"the same, {last['batch']} sequences"),
            "gain": measured(last["tokens_per_second"] / first["tokens_per_second"], "x", "of both"),
            "chip_many": derived(end["chip_tokens_per_second"], "tokens/s", f"roofline bound on {chip.name}"),
        },
        {
            "model": a.name,
            "invented": job.model.invented,
            "chip": chip.name,
            "chip_peak": peak,
            "chip_bandwidth": chip.bandwidth.value,
            "here_peak": machine.peak("fp32").value,
            "here_bandwidth": machine.bandwidth.value,
            "rows": rows,
        },
        Basis.MEASURED,
        "think.forward, float32, first token of each sequence; the chip: max(FLOP / peak, bytes / bandwidth)",
    )


def _row(
    a: models.Architecture, batch: int, seconds: float | None, peak: float, bandwidth: float
) -> dict[str, Any]:
    """One decode step of ``batch`` sequences: as it was timed here, and as the chip's roofs bound it."""
    flop = sum(product.flop for product in models.matmuls(a, tokens=1, batch=batch))
    read, there = (
        models.bytes_per_token(a, past=1, bits_per_weight=8 * size, bytes_per_value=size, batch=batch)
        for size in (FLOAT, HALF)
    )
    bound = max(flop / peak, there / bandwidth)
    return {
        "batch": batch,
        "flop": flop,
        "seconds": seconds,
        "flop_per_byte": flop / read,
        "tokens_per_second": None if seconds is None else batch / seconds,
        "chip_flop_per_byte": flop / there,
        "chip_tokens_per_second": batch / bound,
        "chip_flops": flop / bound,
    }


class _Clock:
    """Times a pass of one token a sequence: on one thread, and on all unless those proved slower.

    On a busy machine BLAS's threads wait for each other, and one thread is faster.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.counts = list(dict.fromkeys((1, engine.available_threads())))
        self.began = perf_counter()

    def step(self, batch: int) -> float | None:
        """Least seconds; None where the time for measuring is over."""
        if perf_counter() - self.began > PATIENCE:
            return None
        best = {count: self._least(batch, count) for count in self.counts}
        if len(best) > 1 and best[self.counts[1]] > 2 * best[1]:
            self.counts = [1]
        return min(best.values())

    def _least(self, batch: int, threads: int) -> float:
        times: list[float] = []
        with engine.using(engine.backend("cpu", threads=threads)) as backend:
            tokens = backend.asarray([[1 + i % 997] for i in range(batch)], dtype="int64")  # (B, 1)
            while not times or (len(times) < 4 and sum(times) < LONG):
                cache = think.Cache(self.model.architecture, 1, batch)
                started = perf_counter()
                think.forward(self.model, tokens, cache)
                times.append(perf_counter() - started)
        return min(times)


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """The path along both roofs on the left; tokens a second by batch on the right."""
    data = found.data
    rows = data["rows"]
    stops = 2 * len(rows) - 2
    place = phase * stops % stops
    place = place if place < len(rows) - 1 else stops - place
    low = min(int(place), len(rows) - 2)
    between = ease((place - low - 0.25) * 2)
    sheet.head(model=data["model"], chip=data["chip"])
    _roofs(sheet, data, low, between)
    _rates(sheet, data, low + round(between))


def _roofs(sheet: Sheet, data: Any, low: int, between: float) -> None:
    rows = data["rows"]
    plane = Plane.of((76, 112, 400, 344), (0.1, 1000), (1e9, data["chip_peak"] * 3))
    plane.frame(sheet)
    named = []
    for who, color in (("here", "draw"), ("chip", "think")):
        plane.roof(sheet, data[f"{who}_peak"], data[f"{who}_bandwidth"], mix(color, "paper", 0.75), 2.5)
        key = "flop_per_byte" if who == "here" else "chip_flop_per_byte"
        path = [
            (row[key], row["flop"] / row["seconds"] if who == "here" else row["chip_flops"])
            for row in rows
            if who == "chip" or row["seconds"] is not None
        ]
        for intensity, flops in path:
            plane.point(sheet, intensity, flops, mix(color, "paper", 0.35), 3.5)
        (xa, ya), (xb, yb) = (path[min(place, len(path) - 1)] for place in (low, low + 1))
        at = (xa ** (1 - between) * xb**between, ya ** (1 - between) * yb**between)
        plane.point(sheet, *at, color, 9)
        name = sheet.say("here") if who == "here" else data["chip"].removeprefix("GeForce ")
        named.append(Named(plane.x.high, data[f"{who}_peak"], name, color))
    plane.labels(sheet, named)
    sheet.text(plane.x.start + 12, plane.y.end + 22, sheet.say("memory"), 13, "soft")
    sheet.text(plane.x.end - 8, plane.y.start - 10, sheet.say("arithmetic"), 13, "soft", anchor="r")


def _rates(sheet: Sheet, data: Any, lit: int) -> None:
    left, top = 520.0, 112.0
    xs = (left + 72, left + 158, left + 280, left + 404)
    for x, key in zip(xs, ("batch", "intensity", "here", "chip"), strict=True):
        color = {"here": "draw", "chip": "think"}.get(key, "soft")
        text = sheet.say(f"column.{key}", chip=data["chip"].removeprefix("GeForce "))
        sheet.text(x, top, text, 13, color, anchor="r")
    sheet.line([(left, top + 10), (left + 404, top + 10)], "line", 1.5)
    for i, row in enumerate(data["rows"]):
        y = top + 37 + 33 * i
        on = i == lit
        if on:
            sheet.rect(left - 4, y - 22, 416, 32, fill=mix("think", "paper", 0.12), radius=5)
        weight = "bold" if on else "regular"
        cells = (
            (str(row["batch"]), "ink"),
            (written.significant(row["flop_per_byte"]), "soft"),
            (_rate(row["tokens_per_second"]), "draw"),
            (written.si(row["chip_tokens_per_second"], "").strip(), "think"),
        )
        for x, (text, color) in zip(xs, cells, strict=True):
            sheet.text(x, y, text, 15.5, color if on or color == "soft" else "ink", weight=weight, anchor="r")
    y = top + 37 + 33 * len(data["rows"]) + 8
    sheet.paragraph(left, y, sheet.say("invented" if data["invented"] else "note"), 404, 13.5)


def _rate(value: float | None) -> str:
    return "–" if value is None else written.significant(value)


EXHIBIT = Exhibit("batch", numbers, picture, (2 * len(BATCHES) - 2) * 4, 140, poster=0.25)
