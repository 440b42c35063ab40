"""From one CPU to 10,000 GPUs: the measured small end, then each step by the formulas of docs/scale.md.

``python benchmarks/scale.py`` measures here (about a minute), prints both tables as Markdown and, with
--write, puts them into docs/scale.md. Under torchrun it is one of the two ranks that it measures.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from math import ceil, log2, prod
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from whygpu import engine, models, predict, think
from whygpu.engine import ranks
from whygpu.measure.links import kept_links, measure_links
from whygpu.story.numbers import duration, percent, si, significant
from whygpu.think.parallel import Share

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
TOKENS = 12
ALPHA = 5e-6
"""Seconds a hop between GPUs, assumed: no page of a datasheet states it."""
NETWORK = 50e9
"""Bytes a second between two nodes for each GPU, assumed: one 400 Gbit/s port a GPU."""
NODE = 8
"""GPUs that share NVLink."""
BATCH = 3_200_000
"""Tokens of a training step of GPT-3 (Brown et al. 2020, table 2.1)."""
HOLDERS = 64
"""GPUs of 80 GB that hold one copy in training; 16 bytes a parameter (Rajbhandari et al. 2020) need 35."""


def all_reduce(size: float, count: int, alpha: float, bandwidth: float) -> float:
    """The faster of a ring (2 (p - 1) hops of a p-th of the array) and a tree (2 log2 p hops of all)."""
    ring = 2 * (count - 1) * (alpha + size / max(count, 1) / bandwidth)
    tree = 2 * ceil(log2(max(count, 1))) * (alpha + size / bandwidth)
    return max(0.0, min(ring, tree))


def measured(threads: int) -> dict[str, Any]:
    """Decoding by this process (or by the ranks that it is one of), and how fast it reads weights."""
    backend = engine.backend("numpy", threads=threads)
    here = ranks.join(backend)
    model = think.load(backend=backend, path="portable")
    a, best, read = model.architecture, float("inf"), float("inf")
    with engine.using(backend):
        cache = think.Cache(a, 256)
        token = int(think.prefill(model, model.tokenizer.encode("The capital of France is"), cache).argmax())
        vector = np.ones((1, a.d_model), np.float32)
        head = np.ones((a.vocab, a.d_model), np.float32)
        for _ in range(4):
            started = perf_counter()
            vector @ head.T
            read = min(read, perf_counter() - started)
            started = perf_counter()
            for _ in range(TOKENS):
                token = int(think.decode_one_token(model, token, cache).argmax())
            best = min(best, (perf_counter() - started) / TOKENS)
    result = {"seconds": best, "read": head.nbytes / read}
    if here.size > 1:
        result["links"] = [link.as_dict() for link in measure_links(quick=True).links]
    slowest = here.objects(result)
    ranks.leave()
    return max(slowest, key=lambda each: each["seconds"]) if slowest else result


def share_bytes(a: models.Architecture, size: int, width: float) -> float:
    """Bytes of weights that rank 0 of ``size`` reads for a token: its share, the embedding table aside."""
    share, total = Share(a, 0, size), 0.0
    shapes = {**a.tensors(), **({"head": (a.vocab, a.d_model)} if a.tied_head else {})}
    for name, shape in shapes.items():
        part = share.part(name)
        mine = prod(shape) if part is None else prod(shape) // shape[part[0]] * (part[2] - part[1])
        total += 0 if name == "embedding" else mine * width
    return total


def small_end() -> Iterator[tuple[str, ...]]:
    """One process on one thread, on two; two ranks of one thread each."""
    a = think.load(path="portable", backend="numpy").architecture
    summed = a.layers + 1 + a.layers * (a.heads % 2 == 0)  # MLP; embedding; attention where it is shared
    for count, threads, words in ((1, 1, "one process, 1 thread"), (1, 2, "one process, 2 threads"),
                                  (2, 1, "two ranks, 1 thread each")):  # fmt: skip
        found = _launched(count, threads)
        size = share_bytes(a, count, 4)
        sums = 0.0
        if count > 1:
            link = kept_links()
            assert link is not None
            sums = summed * link.link("all-reduce").seconds(4 * a.d_model)
            sums += link.link("all-gather").seconds(4 * a.vocab / 2)
        formula = size / found["read"] + sums
        yield (
            words,
            si(size, "B"),
            si(found["read"], "B/s"),
            duration(sums) if sums else "",
            duration(formula),
            duration(found["seconds"]),
            percent(formula / found["seconds"]),
        )


def _launched(count: int, threads: int) -> dict[str, Any]:
    """Measured in processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "found.json"
        start = ["-m", "torch.distributed.run", "--nproc-per-node", str(count)] if count > 1 else []
        command = [sys.executable, *start, __file__, "--one", str(threads), str(target)]
        subprocess.run(
            command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL
        )
        found: dict[str, Any] = json.loads(target.read_text())
        return found


