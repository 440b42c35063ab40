"""Any two chips of the catalogue side by side: cores to scale, and what they do with them."""

import math
from typing import Any

from whygpu import predict
from whygpu.engine import Basis, UserError
from whygpu.measure.machine import Machine
from whygpu.story import numbers as written
from whygpu.story.exhibits.base import Exhibit, Job, Number, Numbers, derived, ease
from whygpu.story.exhibits.canvas import Sheet
from whygpu.story.exhibits.palette import mix

__all__ = ["DEFAULT", "EXHIBIT"]

DEFAULT = ("Core i9-14900K", "GeForce RTX 4090")
STEPS = 48
BOX = 176.0
ROWS = ("cores", "clock", "cache", "memory", "bandwidth", "fp32", "watts", "per_watt")


def numbers(job: Job) -> Numbers:
    """Two rows of the catalogue and their ratios.

    Raises
    ------
    UserError
        For other than two chips, an unknown one, or one without cores or fp32 peak.
    """
    names = tuple(job.chips) or DEFAULT
    if len(names) != 2:
        raise UserError(f"--chips: {len(names)} given; two are compared, as in 'i9-14900K,RTX 4090'")
    machines = [predict.hardware(name) for name in names]
    chips = [_chip(machine) for machine in machines]
    rows = {}
    for key in ROWS:
        a, b = (chip[key] for chip in chips)
        ratio = b["value"] / a["value"] if a and b else None
        rows[key] = {"a": a, "b": b, "ratio": ratio}
    figures = {
        key: derived(float(rows[key]["ratio"]), "x", f"{chips[1]['name']} over {chips[0]['name']}")
        for key in ("cores", "bandwidth", "fp32", "per_watt")
        if rows[key]["ratio"]
    }
    return Numbers(
        figures,
        {"names": [chip["name"] for chip in chips], "rows": rows},
        Basis.DATASHEET,
        "hardware catalogue; FLOP/s per watt and ratios derived",
    )


def _chip(machine: Machine) -> dict[str, Any]:
    details = machine.details
    if "cores" not in details:
        raise UserError(f"{machine.name}: the catalogue has no number of cores for it; choose another chip")
    fp32 = machine.flops.get("fp32")

    def plain(key: str, scale: float, unit: str) -> dict[str, Any] | None:
        if key not in details:
            return None
        source = details.get("source", "")
        return Number(float(details[key]) * scale, unit, Basis.DATASHEET, source).as_dict()

    def figure(of: Any, unit: str) -> dict[str, Any] | None:
        return None if of is None else Number.of(of, unit).as_dict()

    per_watt = None
    if fp32 is not None and machine.watts is not None:
        per_watt = derived(fp32.value / machine.watts.value, "FLOP/s/W", "fp32 peak / board power").as_dict()
    return {
        "name": machine.name,
        "cores": plain("cores", 1, ""),
        "clock": plain("clock_ghz", 1e9, "Hz"),
        "cache": plain("llc_mb", 1e6, "B"),
        "memory": figure(machine.memory, "B"),
        "bandwidth": figure(machine.bandwidth, "B/s"),
        "fp32": figure(fp32, "FLOP/s"),
        "watts": figure(machine.watts, "W"),
        "per_watt": per_watt,
    }


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """Cores as squares of one area on the left; the table with ratios on the right."""
    data = found.data
    sheet.head()
    grow = ease(phase / 0.45) if phase < 0.9 else 1 - ease((phase - 0.9) / 0.1)
    for place, (name, key) in enumerate(zip(data["names"], ("a", "b"), strict=True)):
        _cores(sheet, 36 + place * (BOX + 24), name, data["rows"]["cores"][key]["value"], place, grow)
    _table(sheet, data, phase)


