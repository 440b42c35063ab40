"""The exhibits: seconds to find the numbers out and to draw, bytes of the WebP and of the HTML.

Targets (issue): at most 2 MB a WebP at 960 x 540, all of them in under 60 s on 2 cores. Prints a table, or
JSON with --json. Takes NAMES, else all.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from time import perf_counter, process_time

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # as the command line does, before NumPy loads

from whygpu.story import exhibits
from whygpu.story.exhibits import film
from whygpu.story.exhibits.page import page
from whygpu.story.text import texts

LIMIT_BYTES, LIMIT_SECONDS = 2_000_000, 60.0


def measure(name: str, job: exhibits.Job) -> dict[str, float | str]:
    """One exhibit in English as WebP, and the size of its page."""
    exhibit = exhibits.load(name)
    started, busy = perf_counter(), process_time()
    found = exhibit.numbers(job)
    counted = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.webp"
        film.write(path, exhibit.frames(found, texts("en")))
        webp_bytes = path.stat().st_size
    ended, used = perf_counter(), process_time() - busy
    html = page(exhibit, found, "en").encode()
    return {
        "exhibit": name,
        "frames": exhibit.count,
        "numbers_seconds": counted - started,
        "picture_seconds": ended - counted,
        "seconds": ended - started,
        "cpu_seconds": used,
        "webp_bytes": webp_bytes,
        "html_bytes": len(html),
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    job = exhibits.Job()
    rows = [measure(name, job) for name in arguments.names or exhibits.NAMES]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    heads = ("frames", "numbers, s", "picture, s", "CPU, s", "WebP, kB", "HTML, kB")
    print("exhibit".ljust(12) + "".join(head.rjust(12) for head in heads))
    for row in rows:
        kilobytes = (float(row[key]) / 1e3 for key in ("webp_bytes", "html_bytes"))
        seconds = (float(row[key]) for key in ("numbers_seconds", "picture_seconds", "cpu_seconds"))
        cells = [f"{row['frames']}", *(f"{s:.2f}" for s in seconds), *(f"{k:.0f}" for k in kilobytes)]
        print(str(row["exhibit"]).ljust(12) + "".join(cell.rjust(12) for cell in cells))
    wall = sum(float(row["seconds"]) for row in rows)
    cpu = sum(float(row["cpu_seconds"]) for row in rows)
    largest = max(float(row["webp_bytes"]) for row in rows)
    print(f"all: {wall:.1f} s ({cpu:.1f} s of CPU), limit {LIMIT_SECONDS:.0f}; ", end="")
    print(f"largest WebP {largest / 1e6:.2f} MB, limit {LIMIT_BYTES / 1e6:.0f}")


if __name__ == "__main__":
    main()
