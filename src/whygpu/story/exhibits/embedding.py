"""Words as points: the default model's embedding matrix in the plane, and King - Man + Woman."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu import engine
from whygpu.engine import Basis, UserError
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, derived, ease
from whygpu.story.exhibits.canvas import Sheet, number
from whygpu.story.exhibits.fonts import missing
from whygpu.story.exhibits.palette import mix

__all__ = ["EXHIBIT", "WORDS", "principal_axes"]

WORDS = ("king", "man", "woman", "queen", "prince", "princess", "boy", "girl", "father", "mother")
"""The first three are the sum: first - second + third. The rest says where in the plane we are."""
NEIGHBOURS = 6
STEPS = 60
BOX = (36.0, 92.0, 500.0, 400.0)

Floats = NDArray[np.float64]


def numbers(job: Job) -> Numbers:
    """The words' rows, their plane, and the rows nearest to the sum.

    Raises
    ------
    UserError
        Without a real model (random rows have no neighbours), or for fewer than three words.
    """
    words = tuple(job.words) or WORDS
    if len(words) < 3:
        raise UserError(f"--words: {len(words)} given; at least 3 are needed: first - second + third")
    if len(words) > 16 or any(not 1 <= len(word) <= 24 for word in words):
        raise UserError("--words: at most 16 words of 1 to 24 characters can be shown")
    model = job.model
    if model.invented or model.checkpoint is None:
        raise UserError(
            "exhibit embedding needs the words of a real model, and none can be had; connect, or give --model"
        )
    table = np.asarray(model.checkpoint.array("embedding"), np.float32)  # (vocab, d)
    rows = np.stack([_row(model, table, word) for word in words]).astype(np.float64)  # (words, d)
    total = rows[0] - rows[1] + rows[2]
    with engine.using("cpu"), engine.ledger() as ledger, engine.scope("think", "embedding"):
        axes, explained = principal_axes(rows)
        middle = rows.mean(0)
        plane = engine.matmul(rows - middle, axes, name="projection")  # (words, 2)
        landing = engine.matmul((total - middle)[None], axes, name="projection")[0]
        cosines = _cosines(table, total)
    with_inputs = _neighbours(model, cosines, ())
    without = _neighbours(model, cosines, words[:3])
    return Numbers(
        {
            "vocabulary": derived(len(table), "", "rows of the embedding matrix"),
            "dimensions": derived(table.shape[1], "", "its columns"),
            "explained": derived(explained, "%", "of the words' variance lies in the plane shown"),
            "similarity": derived(without[0][1], "", "cosine of the sum and the nearest other word"),
            "flop": derived(ledger.totals("think").flop, "FLOP", "ledger: covariance, projections, cosines"),
        },
        {
            "model": model.architecture.name,
            "words": list(words),
            "plane": plane.tolist(),
            "landing": landing.tolist(),
            "with_inputs": [list(pair) for pair in with_inputs],
            "without_inputs": [list(pair) for pair in without],
        },
        Basis.DERIVED,
        f"the embedding matrix of {model.architecture.name}, dequantised; engine.matmul",
    )


def _row(model: Any, table: Any, word: str) -> Any:
    """The word's row, as it stands inside a sentence; the mean where it takes several tokens."""
    ids = model.tokenizer.encode(f" {word}")
    if not ids:
        raise UserError(f"--words: {word!r} has no tokens in this model")
    return table[ids].mean(0)


def principal_axes(rows: Floats) -> tuple[Floats, float]:
    """The two directions of most variance, (d, 2), and their share of it (Pearson 1901).

    With fewer rows than columns the eigenvectors of the small product X X^T give those of X^T X.
    """
    centred = rows - rows.mean(0)
    small = engine.matmul(centred, centred.T, name="covariance")  # (words, words)
    values, vectors = np.linalg.eigh(small)
    first = vectors[:, ::-1][:, :2]
    axes = engine.matmul(centred.T, first, name="principal axes")  # (d, 2)
    axes = axes / np.linalg.norm(axes, axis=0)
    axes = axes * np.where(axes[np.abs(axes).argmax(0), [0, 1]] < 0, -1.0, 1.0)  # the same sign every time
    share = float(values[::-1][:2].sum() / values.sum())
    return axes, share


def _cosines(table: Any, vector: Floats) -> Any:
    """Of every row with a vector, (vocab,)."""
    lengths = np.linalg.norm(table, axis=1)
    lengths[lengths == 0] = np.inf
    column = (vector / np.linalg.norm(vector)).astype(np.float32)[:, None]
    return engine.matmul(table, column, name="cosines")[:, 0] / lengths


