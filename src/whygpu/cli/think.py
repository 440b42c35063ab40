"""``whygpu think``: a language model goes on from a prompt."""

import sys
from typing import Any

import rich_click as click

from whygpu.cli.options import device_option, json_option, language_option, threads_option

__all__ = ["think"]


@click.command()
@click.argument("prompt")
@click.option("--model", "-m", help="A catalogue name or a GGUF file (default: smollm2-135m).")
@click.option(
    "--chat/--raw", default=True, show_default=True, help="Put the model's chat template around the prompt."
)
@click.option("--system", help="The system message of the chat.")
@click.option(
    "--max-tokens", "-n", type=click.IntRange(1), default=128, show_default=True, help="Stop after this many."
)
@click.option("--temperature", type=click.FloatRange(0), default=0.0, show_default=True, help="0 is greedy.")
@click.option(
    "--top-k", type=click.IntRange(0), default=0, show_default=True, help="Only the K likeliest; 0: all."
)
@click.option(
    "--top-p", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Nucleus sampling."
)
@click.option(
    "--min-p", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Share of the best's odds."
)
@click.option(
    "--repeat-penalty", type=click.FloatRange(0.1), default=1.0, show_default=True, help="1 is none."
)
@click.option("--seed", type=int, default=0, show_default=True, help="For temperatures above 0.")
@click.option("--stop", multiple=True, help="Stop before this text; may be given more than once.")
@device_option
@threads_option
@click.option("--ledger", "with_ledger", is_flag=True, help="Show what was multiplied.")
@json_option
@language_option
def think(
    prompt: str,
    model: str | None,
    device: str,
    threads: int | None,
    with_ledger: bool,
    as_json: bool,
    language: str | None,
    **how: Any,
) -> None:
    """Let a language model answer PROMPT (- reads it from stdin).

    Example: [bold]whygpu think "Why is the sky blue?" -n 64 --ledger[/bold]
    """
    from whygpu import engine
    from whygpu import think as thinking
    from whygpu.cli.screen import Screen
    from whygpu.cli.tables import ledger_rows_table, thinking_line

    screen = Screen(language, as_json)
    if prompt == "-":
        prompt = sys.stdin.read()
    backend = engine.backend(device, threads=threads)
    with engine.using(backend):
        with screen.working("step.load"):
            loaded = thinking.load(model or "smollm2-135m", backend=backend, progress=screen.progress)
        with engine.ledger() as ledger:
            generation = thinking.generate(loaded, prompt, **how)
            _speak(generation, screen)
    statistics = generation.statistics
    if as_json:
        screen.json(
            {
                "model": loaded.architecture.name,
                "prompt": prompt,
                "text": generation.text,
                "prompt_tokens": statistics.prompt_tokens,
                "generated_tokens": statistics.generated_tokens,
                "prefill_seconds": statistics.prefill_seconds,
                "decode_seconds": statistics.decode_seconds,
                "bytes_read_per_token": statistics.bytes_read_per_token,
                "ended": statistics.finish,
                **({"ledger": [row.as_dict() for row in ledger.rows()]} if with_ledger else {}),
            }
        )
        return
    screen.err.print(thinking_line(screen.texts, statistics))
    if with_ledger:
        screen.show(ledger_rows_table(screen.texts, ledger.rows()))


def _speak(generation: Any, screen: Any) -> None:
    """Stream the words to stdout (nowhere with --json); Ctrl-C ends the answer and keeps what was said."""
    try:
        for token in generation:
            if not screen.as_json:
                sys.stdout.write(token.text)
                sys.stdout.flush()
    except KeyboardInterrupt:
        if not generation.text:
            raise
    if not screen.as_json:
        sys.stdout.write("\n")
