"""Inside the model: a token's row of the embedding matrix, what each head looks at, which neurons wake."""

from typing import Any

import numpy as np

from whygpu import think
from whygpu.engine import UserError
from whygpu.story.exhibits.reading import Reading, read

__all__ = ["look"]

NEURONS, NEIGHBOURS, STRIP = 12, 6, 96
KEPT = 4
"""Readings that are kept; each is a pass over the text."""


def look(
    model: think.Model, text: str, layer: int, position: int | None, shared: dict[str, Any]
) -> dict[str, Any]:
    """What one layer does with one token of a text, measured in a pass on the portable path.

    Raises
    ------
    UserError
        For a text that is too short or too long to be shown, or a layer or token that is not there.
    """
    readings: dict[str, Reading] = shared.setdefault("readings", {})
    if text not in readings:
        found = read(model, text)
        while len(readings) >= KEPT:
            readings.pop(next(iter(readings)))
        readings[text] = found
    reading = readings[text]
    layers, tokens = model.architecture.layers, len(reading.tokens)
    if position is None:
        position = tokens - 1
    if layer >= layers or position >= tokens:
        raise UserError(f"layer {layer}, token {position}: there are {layers} layers and {tokens} tokens")
    hidden = reading.hidden[layer][position]
    loudest = np.argsort(-np.abs(hidden))[:NEURONS]
    ids = model.tokenizer.encode(text)
    return {
        "tokens": reading.tokens,
        "layer": layer,
        "layers": layers,
        "position": position,
        "attention": np.round(reading.attention[layer][:, position, : position + 1], 4).tolist(),
        "hidden": {
            "size": int(hidden.size),
            "awake": float(np.mean(np.abs(hidden) > 0.1 * np.abs(hidden).max())),
            "loudest": [{"neuron": int(n), "value": float(hidden[n])} for n in loudest],
            "strip": _strip(hidden),
        },
        "embedding": _embedding(model, ids[position], shared),
        "basis": "measured",
    }


def _strip(values: Any) -> list[float]:
    """The largest of each of ``STRIP`` parts, by magnitude, scaled to 1."""
    parts = np.array_split(values, min(STRIP, values.size))
    peaks = np.array([part[np.abs(part).argmax()] for part in parts])
    return [round(float(value), 3) for value in peaks / (np.abs(peaks).max() or 1.0)]


def _embedding(model: think.Model, token: int, shared: dict[str, Any]) -> dict[str, Any]:
    """The token's row, and the words whose rows point the same way."""
    table = np.asarray(model.backend.to_numpy(model.weights.embedding))  # (vocab, d)
    if "lengths" not in shared:
        lengths = np.linalg.norm(table, axis=1)
        lengths[lengths == 0] = np.inf
        shared["lengths"] = lengths
    row = table[token]
    cosines = table @ row / (shared["lengths"] * shared["lengths"][token])
    near = []
    for other in np.argsort(-cosines)[1:60]:
        word = model.tokenizer.decode([int(other)])
        if word.strip() and "\ufffd" not in word:
            near.append({"token": word, "cosine": round(float(cosines[other]), 4)})
        if len(near) == NEIGHBOURS:
            break
    return {"id": token, "size": int(row.size), "strip": _strip(row), "near": near}
