"""Prefill, decode and drawing under the roofs of this machine and of others."""

from typing import Any

from whygpu import models, predict
from whygpu.engine import Basis, UserError
from whygpu.measure.machine import Machine
from whygpu.predict import arithmetic_dtype
from whygpu.story import numbers as written
from whygpu.story.exhibits.base import Exhibit, Job, Number, Numbers, derived, ease, measured
from whygpu.story.exhibits.canvas import Sheet
from whygpu.story.exhibits.chart import Plane
from whygpu.story.exhibits.palette import mix
from whygpu.story.exhibits.work import work

__all__ = ["CHIPS", "EXHIBIT"]

CHIPS = ("Core i9-14900K", "M4 Max", "GeForce RTX 4090", "H100 SXM5 80GB", "B200 SXM 180GB")
PROMPT = 512
STILL = 10
WORKLOADS = (("vertex", "draw"), ("decode", "think"), ("prefill", "think"))


def numbers(job: Job) -> Numbers:
    """Intensities of the workloads; roofs measured here, and from the catalogue."""
    done, here = work(job), job.roofline.as_machine()
    architecture = job.model.architecture
    intensities = {
        "vertex": done.stages["vertex"].intensity or 0.0,
        "decode": _intensity(architecture, 1),
        "prefill": _intensity(architecture, PROMPT),
    }
    if len(job.chips) > 7:
        raise UserError(f"--chips: {len(job.chips)} given; at most 7 roofs fit beside this machine's")
    machines = [_machine(here, True)]
    machines += [_machine(predict.hardware(name), False) for name in (tuple(job.chips) or CHIPS)]
    found = {key: done.stages[key].flops for key, _ in WORKLOADS}
    return Numbers(
        {
            "decode": derived(intensities["decode"], "FLOP/B", "products of one token / bytes read for it"),
            "prefill": derived(
                intensities["prefill"], "FLOP/B", f"products of {PROMPT} tokens / weights read once"
            ),
            "vertex": derived(intensities["vertex"], "FLOP/B", "ledger: vertex stage of a frame"),
            "ridge": measured(here.ridge("fp32"), "FLOP/B", "fp32 roof / bandwidth roof of this machine"),
            "bandwidth": Number.of(here.bandwidth, "B/s"),
            "peak": Number.of(here.peak("fp32"), "FLOP/s"),
        },
        {
            "model": architecture.name,
            "prompt": PROMPT,
            "intensities": intensities,
            "measured_flops": found,
            "machines": machines,
        },
        Basis.DERIVED,
        "min(peak, bandwidth x FLOP/byte): Williams, Waterman, Patterson 2009",
    )


def _intensity(architecture: models.Architecture, tokens: int) -> float:
    flop = sum(product.flop for product in models.matmuls(architecture, tokens=tokens))
    return flop / models.bytes_per_token(architecture, past=tokens)


def _machine(machine: Machine, here: bool) -> dict[str, Any]:
    dtype = arithmetic_dtype(machine)
    peak = machine.peak(dtype)
    return {
        "name": machine.name,
        "here": here,
        "dtype": dtype,
        "peak": peak.value,
        "bandwidth": machine.bandwidth.value,
        "basis": str(peak.basis),
        "source": peak.source,
    }


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """All roofs, one of them lit with the workloads on it; its numbers on the right."""
    data = found.data
    machines = data["machines"]
    place = phase * len(machines) % len(machines)
    lit = int(place)
    blend = ease((place - lit) * 2.5)
    sheet.head(model=data["model"], prompt=data["prompt"])
    highest = max(machine["peak"] for machine in machines)
    plane = Plane.of((76, 112, 488, 344), (0.1, 10_000), (1e9, highest * 2.5))
    plane.frame(sheet)
    for i, machine in enumerate(machines):
        if i != lit:
            plane.roof(sheet, machine["peak"], machine["bandwidth"], mix("rest", "paper", 0.55), 1.5)
    previous = machines[lit - 1]
    here = machines[lit]
    plane.roof(sheet, here["peak"], here["bandwidth"], "here", 3.5)
    lowest = min(data["intensities"].values())
    for key, who in WORKLOADS:
        intensity = data["intensities"][key]
        rates = [min(m["peak"], m["bandwidth"] * intensity) for m in (previous, here)]
        flops = rates[0] ** (1 - blend) * rates[1] ** blend
        plane.drop(sheet, intensity, who, highest * 2.5, 1e9)
        plane.point(
            sheet,
            intensity,
            flops,
            who,
            8,
            tip=f"{sheet.say(f'work.{key}')}: {written.si(rates[1], 'FLOP/s')}",
        )
        x = plane.x(intensity)
        anchor = "r" if intensity == lowest else "l"
        sheet.text(x + (-6 if anchor == "r" else 6), 126, sheet.say(f"work.{key}"), 13.5, who, weight="bold",
                   anchor=anchor)  # fmt: skip
    _side(sheet, data, here, lit)


def _side(sheet: Sheet, data: Any, here: dict[str, Any], lit: int) -> None:
    left, right = 612.0, 924.0
    for i, machine in enumerate(data["machines"]):
        y = 112 + 23 * i
        on = i == lit
        if on:
            sheet.rect(left - 8, y - 16, right - left + 16, 22, fill="here", radius=5)
        name = sheet.say("this", name=machine["name"]) if machine["here"] else machine["name"]
        sheet.text(left, y, name[:40], 13.5, "paper" if on else "soft", weight="bold" if on else "regular")
    y = 112 + 23 * len(data["machines"]) + 16
    for key, text in (
        ("peak", f"{written.si(here['peak'], 'FLOP/s')} {here['dtype']}"),
        ("bandwidth", written.si(here["bandwidth"], "B/s")),
        ("ridge", f"{written.significant(here['peak'] / here['bandwidth'])} FLOP/B"),
    ):
        sheet.text(left, y, sheet.say(f"side.{key}"), 14, "soft")
        sheet.text(right, y, text, 15.5, "ink", weight="bold", anchor="r")
        y += 25
    sheet.line([(left, y - 10), (right, y - 10)], "line", 1.5)
    y += 14
    for key, who in WORKLOADS:
        intensity = data["intensities"][key]
        rate = min(here["peak"], here["bandwidth"] * intensity)
        bound = "arithmetic" if here["bandwidth"] * intensity > here["peak"] else "memory"
        sheet.text(left, y, sheet.say(f"work.{key}"), 14, who, weight="bold")
        sheet.text(
            right, y, sheet.say("of_peak", share=written.percent(rate / here["peak"])), 14.5, anchor="r"
        )
        sheet.text(left, y + 18, sheet.say("at", intensity=written.significant(intensity)), 12.5, "soft")
        sheet.text(right, y + 18, sheet.say(f"bound.{bound}"), 12.5, "soft", anchor="r")
        y += 44


EXHIBIT = Exhibit("roofline", numbers, picture, 6 * STILL, 150, drag="slide", poster=0.59)
