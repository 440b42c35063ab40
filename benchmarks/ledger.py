"""What listening costs: decoding and drawing with the ledger on and off, interleaved.

Target: at most 2 % (the issue's bound). Prints a table, or JSON with --json.
"""

import argparse
import json
from collections.abc import Callable
from statistics import median
from time import perf_counter

from whygpu import draw, engine, think


def timed(work: Callable[[], object], listen: bool) -> float:
    """Seconds of one call, with or without a ledger."""
    started = perf_counter()
    if listen:
        with engine.ledger():
            work()
    else:
        work()
    return perf_counter() - started


def compare(work: Callable[[], object], pairs: int) -> dict[str, float]:
    """On and off in turn, so that the machine's drift hits both; ratios pair by pair."""
    work()
    rounds = []
    for index in range(pairs):
        first, second = (True, False) if index % 2 else (False, True)
        times = {first: timed(work, first)}
        times[second] = timed(work, second)
        rounds.append((times[False], times[True]))
    return {
        "off_ms": 1e3 * min(off for off, _ in rounds),
        "on_ms": 1e3 * min(on for _, on in rounds),
        "overhead_percent": 100 * (median(on / off for off, on in rounds) - 1),
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pairs", type=int, default=15)
    arguments = parser.parse_args()
    model = think.load()
    scene = draw.load("character")
    cases = {
        "decode 16 tokens": lambda: list(think.generate(model, "Why do LLMs need GPUs?", max_tokens=16)),
        "fast frame, character": lambda: draw.render(scene, size=(1280, 720)),
        "portable frame, cube": lambda: draw.render(draw.load("cube"), size=(320, 240), path="portable"),
    }
    rows = [{"case": name, **compare(work, arguments.pairs)} for name, work in cases.items()]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'case':24} {'off, ms':>10} {'on, ms':>10} {'overhead':>10}")
    for row in rows:
        print(f"{row['case']:24} {row['off_ms']:10.2f} {row['on_ms']:10.2f} {row['overhead_percent']:9.2f} %")


if __name__ == "__main__":
    main()
