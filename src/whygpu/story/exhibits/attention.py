"""Which word looks at which: the causal weights of a real sentence in a real head."""

from typing import Any

import numpy as np

from whygpu.engine import Basis, UserError
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, derived, ease
from whygpu.story.exhibits.canvas import Sheet
from whygpu.story.exhibits.palette import mix

__all__ = ["EXHIBIT", "choose"]

STILL = 6
"""Moments for each token."""
MOST = 14


def numbers(job: Job) -> Numbers:
    """One forward pass; of all heads the one that looks most at words that are neither first nor next."""
    reading = job.reading
    tokens = [token.strip() or "_" for token in reading.tokens]
    if len(tokens) > MOST:
        raise UserError(f"sentence: {len(tokens)} tokens; at most {MOST} stand side by side")
    layer, head = choose(reading.attention)
    weights = reading.attention[layer, head].astype(np.float64)
    a = job.model.architecture
    entropy = -(weights * np.log2(np.where(weights > 0, weights, 1))).sum(1)
    return Numbers(
        {
            "tokens": derived(len(tokens), "", "of the sentence"),
            "heads": derived(a.layers * a.heads, "", f"{a.layers} layers x {a.heads} heads"),
            "seen": derived(
                len(tokens) * (len(tokens) + 1) // 2, "", "pairs that the causal mask lets through"
            ),
            "spread": derived(float(2 ** entropy[-1]), "", "2^entropy of the last row: words looked at"),
        },
        {
            "model": a.name,
            "invented": reading.invented,
            "layer": layer + 1,
            "layers": a.layers,
            "head": head + 1,
            "heads": a.heads,
            "head_dim": a.head_dim,
            "tokens": tokens,
            "weights": weights.tolist(),
        },
        Basis.DERIVED,
        "softmax weights of think.forward on the portable path",
    )


def choose(attention: Any) -> tuple[int, int]:
    """The (layer, head) that looks most sharply at earlier tokens, the first and the nearest left out.

    The sum of the squares of those weights is compared.
    """
    length = attention.shape[-1]
    rows, columns = np.indices((length, length))
    interesting = (columns > 0) & (columns < rows - 1)
    mass = (attention**2 * interesting).sum((2, 3))
    layer, head = np.unravel_index(int(mass.argmax()), mass.shape)
    return int(layer), int(head)


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """Arcs over the sentence; below, the whole matrix and the row of the token that looks."""
    data = found.data
    tokens, weights = data["tokens"], data["weights"]
    place = phase * len(tokens) % len(tokens)
    row = int(place)
    blend = ease((place - row) * 2)
    values = {key: data[key] for key in ("model", "layer", "layers", "head", "heads")}
    sheet.head(**values)
    _arcs(sheet, tokens, weights, row, blend)
    _matrix(sheet, tokens, weights, row)
    _row(sheet, data, row)


def _arcs(sheet: Sheet, tokens: list[str], weights: list[list[float]], row: int, blend: float) -> None:
    count = len(tokens)
    step = 888 / count
    size = min(17.0, 17 * step / 80)
    while max(sheet.measure(token, size, "bold") for token in tokens) > step - 6 and size > 8:
        size -= 0.5
    base = 216.0
    at = [36 + step * (i + 0.5) for i in range(count)]
    for j in range(row + 1):
        share = weights[row][j] * (0.3 + 0.7 * blend)
        if j < row and weights[row][j] > 0.01:
            a, b = at[row], at[j]
            tall = min(110.0, 34 + abs(a - b) * 0.24)
            curve = [
                (a + (b - a) * k / 24, base - 24 - tall * 4 * (k / 24) * (1 - k / 24)) for k in range(25)
            ]
            sheet.line(curve, mix("think", "paper", min(1.0, 0.25 + 1.2 * share)), 1.2 + 10 * share)
    for i, token in enumerate(tokens):
        share = weights[row][i] if i <= row else 0.0
        fill = "think" if i == row else mix("think", "panel", min(0.75, share * 1.1))
        sheet.rect(at[i] - step / 2 + 3, base - 22, step - 6, 34, fill=fill, radius=6)
        ink = "paper" if i == row else ("rest" if i > row else "ink")
        weight = "bold" if i == row else "regular"
        sheet.text(at[i], base, token, size, ink, weight=weight, anchor="m")


def _matrix(sheet: Sheet, tokens: list[str], weights: list[list[float]], row: int) -> None:
    count = len(tokens)
    side = min(22.0, 232 / count)
    left, top = 120.0, 256.0
    for i in range(count):
        ink, weight = ("think", "bold") if i == row else ("soft", "regular")
        sheet.text(left - 8, top + side * (i + 0.5) + 4.5, tokens[i], 12.5, ink, weight=weight, anchor="r")
        for j in range(count):
            x, y = left + j * side, top + i * side
            if j > i:
                sheet.rect(x + 0.5, y + 0.5, side - 1, side - 1, fill=mix("line", "paper", 0.45))
                continue
            tip = f"{tokens[i]} → {tokens[j]}: {weights[i][j]:.3f}"
            color = mix("think", "panel", weights[i][j] ** 0.7)
            sheet.rect(x + 0.5, y + 0.5, side - 1, side - 1, fill=color, tip=tip)
    y = top + row * side
    sheet.rect(left, y, side * (row + 1), side, stroke="draw", width=2)


def _row(sheet: Sheet, data: Any, row: int) -> None:
    left, right = 430.0, 924.0
    tokens, weights = data["tokens"], data["weights"]
    sheet.text(left, 270, sheet.say("looks", token=tokens[row]), 16, "ink", weight="bold")
    order = sorted(range(row + 1), key=lambda j: -weights[row][j])[:5]
    for k, j in enumerate(order):
        y = 299 + 28 * k
        sheet.text(left + 92, y, tokens[j], 14.5, "ink", anchor="r")
        sheet.rect(left + 102, y - 13, 300, 17, fill="panel", radius=3)
        sheet.rect(left + 102, y - 13, max(1.0, 300 * weights[row][j]), 17, fill="think", radius=3)
        sheet.text(right, y, f"{100 * weights[row][j]:.1f} %", 14.5, "ink", anchor="r")
    sheet.text(left, 452, sheet.say("formula", dim=data["head_dim"]), 14, "soft")
    note = "invented" if data["invented"] else "future"
    sheet.paragraph(left, 476, sheet.say(note), right - left, 13)


EXHIBIT = Exhibit("attention", numbers, picture, 11 * STILL, 130, drag="slide", poster=0.95)
