"""Run on every rank by torchrun: each model of a folder, greedily; rank 0 writes what was said and held.

Arguments: a folder of models, the JSON file to write, the device, tokens.
"""

import json
import sys
from pathlib import Path
from typing import Any

from whygpu import engine, think
from whygpu.engine import ranks

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


def main() -> None:
    folder, target, device, tokens = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    backend = engine.backend(device, threads=1)
    here = ranks.join(backend)
    said = {}
    for path in sorted(folder.iterdir()):
        turned = []  # weights that were turned into numbers while loading
        with engine.ledger() as ledger:
            model = think.load(path, backend=backend)
            answer = think.generate(model, PROMPT, max_tokens=tokens, chat=False)
            list(answer)
        turned = bytes_held(model.weights)
        about = here.objects({"ids": answer.ids, "bytes": turned, "ledger": ledger})
        if about:
            merged = engine.Ledger()
            for each in about:
                merged.merge(each["ledger"])
            said[path.name] = {
                "ids": [each["ids"] for each in about],
                "bytes": [each["bytes"] for each in about],
                "whole": 4 * model.architecture.parameters,
                "flop": merged.totals("think").flop,
                "communication": {
                    row.name: [row.bytes, row.seconds] for row in merged.rows() if row.name.startswith("all-")
                },
            }
    if here.rank == 0:
        target.write_text(json.dumps(said))
    ranks.leave()


if __name__ == "__main__":
    main()
