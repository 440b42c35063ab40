"""Run on every rank by torchrun: models, frames and links; rank 0 writes what came of them.

Arguments: a folder of models, the JSON file to write, the device, tokens.
"""

import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any

from whygpu import draw, engine, think
from whygpu.engine import ranks
from whygpu.measure.links import measure_links

PROMPT = "Matrices make pictures"


def bytes_held(weights: Any) -> int:
    """Of all arrays, each once."""
    arrays = {}
    for holder in (weights, *weights.blocks):
        for name in holder.__slots__:
            value = getattr(holder, name)
            if hasattr(value, "dtype"):
                arrays[id(value)] = value
    return sum(int(array.nbytes) for array in arrays.values())


def cameras(count: int) -> list[draw.Camera]:
    """Round the scene."""
    angles = [2 * math.pi * number / count for number in range(count)]
    return [draw.Camera((4 * math.sin(a), 2.0, 4 * math.cos(a)), (0.0, 0.0, 0.0)) for a in angles]


def digest(frame: draw.Frame) -> str:
    """Of the picture's bytes."""
    return hashlib.sha256(frame.rgba.tobytes()).hexdigest()


def think_through(folder: Path, backend: engine.Backend, tokens: int) -> dict[str, Any]:
    """Each model of the folder."""
    said = {}
    for path in sorted(folder.iterdir()):
        with engine.ledger() as ledger:
            model = think.load(path, backend=backend)
            answer = think.generate(model, PROMPT, max_tokens=tokens, chat=False)
            list(answer)
        mine = {"ids": answer.ids, "bytes": bytes_held(model.weights), "ledger": ledger}
        about = ranks.here().objects(mine)
        if about:
            merged = engine.Ledger()
            for each in about:
                merged.merge(each["ledger"])
            said[path.name] = {
                "ids": [each["ids"] for each in about],
                "bytes": [each["bytes"] for each in about],
                "flop": merged.totals("think").flop,
                "communication": {
                    name: sum(row.bytes for row in merged.rows() if row.name == name)
                    for name in {row.name for row in merged.rows() if row.name.startswith("all-")}
                },
            }
    return said


def draw_round() -> dict[str, Any]:
    """Five frames, shared."""
    scene, drawn = draw.load("cube"), []

    def one(camera: draw.Camera) -> str:
        drawn.append(camera)
        return digest(draw.render(scene, (64, 48), camera=camera, path="portable", backend="numpy"))

    sha = list(ranks.share(cameras(5), one))
    return {"sha": sha, "drawn": ranks.here().objects(len(drawn))}


def main() -> None:
    folder, target, device, tokens = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    backend = engine.backend(device, threads=1)
    here = ranks.join(backend)
    found = {"models": think_through(folder, backend, tokens), "frames": draw_round()}
    found["links"] = measure_links(quick=True).as_dict()
    if here.rank == 0:
        target.write_text(json.dumps(found))
    ranks.leave()


if __name__ == "__main__":
    main()
