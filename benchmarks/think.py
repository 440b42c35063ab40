"""Language models against llama.cpp: same file, same threads, one process, interleaved.

    pip install '.[bench]'          # builds llama-cpp-python for this CPU
    python benchmarks/think.py --json

Cases: decode 128 tokens from an empty context (tg128), prefill 512 tokens (pp512), decode at depth 2048,
prefill right after decode, and the seconds from starting Python to the first token, with an empty kernel
cache and with a warm one. Rates are medians and bests over interleaved rounds; ``ratio`` says how many times
faster we are, by medians. Neither side samples: both read the scores of a pass. MBU: bytes read a token x
rate / bandwidth. Models: the default one, then ``synthetic``'s of 1.1 billion random weights, in four types.
A quiet machine is needed: where median and best differ by more than 1.5, run it again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from whygpu import engine, measure, think

THREADS = engine.available_threads()
DEPTH, PREFILL, DECODE = 2048, 512, 128
CONTEXT = 4096


@dataclass
class Row:
    """One case: tokens/s or seconds (median, best) of both sides."""

    model: str
    case: str
    ours: float
    ours_best: float
    peer: float | None
    peer_best: float | None
    ratio: float | None
    mbu: float | None
    unit: str = "tok/s"


class Ours:
    """whygpu's fast path."""

    def __init__(self, path: Path) -> None:
        self.model = think.load(path, path="fast", backend=engine.backend("cpu", threads=THREADS))
        self.cache = think.new_cache(self.model, CONTEXT)

    def keep(self, length: int) -> None:
        """Forget all but the first tokens."""
        self.cache.rewind(length)

    def push(self, ids: list[int]) -> float:
        """Push tokens through and read the scores."""
        run = (
            think.prefill
            if len(ids) > 1
            else lambda model, ids, cache: think.decode_one_token(model, ids[0], cache)
        )
        with engine.using(self.model.backend):
            return float(run(self.model, ids, self.cache)[0])


class LlamaCpp:
    """llama.cpp through llama-cpp-python's bindings, as llama-bench uses it."""

    def __init__(self, path: Path) -> None:
        import llama_cpp as api

        self.api = api
        api.llama_backend_init()
        self.model = api.llama_model_load_from_file(str(path).encode(), api.llama_model_default_params())
        settings = api.llama_context_default_params()
        settings.n_ctx, settings.n_batch, settings.n_ubatch = CONTEXT, PREFILL, PREFILL
        settings.n_threads = settings.n_threads_batch = THREADS
        self.context = api.llama_init_from_model(self.model, settings)

    def keep(self, length: int) -> None:
        """Forget all but the first tokens."""
        memory = self.api.llama_get_memory(self.context)
        if length:
            self.api.llama_memory_seq_rm(memory, 0, length, -1)
        else:
            self.api.llama_memory_clear(memory, True)

    def push(self, ids: list[int]) -> float:
        """Push tokens through and read the scores."""
        array = (self.api.llama_token * len(ids))(*ids)
        if self.api.llama_decode(self.context, self.api.llama_batch_get_one(array, len(ids))):
            raise SystemExit("llama.cpp could not decode")
        return float(self.api.llama_get_logits(self.context)[0])


def tokens(count: int, seed: int) -> list[int]:
    """Random tokens: the same ones would favour caches."""
    return [int(token) for token in np.random.default_rng(seed).integers(100, 30000, count)]


def prefill(side: Any) -> float:
    """Tokens/s of a prompt from an empty context."""
    side.keep(0)
    started = perf_counter()
    side.push(tokens(PREFILL, 1))
    return PREFILL / (perf_counter() - started)


def fill(side: Any, depth: int) -> None:
    """Hold ``depth`` tokens."""
    side.keep(0)
    for start in range(0, depth, PREFILL):
        side.push(tokens(min(PREFILL, depth - start), start))
    side.push([7])


def decode(side: Any, depth: int, count: int) -> float:
    """Tokens/s after ``depth`` tokens, which are there."""
    side.keep(depth)
    side.push([7])
    started = perf_counter()
    for token in tokens(count, 2):
        side.push([token])
    return count / (perf_counter() - started)


CASES: dict[str, tuple[int, Callable[[Any], float]]] = {
    "tg128": (0, lambda side: decode(side, 0, DECODE)),
    "pp512": (0, prefill),
    "tg32 at depth 2048": (DEPTH, lambda side: decode(side, DEPTH, 32)),
    "pp512 after decode": (0, lambda side: (decode(side, 0, 16), prefill(side))[1]),
}
"""By name: tokens that must be there before the clock starts, and what is timed."""

FIRST = {
    "ours": "from whygpu import think\n"
    "next(think.generate(think.load({path!r}, path='fast'), 'Hello', chat=False, max_tokens=1))",
    "peer": "import llama_cpp\n"
    "m = llama_cpp.Llama({path!r}, n_ctx=512, n_threads={threads}, verbose=False)\n"
    "next(m('Hello', max_tokens=1, stream=True))",
}
"""Programs that end after one token."""