def steps() -> Iterator[tuple[str, ...]]:
    """Decoding one sequence, then training, on ever more GPUs; weights in two bytes."""
    h100 = predict.hardware("H100 SXM5 80GB")
    assert h100.link is not None
    assert h100.memory is not None
    peak, link = h100.peak("fp16").value, h100.link.value
    for name, count in (("llama-3.1-8b", 1), ("llama-3.1-8b", 2), ("llama-3.1-8b", 8), ("gpt-3-175b", 8),
                        ("gpt-3-175b", 16)):  # fmt: skip
        a = models.get(name)
        size = share_bytes(a, count, 2)
        bandwidth, hops = (link, ALPHA) if count <= NODE else (NETWORK, ALPHA)
        sums = (2 * a.layers + 1) * all_reduce(2 * a.d_model, count, hops, bandwidth)
        read = size / h100.bandwidth.value
        fits = "yes" if size < h100.memory.value else "no"
        yield (
            f"decode {name}", f"{count:,}", fits, duration(read), duration(sums), duration(read + sums),
            f"{significant(1 / (read + sums))} tok/s", percent(sums / (read + sums)),
        )  # fmt: skip
    a = models.get("gpt-3-175b")
    for count in (64, 1_024, 10_000):
        compute = 6 * a.parameters * BATCH / (count * peak)
        # so many GPUs hold the model and its training state; the gradients of each go round the replicas
        sums = all_reduce(2 * a.parameters / HOLDERS, count // HOLDERS, ALPHA, NETWORK)
        each = max(compute, sums)
        yield (
            "train gpt-3-175b", f"{count:,}", f"{HOLDERS} a copy", duration(compute), duration(sums),
            duration(each), si(BATCH / each, "tok/s"), percent(sums / (compute + sums)),
        )  # fmt: skip


def table(headings: tuple[str, ...], lines: Iterator[tuple[str, ...]]) -> str:
    """As Markdown."""
    rows = [headings, ("---",) * len(headings), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    """Measure, predict, print; or be one of the processes that are measured."""
    if "--one" in sys.argv:
        threads, target = int(sys.argv[2]), Path(sys.argv[3])
        found = measured(threads)
        if os.environ.get("RANK", "0") == "0":
            target.write_text(json.dumps(found))
        return
    host = (
        f"{datetime.now(UTC):%Y-%m-%d}, load {os.getloadavg()[0]:.1f} on {engine.available_threads()} cores"
    )
    first = table(
        (
            "here",
            "reads a token",
            "reads at",
            "sums and gathers",
            "by the formula",
            "measured",
            "formula/measured",
        ),
        small_end(),
    )
    second = table(
        ("work", "GPUs", "fits", "weights or FLOP", "between them", "a step", "rate", "share of talking"),
        steps(),
    )
    parts = {"here": f"Measured {host} (fastest of four):\n\n{first}", "steps": second}
    text = PAGE.read_text("utf-8") if "--write" in sys.argv else ""
    for key, part in parts.items():
        print(part, end="\n\n")
        begin, end = f"<!-- {key}: begin -->", f"<!-- {key}: end -->"
        if text:
            text = text[: text.index(begin) + len(begin)] + f"\n{part}\n" + text[text.index(end) :]
    if text:
        PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
