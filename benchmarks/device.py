"""Everything about one device in one table: roofline, experiments, frames, words. Run by ``device.sh``.

Each section is left out, by name, once the time is over. Correctness is checked against NumPy on the same
machine: triangle ids of a frame, greedy tokens of a model.
"""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

from whygpu import draw, engine, models, think
from whygpu.cli.tables.build import new_table
from whygpu.measure.device import device_roofline
from whygpu.measure.side_by_side import rows
from whygpu.story.numbers import duration, ratio, si, significant

LIMIT = 230.0
"""Seconds for everything."""
PROMPT = "The capital of France is"
TOKENS = 24
SIZE = (640, 360)


class Report:
    """Lines of the table: section, what, result, remark."""

    def __init__(self, device: engine.Backend) -> None:
        self.device, self.started = device, perf_counter()
        self.lines: list[tuple[str, str, str, str]] = []
        self.data: dict[str, Any] = {"device": device.name, "card": device.card, "failed": []}

    def section(self, name: str, work: Callable[["Report"], None]) -> None:
        """Do it where time is left; a failure is a line, not the end."""
        spent = perf_counter() - self.started
        if spent > LIMIT:
            self.lines.append((name, "", "not run", f"{LIMIT:.0f} s were over"))
            return
        try:
            work(self)
        except (engine.UserError, RuntimeError, ValueError, TypeError, AttributeError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:60]
            self.lines.append((name, "", "FAILED", reason))
            self.data["failed"].append(name)

    def add(self, section: str, what: str, result: str, remark: str = "", *, good: bool = True) -> None:
        """One line; what is not good makes the whole a failure."""
        self.lines.append((section, what, result, remark))
        print(
            f"{perf_counter() - self.started:5.0f} s  {section}: {what}: {result} {remark}", file=sys.stderr
        )
        if not good:
            self.data["failed"].append(f"{section}: {what}")


def roofline(report: Report) -> None:
    """Products by number format, memory, launch."""
    found = device_roofline(report.device, quick=True)
    report.data["roofline"] = found.as_dict()
    for dtype in found.dtypes:
        rate = found.best("gemm", dtype)
        if rate is not None:
            report.add("roofline", f"{dtype} product, {rate.shape[0]} squared", si(rate.flops, "FLOP/s"))
    for name in ("read", "copy"):
        rate = found.best(name)
        if rate is not None:
            report.add("roofline", f"memory, {name}", si(rate.bandwidth, "B/s"))
    launch = next(rate for rate in found.rates if rate.name == "launch")
    report.add("roofline", "start one small product", duration(launch.timing.minimum))
    for what, why in found.skipped.items():
        report.add("roofline", what, "not run", why)


def experiments(report: Report) -> None:
    """The article's, and the vertex race."""
    here = rows(engine.backend("numpy"), quick=True)
    there = rows(report.device, quick=True)
    report.data["experiments"] = {
        "numpy": [r.as_dict() for r in here],
        "device": [r.as_dict() for r in there],
    }
    for ours, theirs in zip(here, there, strict=True):
        best = theirs.timing.minimum
        faster = ratio(ours.timing.minimum / best)
        report.add(f"experiment {ours.experiment}", ours.name, duration(best), f"{faster} NumPy here")


def frames(report: Report) -> None:
    """Triangle ids and colours against NumPy's."""
    for name in ("cube", "sphere:4"):
        scene = draw.load(name)
        expected = draw.render(scene, SIZE, backend="numpy", path="portable")
        frame = draw.render(scene, SIZE, backend=report.device, path="portable")
        started = perf_counter()
        frame = draw.render(scene, SIZE, backend=report.device, path="portable")
        seconds = perf_counter() - started
        other = int((frame.ids != expected.ids).sum())
        off = int(np.abs(frame.rgba.astype(int) - expected.rgba)[frame.ids == expected.ids].max())
        remark = f"{other} of {frame.ids.size:,} pixels show another triangle, colours within {off}/255"
        edges = frame.ids.size // 1000  # within one sub-pixel unit of an edge
        report.add("frame", name, duration(seconds), remark, good=other <= edges and off <= 1)


