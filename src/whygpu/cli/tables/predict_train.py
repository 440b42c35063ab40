"""The tables of ``whygpu predict --train`` and ``--draw``."""

from rich.console import RenderableType

from whygpu.cli.tables.build import new_table
from whygpu.predict import Drawing, TrainingRun
from whygpu.predict.drawing import SPREAD
from whygpu.predict.training import History
from whygpu.story.numbers import count, percent, si, significant, size
from whygpu.story.text import Texts

__all__ = ["drawing_tables", "history_tables", "training_tables"]


def days(texts: Texts, value: float) -> str:
    """A number of days."""
    return texts("predict.days", days=significant(value))


def training_tables(texts: Texts, runs: list[TrainingRun]) -> list[RenderableType]:
    """One column a machine."""
    first = runs[0]
    head = texts(
        "predict.train.head",
        model=first.case.outline.name,
        tokens=si(first.tokens, ""),
        flop=si(first.flop, "FLOP"),
        precision=first.case.precision,
    )
    table = new_table(
        texts("predict.train.title"),
        texts("predict.what"),
        *(f"{count(r.case.count)} x {r.case.machine.name}" for r in runs),
    )
    scale = [r.tokens / r.case.count / 86400 for r in runs]
    rows = {
        "days": [days(texts, r.seconds / 86400) for r in runs],
        "band": [
            f"{significant(r.each.low * s)} – {significant(r.each.high * s)}"
            for r, s in zip(runs, scale, strict=True)
        ],
        "hours": [count(r.device_hours) for r in runs],
        "mfu": [percent(r.utilisation) for r in runs],
        "split": [f"{r.data} / {r.tensor} / {r.pipeline}" for r in runs],
        "memory": [size(r.memory_per_device) for r in runs],
        "fits": [texts({True: "yes", False: "no", None: "unknown"}[r.fits]) for r in runs],
        "checkpointing": [texts("yes" if r.case.checkpointing else "no") for r in runs],
        "cost": ["" if r.dollars is None else f"{si(r.dollars, '')} USD" for r in runs],
        "energy": ["" if r.kilowatt_hours is None else f"{si(r.kilowatt_hours * 1e3, 'Wh')}" for r in runs],
    }
    for key, values in rows.items():
        table.add_row(texts(f"predict.train.{key}"), *values)
    return [head, table, texts("predict.train.note")]


def history_tables(texts: Texts, case: History) -> list[RenderableType]:
    """A famous run beside its prediction."""
    table = new_table(case.name, texts("predict.what"), texts("predict.value"))
    table.add_row(texts("predict.machine"), f"{count(case.count)} x {case.machine}")
    table.add_row("FLOP", f"{case.flop:.3g}")
    table.add_row(texts("predict.formula"), case.formula)
    table.add_row(texts("predict.train.days"), days(texts, case.run_days.seconds))
    table.add_row("p10 – p90", f"{significant(case.run_days.low)} – {significant(case.run_days.high)}")
    if case.published_days is not None:
        table.add_row(texts("predict.train.published"), days(texts, case.published_days))
    table.add_row(texts("predict.source"), case.source)
    return [table]


def drawing_tables(texts: Texts, frames: list[Drawing]) -> list[RenderableType]:
    """Frames a second, a line a machine."""
    first = frames[0]
    title = texts(
        "predict.draw.title", triangles=count(first.triangles), width=first.width, height=first.height
    )
    table = new_table(
        title, *(texts(f"predict.{key}") for key in ("machine", "frames", "band", "draw.bound", "binds"))
    )
    for frame in frames:
        rate = 1 / frame.seconds
        table.add_row(
            frame.machine.name,
            significant(rate),
            f"{significant(rate / SPREAD, 2)} – {significant(rate * SPREAD, 2)}",
            significant(1 / max(frame.arithmetic_seconds, frame.bandwidth_seconds)),
            texts(f"predict.term.{frame.binds}"),
        )
    return [table, texts("predict.draw.note", flop=si(first.flop, "FLOP"), bytes=size(first.bytes))]
