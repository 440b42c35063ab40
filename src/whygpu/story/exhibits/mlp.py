"""A multilayer perceptron, small enough to see and then as large as it is in the default model."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu import engine
from whygpu.engine import Basis
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, derived
from whygpu.story.exhibits.canvas import Picture, Sheet, number
from whygpu.story.exhibits.palette import heat, mix

__all__ = ["EXHIBIT", "gelu"]

STEPS = 66
INPUTS, HIDDEN, OUTPUTS = 4, 16, 4
COLUMNS = 48
"""Of the picture of a real layer."""
COLOR = {1: (58, 122, 214), -1: (214, 112, 32)}

Floats = NDArray[np.float64]


def gelu(x: Floats) -> Floats:
    """The tanh form (Hendrycks and Gimpel 2016), as GPT-2 uses it."""
    bent: Floats = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return bent


def numbers(job: Job) -> Numbers:
    """The small one with invented weights at every moment; a real layer for every token."""
    random = np.random.default_rng(11)
    up = (random.standard_normal((INPUTS, HIDDEN)) * 0.75).round(2)
    down = (random.standard_normal((HIDDEN, OUTPUTS)) * 0.35).round(2)
    turn = np.arange(STEPS) / STEPS
    inputs = np.sin(2 * np.pi * (turn[:, None] + np.arange(INPUTS) / INPUTS)).round(3)  # (steps, 4)
    with engine.using("cpu"), engine.ledger() as ledger, engine.scope("think", "exhibit"):
        raised = engine.matmul(inputs, up, name="up")  # (steps, 16)
        bent = gelu(raised)
        out = engine.matmul(bent, down, name="down")  # (steps, 4)
    reading, a = job.reading, job.model.architecture
    layer = a.layers // 2
    hidden = reading.hidden[layer]  # (T, d_ff)
    pictures = [Picture(_values(row)) for row in hidden]
    quiet = float((np.abs(hidden) < 0.1 * np.abs(hidden).max(1, keepdims=True)).mean())
    names = ("up", "down", "gate") if a.features.gated else ("up", "down")
    real = 2 * a.d_model * a.d_ff * len(names)
    return Numbers(
        {
            "flop": derived(ledger.totals("think").flop // STEPS, "FLOP", "ledger: 2 x 4 x 16 + 2 x 16 x 4"),
            "weights": derived(up.size + down.size, "", "4 x 16 + 16 x 4, without biases"),
            "real_weights": derived(a.d_model * a.d_ff * len(names), "", f"{', '.join(names)} of one layer"),
            "real_flop": derived(real, "FLOP", f"2 x {a.d_model} x {a.d_ff} x {len(names)}, one token"),
            "quiet": derived(quiet, "%", "values below a tenth of the token's largest"),
        },
        {
            "up": up.tolist(),
            "down": down.tolist(),
            "inputs": inputs.tolist(),
            "raised": raised.tolist(),
            "bent": bent.tolist(),
            "outputs": out.tolist(),
            "weights": "assumed: random numbers, seed 11",
            "model": a.name,
            "invented": reading.invented,
            "layer": layer + 1,
            "layers": a.layers,
            "d_model": a.d_model,
            "d_ff": a.d_ff,
            "activation": a.features.activation,
            "tokens": [token.strip() or "_" for token in reading.tokens],
        },
        Basis.DERIVED,
        "engine.matmul in float64; the real layer: what `down` takes in think.forward",
        pictures,
    )


def _values(row: Any) -> NDArray[np.uint8]:
    """One token's hidden values as a grid: blue above zero, orange below, faint when small."""
    rows = -(-len(row) // COLUMNS)
    grid: Floats = np.zeros(rows * COLUMNS)
    grid[: len(row)] = row / max(1e-12, float(np.abs(row).max()))
    grid = np.reshape(grid, (rows, COLUMNS))
    rgba = np.zeros((rows, COLUMNS, 4), np.uint8)
    rgba[..., :3] = np.where((grid >= 0)[..., None], COLOR[1], COLOR[-1])
    rgba[..., 3] = (255 * np.minimum(1.0, np.abs(grid) ** 0.5)).astype(np.uint8)
    return rgba


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """The small network on the left, the real layer on the right."""
    data = found.data
    step = round(phase * STEPS) % STEPS
    sheet.head(model=data["model"], layer=data["layer"], layers=data["layers"])
    _network(sheet, data, step)
    _real(sheet, found, step)


def _network(sheet: Sheet, data: Any, step: int) -> None:
    xs = (84.0, 236.0, 316.0, 474.0)
    wide = [140 + 88 * i + 12 for i in range(4)]
    tall = [112 + 22.6 * j for j in range(HIDDEN)]
    for i in range(INPUTS):
        for j in range(HIDDEN):
            w = data["up"][i][j]
            sheet.line([(xs[0], wide[i]), (xs[1], tall[j])], _wire(w), 0.6 + abs(w) * 0.6)
    for j in range(HIDDEN):
        sheet.line([(xs[1], tall[j]), (xs[2], tall[j])], "rest", 1)
        for k in range(OUTPUTS):
            w = data["down"][j][k]
            sheet.line([(xs[2], tall[j]), (xs[3], wide[k])], _wire(w * 2), 0.6 + abs(w) * 1.2)
    for i, value in enumerate(data["inputs"][step]):
        _node(sheet, xs[0], wide[i], 22, value, f"in{i}", True)
    for name, x, values in (("up", xs[1], data["raised"]), ("act", xs[2], data["bent"])):
        for j, value in enumerate(values[step]):
            _node(sheet, x, tall[j], 9.6, value / 2, f"{name}{j}", False)
    for k, value in enumerate(data["outputs"][step]):
        _node(sheet, xs[3], wide[k], 22, value, f"out{k}", True)
    for x, key in ((xs[0], "input"), (xs[1], "up"), (xs[2], "gelu"), (xs[3], "down")):
        sheet.text(x, 492, sheet.say(f"column.{key}"), 13.5, "soft", anchor="m")


def _wire(weight: float) -> str:
    return mix("think" if weight >= 0 else "draw", "paper", min(0.6, 0.08 + abs(weight) * 0.3))


def _node(sheet: Sheet, x: float, y: float, r: float, value: float, name: str, with_number: bool) -> None:
    level = max(-1.0, min(1.0, value))
    sheet.circle(x, y, r, fill=heat(level, none="panel"), stroke="soft", width=1.2, name=name)
    if with_number:
        ink = "paper" if abs(level) > 0.62 else "ink"
        sheet.text(x, y + 5, number(value, 2), 13, ink, weight="bold", anchor="m", name=f"{name}text")


def _real(sheet: Sheet, found: Numbers, step: int) -> None:
    data = found.data
    left, right = 560.0, 924.0
    tokens = data["tokens"]
    token = step * len(tokens) // STEPS
    sheet.text(left, 112, sheet.say("real", model=data["model"]), 16, weight="bold")
    shape = {"d_model": data["d_model"], "d_ff": f"{data['d_ff']:,}"}
    sheet.text(left, 134, sheet.say("real_layer", layer=data["layer"], layers=data["layers"]), 13.5, "soft")
    rows = -(-data["d_ff"] // COLUMNS)
    h = min(250.0, 364 / COLUMNS * rows)
    sheet.rect(left, 148, right - left, h, fill="panel")
    sheet.image(left, 148, right - left, h, found.drawn[token])
    y = 148 + h + 24
    x = left
    for i, word in enumerate(tokens):
        wide = sheet.measure(word, 13.5, "bold") + 12
        if x + wide > right:
            x, y = left, y + 26
        if i == token:
            sheet.rect(x, y - 16, wide, 22, fill="think", radius=5)
        ink, weight = ("paper", "bold") if i == token else ("soft", "regular")
        sheet.text(x + wide / 2, y, word, 13.5, ink, weight=weight, anchor="m")
        x += wide + 1
    sheet.text(left, y + 30, sheet.say("shape", **shape), 14, "ink")
    note = "invented" if data["invented"] else "quiet"
    sheet.text(left, y + 52, sheet.say(note, share=str(found.figures["quiet"])), 13.5, "soft")


EXHIBIT = Exhibit("mlp", numbers, picture, STEPS, 110, live=True, poster=0.1)