def words(report: Report) -> None:
    """Greedy tokens against NumPy's; decoding as it reads, compiled, and without the host."""
    device = report.device
    expected = _said(think.load(models.DEFAULT, backend=engine.backend("numpy", threads=1), path="portable"))[
        0
    ]
    for dtype in device.dtypes:
        if perf_counter() - report.started > 0.75 * LIMIT or _slower(report, dtype):
            report.add("words", dtype, "not run", "no time left, or slower than float32 here")
            continue
        model = think.load(models.DEFAULT, backend=device, path="portable", dtype=dtype)
        ids, eager = _said(model, listen=True)
        same = sum(a == b for a, b in zip(ids, expected, strict=True))
        right = f"{same} of {TOKENS} tokens as NumPy's"
        report.add("words", f"{dtype}, as it reads", f"{significant(eager)} tok/s", right,
                   good=dtype != "float32" or same == TOKENS)  # fmt: skip
        if device.compiles:
            ids, compiled = _said(model)
            same = sum(a == b for a, b in zip(ids, expected, strict=True))
            right = f"{same} of {TOKENS} tokens as NumPy's"
            report.add("words", f"{dtype}, compiled step", f"{significant(compiled)} tok/s", right,
                       good=dtype != "float32" or same == TOKENS)  # fmt: skip
        rate = _without_host(model)
        report.add("words", f"{dtype}, no host in between", f"{significant(rate)} tok/s")


def _slower(report: Report, dtype: str) -> bool:
    """Whether this device multiplies in ``dtype`` at less than half of its rate in float32."""
    short = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}[dtype]
    best = {"fp32": 0.0}
    for rate in report.data.get("roofline", {}).get("rates", ()):
        if rate["name"] == "gemm":
            best[rate["dtype"]] = max(best.get(rate["dtype"], 0.0), rate["best_gflops"])
    return best.get(short, best["fp32"]) < best["fp32"] / 2


def _said(model: think.Model, *, listen: bool = False) -> tuple[list[int], float]:
    """Greedy tokens, and tokens/s of the second run; a ledger that listens keeps the step uncompiled."""
    for _ in range(1 if listen else 2):
        generation = think.generate(model, PROMPT, max_tokens=TOKENS, chat=False)
        if listen:
            with engine.ledger():
                list(generation)
        else:
            list(generation)
    return generation.ids, generation.statistics.decode_tokens_per_second


def _without_host(model: think.Model) -> float:
    from whygpu.think.static import decode_greedily

    with engine.using(model.backend) as backend:
        cache = think.new_cache(model, 4 * TOKENS)
        token = int(think.prefill(model, model.tokenizer.encode(PROMPT), cache).argmax())
        token = decode_greedily(model, token, cache, 2)[-1]
        best = 0.0
        for _ in range(2):
            started = perf_counter()
            token = decode_greedily(model, token, cache, TOKENS)[-1]
            backend.synchronize()
            best = max(best, TOKENS / (perf_counter() - started))
    return best


def main() -> None:
    """Run every section, print the table, write the results."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    try:
        device = engine.backend(name)
    except engine.UserError as error:
        print(f"device.sh: {error}", file=sys.stderr)
        sys.exit(2)
    report = Report(device)
    for work in (roofline, words, frames, experiments):
        report.section(work.__name__, work)
    seconds = perf_counter() - report.started
    when = datetime.now(UTC).isoformat(timespec="seconds")
    title = f"{device.name}: {device.card} ({when}, {seconds:.0f} s)"
    table = new_table(title, "section", "what", "result", "remark", text_columns=4)
    for line in report.lines:
        table.add_row(*line)
    Console(width=100).print(table)
    report.data |= {"taken_at": when, "seconds": seconds, "lines": report.lines, "numpy": np.__version__}
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"device-{device.name.replace(':', '-')}.json"
    target.write_text(json.dumps(report.data, indent=1) + "\n", encoding="utf-8")
    print(f"written: {target}")
    sys.exit(1 if report.data["failed"] else 0)


if __name__ == "__main__":
    main()
