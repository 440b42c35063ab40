"""Step 4's table."""

from rich.console import RenderableType
from rich.text import Text

from whygpu.cli.tables.build import new_table
from whygpu.story.numbers import duration, percent, si, significant, size
from whygpu.story.results import Thinking
from whygpu.story.text import Texts

__all__ = ["thinking_tables"]


def thinking_tables(texts: Texts, thinking: Thinking) -> list[RenderableType]:
    """How fast the model answered, and what it read for each token."""
    table = new_table(texts("think.title"), texts("machine.what"), texts("machine.value"))
    rate = significant(thinking.prefill_tokens_per_second)
    rows = [
        ("model", f"{thinking.model} · {thinking.source}"),
        ("parameters", si(thinking.parameters, "")),
        ("tokens", f"{thinking.prompt_tokens} / {thinking.generated_tokens}"),
        ("load", duration(thinking.load_seconds)),
        ("prefill", texts("think.rate", rate=rate)),
        ("decode", texts("think.rate", rate=significant(thinking.decode_tokens_per_second))),
        ("bytes", size(thinking.bytes_per_token)),
        ("share", percent(thinking.bandwidth_share)),
    ]
    for key, value in rows:
        table.add_row(texts(f"think.row.{key}"), value)
    warning: list[RenderableType] = []
    if thinking.invented:
        warning.append(Text(texts("think.warning"), style="bold yellow"))
    return [*warning, table]
