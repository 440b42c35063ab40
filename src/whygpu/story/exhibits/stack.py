"""Hardware, maths library, framework, communication: what this machine has of each ecosystem."""

import functools
import shutil
import sys
import tomllib
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from whygpu.engine import Basis
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, measured
from whygpu.story.exhibits.canvas import Sheet
from whygpu.story.exhibits.fonts import shown
from whygpu.story.exhibits.palette import mix

__all__ = ["EXHIBIT", "detect"]

STILL = 6
FOLDERS = (
    "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
    "/usr/local/cuda/lib64", "/opt/rocm/lib", "/usr/local/Ascend/ascend-toolkit/latest/lib64",
    "/opt/aws/neuron/lib",
)  # fmt: skip


@functools.cache
def _plan() -> dict[str, Any]:
    file = resources.files("whygpu.story.exhibits").joinpath("data", "stack.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def numbers(job: Job) -> Numbers:
    """Look for every part; nothing of it is imported."""
    del job
    plan = _plan()
    rows = [
        {
            "key": ecosystem["key"],
            "cells": {layer: detect(ecosystem[layer]) for layer in plan["layers"]},
        }
        for ecosystem in plan["ecosystems"]
    ]
    cells = [cell for row in rows for cell in row["cells"].values()]
    whole = sum(all(cell["found"] for cell in row["cells"].values()) for row in rows)
    return Numbers(
        {
            "found": measured(sum(bool(cell["found"]) for cell in cells), "", "parts found on this machine"),
            "looked": measured(len(cells), "", "parts looked for"),
            "complete": measured(whole, "", "ecosystems with all four layers"),
        },
        {"layers": plan["layers"], "ecosystems": rows},
        Basis.MEASURED,
        "device files, vendors' programs, the linker's folders, Python's installed distributions",
    )


def detect(cell: dict[str, Any]) -> dict[str, Any]:
    """What of one cell of the table is here: its label and a list of findings with versions."""
    found = [*_devices(cell), *_libraries(cell), *_packages(cell)]
    return {"label": cell["label"], "found": [shown(name) for name in dict.fromkeys(found)]}


def _devices(cell: dict[str, Any]) -> list[str]:
    from whygpu import measure

    host = measure.this_host()
    found = [
        device.name
        for device in host.accelerators
        for word in cell.get("devices", ())
        if word in device.name.lower()
    ]
    if not found:
        found = [program for program in cell.get("programs", ()) if shutil.which(program)]
    if cell.get("host"):
        found.append(host.cpu)
    if cell.get("blas"):
        found.append(f"{host.blas.name} {host.blas.version} ({host.blas.kernel})")
    if cell.get("threads"):
        found.append(f"{host.threads} threads")
    return found


def _libraries(cell: dict[str, Any]) -> list[str]:
    found = []
    for pattern in cell.get("libraries", ()):
        files = [file for folder in FOLDERS for file in Path(folder).glob(pattern)]
        if files:
            found.append(max(files, key=lambda file: len(file.name)).name)
    for name in cell.get("frameworks", ()):
        if Path(f"/System/Library/Frameworks/{name}.framework").exists():
            found.append(name)
    return found


def _packages(cell: dict[str, Any]) -> list[str]:
    names = [*cell.get("python", ()), *(cell.get("darwin", ()) if sys.platform == "darwin" else ())]
    found = []
    for name in names:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        if "local" in cell and cell["local"] not in version.partition("+")[2]:
            continue
        found.append(f"{name} {version}")
    return found


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """A row an ecosystem, a column a layer; what is here is lit."""
    data = found.data
    rows = data["ecosystems"]
    lit = int(phase * len(rows)) % len(rows)
    sheet.head(found=int(found.figures["found"].value), looked=int(found.figures["looked"].value))
    left, top, first, wide, tall = 36.0, 120.0, 84.0, 203.0, 54.5
    for k, layer in enumerate(data["layers"]):
        x = left + first + k * wide
        sheet.text(x + 6, 106, sheet.say(f"layer.{layer}"), 14, "soft", weight="bold")
    for i, row in enumerate(rows):
        y = top + i * tall
        on = i == lit
        sheet.text(left, y + 29, sheet.say(f"ecosystem.{row['key']}"), 15, "think" if on else "ink",
                   weight="bold" if on else "regular")  # fmt: skip
        for k, layer in enumerate(data["layers"]):
            _cell(sheet, row["cells"][layer], left + first + k * wide, y, wide - 8, tall - 7, on)


def _cell(sheet: Sheet, cell: dict[str, Any], x: float, y: float, w: float, h: float, on: bool) -> None:
    here = bool(cell["found"])
    tip = f"{cell['label']}: {', '.join(cell['found']) or '–'}"
    fill = mix("think", "paper", 0.26 if on else 0.15) if here else "panel"
    stroke = "think" if on and here else mix("rest", "paper", 0.8) if on else ""
    sheet.rect(x, y, w, h, fill=fill, stroke=stroke, width=1.4, radius=6, tip=tip)
    sheet.circle(
        x + 13, y + 15, 4.2, fill="think" if here else "", stroke="think" if here else "rest", width=1.4
    )
    _fit(sheet, x + 24, y + 20, cell["label"], w - 30, 13.5, "ink" if here else "soft", here)
    detail = ", ".join(cell["found"]) if here else sheet.say("not_here")
    _fit(sheet, x + 24, y + 38, detail, w - 30, 12, "soft", False)


def _fit(
    sheet: Sheet, x: float, y: float, text: str, wide: float, size: float, color: str, bold: bool
) -> None:
    """Smaller where it is too long, and cut at the end where that does not suffice."""
    weight = "bold" if bold else "regular"
    while sheet.measure(text, size, weight) > wide and size > 11:
        size -= 0.5
    if sheet.measure(text, size, weight) > wide:
        while text and sheet.measure(f"{text}..", size, weight) > wide:
            text = text[:-1]
        text = f"{text.rstrip(' ,(')}.."
    sheet.text(x, y, text, size, color, weight=weight)


EXHIBIT = Exhibit("stack", numbers, picture, 7 * STILL, 180, poster=0.9)