def _neighbours(model: Any, cosines: Any, without: tuple[str, ...]) -> list[tuple[str, float]]:
    """The nearest words; spellings that differ in case or in the space before them count once."""
    banned = {word.lower() for word in without}
    found: dict[str, float] = {}
    for token in np.argsort(-cosines)[:400]:
        word = model.tokenizer.decode([int(token)]).strip().lower()
        if word and word not in banned and word not in found and not missing(word):
            found[word] = float(cosines[token])
        if len(found) == NEIGHBOURS:
            break
    return list(found.items())


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """The plane with the parallelogram on the left, the two rankings on the right."""
    data = found.data
    a, b, c = data["words"][:3]
    sheet.head(model=data["model"])
    places, landing = _fit(data)
    x, y, w, h = BOX
    sheet.rect(x, y, w, h, fill="panel", radius=8)
    show = ease(phase / 0.14) if phase < 0.9 else 1 - ease((phase - 0.9) / 0.1)
    slide = ease((phase - 0.22) / 0.3)
    landed = phase > 0.52
    sheet.fade(show)
    king, man, woman = places[:3]
    moved = (man[0] + (woman[0] - man[0]) * slide, man[1] + (woman[1] - man[1]) * slide)
    tip = (moved[0] + king[0] - man[0], moved[1] + king[1] - man[1])
    sheet.line([man, woman], "rest", 1.5, dash=4)
    if landed:
        sheet.line([king, landing], "rest", 1.5, dash=4)
    sheet.arrow(man, king, mix("draw", "panel", 0.4), 2.5)
    sheet.arrow(moved, tip, "draw", 3.5, 12)
    if landed:
        sheet.circle(*landing, 9, stroke="draw", width=2.5)
    sheet.fade(1.0)
    _points(sheet, data["words"], places, ((man, king), (man, woman), (woman, landing), (king, landing)))
    _sum(sheet, (a, b, c), phase)
    ranked = show if phase > 0.5 else 0.0
    sheet.fade(ease((phase - 0.52) / 0.1) * ranked)
    _ranking(sheet, "with", data["with_inputs"], 560.0, (a, b, c))
    _ranking(sheet, "without", data["without_inputs"], 752.0, ())
    sheet.fade(1.0)
    sheet.text(560, 470, sheet.say("plane", share=str(found.figures["explained"])), 13, "soft")
    rows, columns = found.figures["vocabulary"], found.figures["dimensions"]
    sheet.text(560, 490, sheet.say("matrix", rows=str(rows), columns=str(columns)), 13, "soft")


def _fit(data: Any) -> tuple[list[tuple[float, float]], tuple[float, float]]:
    """The plane's points in the box, one scale for both axes."""
    points = np.array([*data["plane"], data["landing"]])
    low, high = points.min(0), points.max(0)
    x, y, w, h = BOX
    scale = min((w - 120) / max(high[0] - low[0], 1e-9), (h - 90) / max(high[1] - low[1], 1e-9))
    middle = (low + high) / 2
    placed = [
        (float(x + w / 2 + (p - middle[0]) * scale), float(y + h / 2 - (q - middle[1]) * scale))
        for p, q in points
    ]
    return placed[:-1], placed[-1]


def _points(
    sheet: Sheet,
    words: list[str],
    places: list[tuple[float, float]],
    lines: tuple[tuple[tuple[float, float], tuple[float, float]], ...],
) -> None:
    """Dots with names; a name goes where it covers neither a dot nor a line."""
    taken = [(px - 6, py - 6, px + 6, py + 6) for px, py in places]
    for (ax, ay), (bx, by) in lines:
        along = [(ax + (bx - ax) * k / 40, ay + (by - ay) * k / 40) for k in range(41)]
        taken += [(px - 3, py - 3, px + 3, py + 3) for px, py in along]
    for i, (word, (px, py)) in enumerate(zip(words, places, strict=True)):
        main = i < 3
        sheet.circle(px, py, 5.5 if main else 4, fill="think" if main else "rest")
        size, weight = (15, "bold") if main else (13, "regular")
        wide = sheet.measure(word, size, weight)
        offers = ((9, 5), (-9 - wide, 5), (-wide / 2, -11), (-wide / 2, 23), (6, -10), (6, 22), (-wide, -10))
        boxes = [(px + dx, py + dy - size * 0.8, px + dx + wide, py + dy + 3) for dx, dy in offers]
        free = [k for k, box in enumerate(boxes) if not any(_meet(box, other) for other in taken)]
        best = free[0] if free else 0
        taken.append(boxes[best])
        dx, dy = offers[best]
        sheet.text(px + dx, py + dy, word, size, "think" if main else "soft", weight=weight)


def _meet(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _sum(sheet: Sheet, words: tuple[str, str, str], phase: float) -> None:
    """The sum as a line of text, each part lit when it happens."""
    a, b, c = words
    parts = [(a, 0.0), ("−", 0.14), (b, 0.14), ("+", 0.22), (c, 0.22), ("≈", 0.52), ("?", 2.0)]
    size = 22.0
    while sum(sheet.measure(text, size, "bold") + 9 for text, _ in parts) > 364:
        size -= 1
    x = 560.0
    for text, since in parts[:-1]:
        on = since <= phase < 0.96
        color = ("draw" if text in "−+≈" else "think") if on else "rest"
        sheet.text(x, 122, text, size, color, weight="bold")
        x += sheet.measure(text, size, "bold") + 9


def _ranking(
    sheet: Sheet, key: str, rows: list[tuple[str, float]], x: float, inputs: tuple[str, ...]
) -> None:
    wide = 172.0
    sheet.text(x, 162, sheet.say(f"ranked.{key}"), 13.5, "soft")
    sheet.line([(x, 171), (x + wide, 171)], "line", 1.5)
    best = max(value for _, value in rows)
    for i, (word, value) in enumerate(rows):
        y = 197 + i * 43
        own = word in {name.lower() for name in inputs}
        color = "rest" if own else "think"
        sheet.text(x, y, word, 15.5, "soft" if own else "ink", weight="bold" if i == 0 else "regular")
        sheet.text(x + wide, y, number(value), 14, "soft", anchor="r")
        sheet.rect(x, y + 7, wide, 7, fill="panel", radius=3)
        sheet.rect(x, y + 7, wide * max(0.0, value) / best, 7, fill=color, radius=3)


EXHIBIT = Exhibit("embedding", numbers, picture, STEPS, 110, poster=0.75)