def _cores(sheet: Sheet, x: float, name: str, cores: float, place: int, grow: float) -> None:
    color = ("draw", "think")[place]
    sheet.text(x, 112, name[:24], 14.5, color, weight="bold")
    y = 126.0
    sheet.rect(x, y, BOX, BOX, fill="panel", radius=4)
    columns = math.ceil(math.sqrt(cores))
    cell = BOX / columns
    shown = round(cores * grow)
    whole, part = divmod(shown, columns)
    if cell < 6:  # too many to draw one by one: full rows, with the grid in the paper's colour
        sheet.rect(x, y, BOX, whole * cell, fill=color)
        sheet.rect(x, y + whole * cell, part * cell, cell, fill=color)
        for k in range(1, columns):
            if cell >= 2.2 or k % 4 == 0:
                line = mix("paper", color, 0.45 if cell >= 2.2 else 0.35)
                sheet.line([(x + k * cell, y), (x + k * cell, y + whole * cell)], line, 0.34)
                if k <= whole:
                    sheet.line([(x, y + k * cell), (x + BOX, y + k * cell)], line, 0.34)
    else:
        gap = cell * 0.12
        for i in range(int(cores)):
            row, column = divmod(i, columns)
            fill = color if i < shown else mix("line", "panel", 0.6)
            side = cell - 2 * gap
            sheet.rect(x + column * cell + gap, y + row * cell + gap, side, side, fill=fill, radius=cell / 10)
    if cell < 2.2:
        sheet.text(x, y + BOX + 42, sheet.say("blocks", count=16), 12, "soft")
    sheet.text(x, y + BOX + 24, written.count(shown), 22, color, weight="bold")
    sheet.text(
        x + sheet.measure(written.count(shown), 22, "bold") + 8, y + BOX + 24, sheet.say("cores"), 14, "soft"
    )


def _table(sheet: Sheet, data: Any, phase: float) -> None:
    left, a, b, right = 452.0, 682.0, 806.0, 924.0
    for x, name, color in ((a, data["names"][0], "draw"), (b, data["names"][1], "think")):
        sheet.text(x, 112, name.replace("GeForce ", "").replace("Core ", "")[:14], 13.5, color, weight="bold",
                   anchor="r")  # fmt: skip
    sheet.text(right, 112, sheet.say("ratio"), 13.5, "soft", anchor="r")
    sheet.line([(left, 122), (right, 122)], "line", 1.5)
    place = int(phase * (len(ROWS) + 1)) - 1
    for i, key in enumerate(ROWS):
        row = data["rows"][key]
        y = 149 + i * 35.5
        on = i == place
        if on:
            sheet.rect(left - 8, y - 23, right - left + 16, 33, fill=mix("think", "paper", 0.12), radius=5)
        sheet.text(left, y, sheet.say(f"row.{key}"), 14.5, "ink" if on else "soft")
        for x, cell in ((a, row["a"]), (b, row["b"])):
            tip = "" if cell is None else f"{cell['basis']}: {cell['source']}"
            sheet.text(x, y, _write(key, cell), 15, "ink", anchor="r", tip=tip)
        text = "" if row["ratio"] is None else f"{written.significant(row['ratio'], 3)} ×"
        sheet.text(right, y, text, 15.5, "think" if on else "ink", weight="bold", anchor="r")
    _areas(sheet, data)
    sheet.paragraph(left, 448, sheet.say("note"), right - left, 13.5)


def _areas(sheet: Sheet, data: Any) -> None:
    """Bandwidth and arithmetic of both as bars under the cores, each to one scale."""
    for k, key in enumerate(("bandwidth", "fp32")):
        row = data["rows"][key]
        y = 386 + 62 * k
        sheet.text(36, y, sheet.say(f"row.{key}"), 13.5, "soft")
        best = max(cell["value"] for cell in (row["a"], row["b"]) if cell) if row["a"] or row["b"] else 1
        for place, cell in enumerate((row["a"], row["b"])):
            if cell:
                wide = max(2.0, (2 * BOX + 24) * cell["value"] / best)
                sheet.rect(36, y + 8 + 18 * place, wide, 14, fill=("draw", "think")[place], radius=3)


def _write(key: str, cell: dict[str, Any] | None) -> str:
    if cell is None:
        return "–"
    value = cell["value"]
    if key == "cores":
        return written.count(value)
    if key == "memory":
        return f"{value / 2**30:,.0f} GiB"
    return written.si(value, cell["unit"].removesuffix("/W"))


EXHIBIT = Exhibit("chips", numbers, picture, STEPS, 130, poster=0.6)
