"""Accuracy of the predictions on the shipped measurements: rewrites the table in docs/predict.md; times
10,000.

python benchmarks/predict.py [RESULT.json ...]     # results of whygpu predict --validate FILE --json; else
it runs them
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import whygpu.predict
from whygpu import predict
from whygpu.predict.validate import WAYS

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- accuracy: begin -->", "<!-- accuracy: end -->"


def results(paths: list[str]) -> list[dict[str, Any]]:
    """Validation results, read or made."""
    if paths:
        return [json.loads(Path(path).read_text("utf-8")) for path in paths]
    folder = Path(whygpu.predict.__file__).parent / "data" / "measurements"
    return [
        predict.validate(predict.read_measurements(path)).as_dict() for path in sorted(folder.glob("*.csv"))
    ]


def rows(found: list[dict[str, Any]]) -> list[str]:
    """The table's lines."""
    lines = [
        "| what | left out | rows | signed median | median error | p90 | in the band |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in found:
        for g in result["groups"]:
            if g["by"] in WAYS or g["by"].startswith(("8B to 70B", "spread among")):
                figures = f"{g['signed_median']:+.1f} % | {g['median_abs']:.1f} % | {g['p90_abs']:.1f} %"
                lines.append(
                    f"| {g['target']} | {g['by']} | {g['rows']} | {figures} | {g['coverage']:.0f} % |"
                )
    return lines


def main() -> None:
    """Rewrite the table, print the time of 10,000 predictions."""
    page = ROOT / "docs" / "predict.md"
    text = page.read_text("utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    table = "\n".join(rows(results(sys.argv[1:])))
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", "utf-8")
    machines = list(predict.machines())[:125]
    began = time.perf_counter()
    many = predict.table(
        ["llama-3-8b", "qwen3-30b-a3b"],
        machines,
        ["Q4_K_M", "Q8_0"],
        [128, 1024, 4096, 8192, 16384],
        [1, 2, 4, 8],
    )
    print(f"{len(many):,} predictions in {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
