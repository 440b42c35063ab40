"""A point turned round the origin: a 2 x 2 matrix times a column, its numbers at every moment."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from whygpu import engine
from whygpu.engine import Basis
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, derived
from whygpu.story.exhibits.canvas import Sheet, number
from whygpu.story.exhibits.palette import mix

__all__ = ["EXHIBIT"]

STEPS = 72
POINT = (2.0, 1.0)
CENTRE, UNIT = (232.0, 294.0), 76.0


def numbers(job: Job) -> Numbers:
    """All matrices and all products, in one stack: (72, 2, 2) @ (2, 1)."""
    del job
    angles = np.arange(STEPS) * (2 * np.pi / STEPS)
    cosine, sine = np.cos(angles), np.sin(angles)
    matrices = np.stack([np.stack([cosine, -sine], 1), np.stack([sine, cosine], 1)], 1)  # (72, 2, 2)
    with engine.using("cpu") as backend, engine.ledger() as ledger, engine.scope("draw", "exhibit"):
        column = backend.asarray([[POINT[0]], [POINT[1]]], "float64")  # (2, 1)
        turned = backend.to_numpy(
            engine.matmul(backend.asarray(matrices, "float64"), column, name="rotation")
        )
    flop = ledger.totals("draw").flop // STEPS
    lengths = np.linalg.norm(turned[:, :, 0], axis=1)
    return Numbers(
        {
            "multiplications": derived(flop / 2, "", "one for each element of the matrix: 2 x 2"),
            "flop": derived(flop, "FLOP", "ledger: 2 m n k = 2 x 2 x 1 x 2"),
            "length": derived(float(lengths.mean()), "", "square root of x² + y², the same at every angle"),
        },
        {
            "point": list(POINT),
            "degrees": np.degrees(angles).tolist(),
            "matrices": matrices.tolist(),
            "turned": turned[:, :, 0].tolist(),
        },
        Basis.DERIVED,
        "engine.matmul in float64",
    )


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """The plane on the left, the product on the right."""
    step = round(phase * STEPS) % STEPS
    data = found.data
    sheet.head()
    _plane(sheet, data["turned"], step)
    _product(sheet, data, step)


def _plane(sheet: Sheet, turned: list[list[float]], step: int) -> None:
    cx, cy = CENTRE
    for k in range(-2, 3):
        sheet.line([(cx + k * UNIT, cy - 196), (cx + k * UNIT, cy + 196)], "line", 1)
        sheet.line([(cx - 196, cy + k * UNIT), (cx + 196, cy + k * UNIT)], "line", 1)
    sheet.arrow((cx - 196, cy), (cx + 206, cy), "soft", 1.5)
    sheet.arrow((cx, cy + 196), (cx, cy - 202), "soft", 1.5)
    sheet.text(cx + 202, cy + 18, "x", 14, "soft")
    sheet.text(cx - 16, cy - 192, "y", 14, "soft")
    radius = math.hypot(*POINT) * UNIT
    sheet.circle(cx, cy, radius, stroke="line", width=2)
    start = math.atan2(POINT[1], POINT[0])
    for back in range(14, 0, -1):
        x, y = turned[(step - back) % STEPS]
        sheet.circle(cx + x * UNIT, cy - y * UNIT, 3, fill=mix("draw", "paper", 0.55 * (1 - back / 15)))
    sheet.line([(cx, cy), (cx + POINT[0] * UNIT, cy - POINT[1] * UNIT)], "rest", 2, dash=5)
    sheet.circle(cx + POINT[0] * UNIT, cy - POINT[1] * UNIT, 5, fill="paper", stroke="rest", width=2)
    angle = 2 * math.pi * step / STEPS
    arc = [start + angle * k / 40 for k in range(41)] if step else []
    sheet.line([(cx + 38 * math.cos(a), cy - 38 * math.sin(a)) for a in arc], "think", 3)
    x, y = turned[step]
    sheet.line([(cx, cy), (cx + x * UNIT, cy - y * UNIT)], "draw", 3)
    sheet.circle(cx + x * UNIT, cy - y * UNIT, 8, fill="draw", stroke="paper", width=2, name="handle")


def _product(sheet: Sheet, data: Mapping[str, Any], step: int) -> None:
    left, top = 486.0, 168.0
    angle = 360 * step / STEPS
    sheet.text(left, 128, f"θ = {angle:.0f}°", 24, "think", weight="bold")
    (c, s0), (s, _) = data["matrices"][step]
    x, y = data["turned"][step]
    sheet.text(left, top - 8, "R(θ)", 14, "soft")
    edge = sheet.matrix(left, top, [[c, s0], [s, c]], size=19, cell=84, places=3, color="think")
    sheet.text(edge + 19, top + 38, "×", 20, "soft", anchor="m")
    sheet.text(edge + 40, top - 8, "p", 14, "soft")
    edge = sheet.matrix(edge + 38, top, [[POINT[0]], [POINT[1]]], size=19, cell=44, places=0)
    sheet.text(edge + 19, top + 38, "=", 20, "soft", anchor="m")
    sheet.text(edge + 40, top - 8, "R p", 14, "soft")
    sheet.matrix(edge + 38, top, [[x], [y]], size=19, cell=84, places=3, color="draw")
    for row, (a, b, out, name) in enumerate(((c, s0, x, "x"), (s, c, y, "y"))):
        base = 296 + 62 * row
        sheet.rect(left, base - 30, 438, 46, fill="panel", radius=6)
        sheet.text(left + 16, base, name, 18, "draw", weight="bold")
        cells = [(72, "=", "soft"), (164, number(a), "think"), (184, "×", "soft"), (216, "2", "ink")]
        cells += [(240, "+", "soft"), (322, number(b), "think"), (342, "×", "soft"), (366, "1", "ink")]
        for at, text, color in cells:
            sheet.text(left + at - 20, base, text, 17, color, anchor="r")
        sheet.text(left + 362, base, "=", 17, "soft", anchor="m")
        sheet.text(left + 428, base, number(out), 17, "draw", weight="bold", anchor="r")
    sheet.paragraph(left, 420, sheet.say("note"), 438, 14.5)


EXHIBIT = Exhibit("rotation", numbers, picture, STEPS, 60, drag="turn", poster=0.125)
