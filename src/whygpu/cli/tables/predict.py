"""The tables of ``whygpu predict MODEL``: one line a machine; for a single one everything."""

from collections.abc import Iterable

from rich.console import RenderableType

from whygpu.cli.tables.build import new_table
from whygpu.models.outline import Outline
from whygpu.models.said import Note
from whygpu.predict import Inference
from whygpu.predict.inference import CHANGES, basis
from whygpu.story.numbers import count, duration, percent, ratio, si, significant, size
from whygpu.story.text import Texts

__all__ = ["answer_tables", "remarks"]


def answer_tables(texts: Texts, outline: Outline, results: list[Inference]) -> list[RenderableType]:
    """One machine in full; several side by side."""
    if not results:
        return [texts("predict.none")]
    head = texts(
        "predict.head",
        model=outline.name,
        parameters=si(outline.parameters, ""),
        active=si(outline.active, ""),
        quant=results[0].case.storage.name,
        bits=significant(results[0].case.bits),
        prompt=count(results[0].case.prompt),
        reply=count(results[0].reply),
    )
    notes = remarks(texts, [note for result in results for note in result.notes])
    if len(results) == 1:
        return [head, *notes, *_whole(texts, results[0])]
    return [head, *notes, _overview(texts, results), texts("predict.note")]


def remarks(texts: Texts, notes: Iterable[Note]) -> list[str]:
    """One line a note, each once: what of the names was taken otherwise, or not at all."""
    return list(dict.fromkeys(texts(f"predict.remark.{note.kind}", **note.values) for note in notes))


def _name(result: Inference) -> str:
    c = result.case
    mixed = " + " in c.machine.name  # says by itself how many of each
    return f"{c.count} x {c.machine.name}" if c.count > 1 and not mixed else c.machine.name


def _fits(texts: Texts, result: Inference) -> str:
    if result.case.spilled > 0:
        return texts("predict.offloaded", share=percent(result.case.spilled))
    return texts({True: "yes", False: "no", None: "unknown"}[result.memory.fits])


def _band(result: Inference) -> str:
    return f"{significant(1 / result.single.high, 2)} – {significant(1 / result.single.low, 2)}"


def _overview(texts: Texts, results: list[Inference]) -> RenderableType:
    several = any(r.case.batch > 1 for r in results)
    keys = ["machine", "fits", "first", "rate", "band", *(["batched"] if several else []), "reply", "binds"]
    table = new_table(texts("predict.title"), *(texts(f"predict.{key}") for key in keys))
    for r in results:
        table.add_row(
            _name(r),
            _fits(texts, r),
            duration(r.first_token.seconds),
            significant(r.tokens_per_second),
            _band(r),
            *([significant(r.batch_tokens_per_second)] if several else []),
            duration(r.reply_seconds["expected"]),
            texts(f"predict.term.{r.binds}"),
        )
    return table


def _whole(texts: Texts, r: Inference) -> list[RenderableType]:
    return [
        _speed(texts, r),
        _why(texts, r),
        _change(texts, r),
        _memory(texts, r),
        _bases(texts, r),
        texts("predict.note"),
    ]


def _speed(texts: Texts, r: Inference) -> RenderableType:
    table = new_table(_name(r), texts("predict.what"), texts("predict.value"), "p10 – p90")
    first, token = r.first_token, r.token
    table.add_row(
        texts("predict.first"), duration(first.seconds), f"{duration(first.low)} – {duration(first.high)}"
    )
    table.add_row(texts("predict.rate"), significant(r.tokens_per_second), _band(r))
    if r.case.batch > 1:
        table.add_row(
            texts("predict.batched_at", batch=count(r.case.batch)),
            significant(r.batch_tokens_per_second),
            f"{significant(r.case.batch / token.high)} – {significant(r.case.batch / token.low)}",
        )
    for key, seconds in r.reply_seconds.items():
        table.add_row(texts(f"predict.reply.{key}", reply=count(r.reply)), duration(seconds), "")
    table.add_row(texts("predict.bound"), duration(token.bound), "")
    table.add_row(texts("predict.intensity"), f"{significant(r.intensity)} / {significant(r.ridge)}", "")
    if r.joules_per_token is not None:
        table.add_row(texts("predict.joules"), f"{significant(r.joules_per_token)} J", "")
    if r.dollars_per_million is not None:
        table.add_row(texts("predict.cost"), f"{significant(r.dollars_per_million)} USD", "")
    return table


def _why(texts: Texts, r: Inference) -> RenderableType:
    table = new_table(
        texts("predict.why"), texts("predict.part"), texts("predict.share"), texts("predict.time")
    )
    for name, share in sorted(r.token.shares.items(), key=lambda part: -part[1]):
        if share >= 5e-4:
            table.add_row(texts(f"predict.term.{name}"), percent(share), duration(share * r.token.seconds))
    return table


def _change(texts: Texts, r: Inference) -> RenderableType:
    table = new_table(texts("predict.change"), texts("predict.change.what"), texts("predict.change.gain"))
    for name in CHANGES:
        table.add_row(texts(f"predict.change.{name}"), ratio(r.changes[name]))
    return table


def _memory(texts: Texts, r: Inference) -> RenderableType:
    m = r.memory
    table = new_table(texts("predict.memory"), texts("predict.what"), texts("predict.value"))
    table.add_row(texts("predict.memory.weights"), size(m.weights))
    table.add_row(texts("predict.memory.cache", context=count(r.context)), size(m.cache))
    table.add_row(texts("predict.memory.buffers"), size(m.buffers))
    table.add_row(
        texts("predict.memory.available"), texts("unknown") if m.available is None else size(m.available)
    )
    table.add_row(texts("predict.fits"), _fits(texts, r))
    if m.available is not None:
        table.add_row(texts("predict.memory.context"), count(m.largest_context or 0))
        table.add_row(texts("predict.memory.quant"), m.largest_quant or texts("no"))
        table.add_row(texts("predict.memory.batch"), count(m.largest_batch or 0))
        table.add_row(texts("predict.memory.layers"), f"{m.layers_held} / {m.layers}")
    return table


def _bases(texts: Texts, r: Inference) -> RenderableType:
    table = new_table(
        texts("predict.basis"),
        texts("predict.what"),
        texts("predict.basis"),
        texts("predict.source"),
        text_columns=3,
    )
    found, machine = basis(r), r.case.machine
    rate = machine.flops.get("fp16") or machine.flops.get("fp32")
    table.add_row(
        texts("predict.basis.bandwidth"),
        found["bandwidth"],
        f"{size(machine.bandwidth.value)}/s; {machine.bandwidth.source[:60]}",
    )
    if rate is not None:
        table.add_row(
            texts("predict.basis.arithmetic"),
            found["arithmetic"],
            f"{si(rate.value, 'FLOP/s')}; {rate.source[:60]}",
        )
    table.add_row(
        texts("predict.basis.efficiency"),
        found["efficiencies"],
        texts(f"predict.basis.{found['efficiencies_of']}"),
    )
    table.add_row(texts("predict.memory.weights"), found["weights"], r.case.outline.source[:70])
    if machine.hourly is not None:
        note = machine.details.get("price_note", machine.hourly.source)[:60]
        table.add_row(
            texts("predict.basis.price"), str(machine.hourly.basis), f"{machine.hourly.value:g} USD/h; {note}"
        )
    return table