def first_token(path: Path, name: str, rounds: int, peer: bool) -> list[Row]:
    """Seconds of whole processes, Python's start included."""

    def run(side: str, cache: Path) -> float:
        program = FIRST[side].format(path=str(path), threads=THREADS)
        started = perf_counter()
        subprocess.run(
            [sys.executable, "-c", program], check=True, env={**os.environ, "WHYGPU_CACHE": str(cache)}
        )
        return perf_counter() - started

    with tempfile.TemporaryDirectory() as folder:
        empty = [run("ours", Path(folder) / str(i)) for i in range(min(rounds, 3))]
        warm, theirs = [], []
        for _ in range(rounds):
            warm.append(run("ours", Path(folder) / "0"))
            theirs += [run("peer", Path(folder))] if peer else []
    middle, best = (median(theirs), min(theirs)) if theirs else (None, None)
    return [
        Row(name, f"first token, {case}", median(ours), min(ours), middle, best,
            middle / median(ours) if middle else None, None, "s")
        for case, ours in (("no kernels", empty), ("warm", warm))
    ]  # fmt: skip


def compare(path: Path, name: str, rounds: int, bandwidth: float, peer: bool) -> list[Row]:
    """All cases of one file, both sides in turn."""
    ours = Ours(path)
    sides: list[Any] = [ours, *([LlamaCpp(path)] if peer else [])]
    rows = []
    for case, (depth, work) in CASES.items():
        for side in sides:
            fill(side, depth)
            work(side)  # warm
        rates = []
        for turn in range(rounds):  # who begins changes, so that a drift of the machine hits both
            order = sides if turn % 2 else sides[::-1]
            measured = [work(side) for side in order]
            rates.append(measured if turn % 2 else measured[::-1])
        mine = [rate[0] for rate in rates]
        theirs = [rate[1] for rate in rates] if peer else None
        mbu = None
        if case.startswith("tg"):
            past = DEPTH + 16 if "depth" in case else DECODE / 2
            mbu = ours.model.packed.bytes_read(past) * median(mine) / bandwidth
        middle = median(theirs) if theirs else None
        best = max(theirs) if theirs else None
        ratio = median(mine) / middle if middle else None
        rows.append(Row(name, case, median(mine), max(mine), middle, best, ratio, mbu))
        print(f"{name}: {case} done", file=sys.stderr)
    return rows


def files(folder: Path) -> Iterator[Path]:
    """The default model, then synthetic ones, each written when its turn comes."""
    from synthetic import ONE_BILLION, write

    from whygpu import models

    yield models.locate(models.DEFAULT)
    folder.mkdir(parents=True, exist_ok=True)
    for kind, mixed in (("Q8_0", ""), ("Q4_0", ""), ("Q4_K", "Q6_K"), ("F16", "")):
        path = folder / f"synthetic-1.1b-{kind}.gguf"
        yield path if path.exists() else write(path, kind, ONE_BILLION, mixed=mixed)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--alone", action="store_true", help="do not run llama.cpp")
    parser.add_argument("--synthetic", type=Path, help="where to keep the synthetic files [default: nowhere]")
    parser.add_argument("files", nargs="*", type=Path, help="GGUF files [default: as above]")
    arguments = parser.parse_args()
    bandwidth = measure.roofline(quick=True, force=True).read_bandwidth
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for file in arguments.files or files(arguments.synthetic or Path(folder)):
            if file.stat().st_size < 500e6:
                rows += first_token(file, file.stem, min(arguments.rounds, 5), not arguments.alone)
            rows += compare(file, file.stem, arguments.rounds, bandwidth, not arguments.alone)
            if file.parent == Path(folder):
                file.unlink()
    if arguments.json:
        print(
            json.dumps(
                {"threads": THREADS, "read_gbs": bandwidth / 1e9, "rows": [asdict(row) for row in rows]},
                indent=2,
            )
        )
        return
    print(f"{THREADS} threads; read bandwidth {bandwidth / 1e9:.1f} GB/s; tokens/s or seconds, median (best)")
    print(f"{'model':34} {'case':20} {'ours':>16} {'llama.cpp':>16} {'ratio':>7} {'MBU':>6}")
    for row in rows:
        digits = 2 if row.unit == "s" else 0
        peer = f"{row.peer:.{digits}f} ({row.peer_best:.{digits}f})" if row.peer else "-"
        ratio = f"{row.ratio:.2f}" if row.ratio else "-"
        mbu = f"{row.mbu:.0%}" if row.mbu else ""
        ours = f"{row.ours:.{digits}f} ({row.ours_best:.{digits}f})"
        print(f"{row.model:34.34} {row.case:20} {ours:>16} {peer:>16} {ratio:>7} {mbu:>6}")


if __name__ == "__main__":
    main()
