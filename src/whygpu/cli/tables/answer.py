"""Lines and tables about answers: their speed, why they ended, what they were made of."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from whygpu.cli.tables.build import new_table
from whygpu.story.numbers import count, duration, percent, si, significant, size
from whygpu.story.text import Texts

__all__ = ["chat_table", "ending_note", "speed_line", "stage_tables"]


def speed_line(texts: Texts, statistics: Any, share: float | None) -> Text:
    """One line: tokens, tokens/s of prefill and decode, bytes a token, MBU where the bandwidth is known."""
    reused = "think.line.in.reused" if statistics.reused_tokens else "think.line.in"
    parts = [
        texts(
            reused,
            prompt=count(statistics.prompt_tokens),
            reused=count(statistics.reused_tokens),
            generated=count(statistics.generated_tokens),
        )
    ]
    if statistics.prefill_seconds:
        parts.append(texts("think.line.prefill", rate=significant(statistics.prefill_tokens_per_second)))
    if statistics.decode_steps:
        parts.append(texts("think.line.decode", rate=significant(statistics.decode_tokens_per_second)))
        parts.append(texts("think.line.bytes", bytes=size(statistics.bytes_read_per_token)))
    if share is not None:
        parts.append(texts("think.line.share", share=percent(share)))
    return Text(" · ".join(parts), style="dim")


def ending_note(texts: Texts, statistics: Any, rules: Any) -> Text | None:
    """Why an answer ended, where that is not the model's own end; how often it slid."""
    values = {"context": count(rules.context), "tokens": count(rules.max_tokens)}
    notes = []
    if statistics.slides:
        notes.append(texts("think.slid", times=count(statistics.slides), **values))
    if statistics.finish in ("context", "length", "interrupted"):
        notes.append(texts(f"think.ended.{statistics.finish}", **values))
    return Text(" ".join(notes), style="yellow") if notes else None


def stage_tables(texts: Texts, shares: list[Any], ridge: float | None) -> list[RenderableType]:
    """The ledger, prefill and decode apart: each product by name, then what is no product, then a verdict."""
    tables: list[RenderableType] = []
    for stage in dict.fromkeys(share.stage for share in shares):
        rows = [share for share in shares if share.stage == stage]
        tables += [_stage_table(texts, stage, rows), _verdict(texts, rows, ridge)]
    if ridge is None:
        tables.append(Text(texts("stages.no-roofline"), style="yellow"))
    return tables


def _stage_table(texts: Texts, stage: str, rows: list[Any]) -> RenderableType:
    keys = ("products", "flop", "bytes", "intensity", "seconds", "share")
    headings = (texts("ledger.name"), *(texts(f"engine.{key}") for key in keys), texts("stages.bound"))
    table = new_table(texts(f"stages.title.{stage}"), *headings)
    for at, row in enumerate(rows):
        name = row.name
        if not row.is_product:
            if at and rows[at - 1].is_product:
                table.add_section()
            name = texts(f"stages.{name}") if texts.has(f"stages.{name}") else name
        table.add_row(
            name,
            count(row.products) if row.is_product else "",
            si(row.flop, "") if row.flop else "",
            si(row.bytes, "B") if row.bytes else "",
            significant(row.flop_per_byte) if row.bytes else "",
            duration(row.seconds),
            percent(row.share),
            texts(f"stages.bound.{row.bound}") if row.bound else "",
        )
    return table


def _verdict(texts: Texts, rows: list[Any], ridge: float | None) -> Text:
    flop = sum(row.flop for row in rows) or 1
    values = {
        "flop": percent(sum(row.flop for row in rows if row.is_product) / flop),
        "time": percent(sum(row.share for row in rows if row.is_product)),
        "memory": percent(sum(row.share for row in rows if row.bound == "memory")),
    }
    if ridge is None:
        return Text(texts("stages.verdict", **values))
    return Text(texts("stages.verdict.bound", ridge=significant(ridge), **values))


def chat_table(texts: Texts, chat: Any, share: float | None) -> RenderableType:
    """What a conversation took so far (``/stats``)."""
    answers = chat.statistics
    table = new_table(texts("chat.stats"), texts("machine.what"), texts("machine.value"))
    prefill, decode = (sum(getattr(a, f"{what}_seconds") for a in answers) for what in ("prefill", "decode"))
    pushed, steps = sum(a.prefill_tokens for a in answers), sum(a.decode_steps for a in answers)
    reused = sum(a.reused_tokens for a in answers)
    read = sum(a.bytes_read_per_token * a.decode_steps for a in answers)
    rows = {
        "answers": count(len(answers)),
        "context": f"{count(chat.tokens)} / {count(chat.rules.context)}",
        "pushed": count(pushed),
        "reused": count(reused),
        "generated": count(sum(a.generated_tokens for a in answers)),
        "prefill": texts("think.rate", rate=significant(pushed / prefill)) if prefill else "",
        "decode": texts("think.rate", rate=significant(steps / decode)) if decode else "",
        "bytes": size(read / steps) if steps else "",
        "share": percent(share) if share is not None else "",
    }
    for key, value in rows.items():
        if value:
            table.add_row(texts(f"chat.stats.{key}"), value)
    return table
