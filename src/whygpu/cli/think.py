"""``whygpu think``: a language model goes on from a prompt, or talks."""

import contextlib
import functools
import sys
from time import perf_counter
from typing import Any

import rich_click as click

from whygpu.cli.options import device_option, json_option, language_option, threads_option
from whygpu.engine import ranks

__all__ = ["think"]

LONGEST_PROMPT = 1 << 24
"""Bytes read from stdin at most; no context holds more."""
MAX_TOKENS = {False: 128, True: 512}
"""Tokens of an answer by default, alone and in a chat."""
INTERRUPTED = 130


@click.command()
@click.argument("prompt", required=False)
@click.option("--model", "-m", help="Catalogue name, GGUF file, folder or Hugging Face id (smollm2-135m).")
@click.option("--interactive", "-i", is_flag=True, help="Talk: history, /help, /reset, /stats, /quit.")
@click.option("--chat/--raw", default=None, help="Chat template or bare text (default: as the model has it).")
@click.option("--system", help="The system message of the chat.")
@click.option("--max-tokens", "-n", type=click.IntRange(1), help="Length of an answer (128; in a chat 512).")
@click.option("--temperature", type=click.FloatRange(0), default=0.0, show_default=True, help="0 is greedy.")
@click.option("--top-k", type=click.IntRange(0), default=0, show_default=True, help="K likeliest; 0: all.")
@click.option("--top-p", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Nucleus.")
@click.option(
    "--min-p", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Share of the best's odds."
)
@click.option(
    "--repeat-penalty", type=click.FloatRange(0.1), default=1.0, show_default=True, help="1 is none."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random numbers.")
@click.option("--stop", multiple=True, help="End before this text; may be given more than once.")
@click.option("--context", type=click.IntRange(1), help="Tokens of prompt and answer (default: the model's).")
@click.option("--slide", is_flag=True, help="When the context is full, forget the oldest and go on.")
@click.option(
    "--show-candidates",
    "candidates",
    type=click.IntRange(0, 100),
    default=0,
    metavar="K",
    help="Show the K likeliest next words at each step.",
)
@device_option
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    default="float32",
    show_default=True,
    help="What weights and cache are held in (on torch:<device>, jax, cupy).",
)
@threads_option
@click.option("--ledger", "with_ledger", is_flag=True, help="What was multiplied, in prefill and decode.")
@json_option
@language_option
def think(
    prompt: str | None,
    model: str | None,
    interactive: bool,
    chat: bool | None,
    system: str | None,
    max_tokens: int | None,
    device: str,
    dtype: str,
    threads: int | None,
    with_ledger: bool,
    as_json: bool,
    language: str | None,
    **how: Any,
) -> None:
    """Let a language model answer PROMPT (- reads it from stdin).

    Examples: [bold]whygpu think "Why is the sky blue?" --show-candidates 5[/bold],
    [bold]whygpu think -i --system "Be brief." --temperature 0.7[/bold],
    [bold]torchrun --nproc-per-node 2 -m whygpu think "Hello"[/bold] (the model shared among two ranks)
    """
    from whygpu import engine
    from whygpu.cli.ranks import among_ranks, open_backend
    from whygpu.cli.screen import Screen

    prompt = _given(prompt, interactive, as_json)
    how |= {"max_tokens": max_tokens or MAX_TOKENS[interactive], "chat": chat, "system": system}
    screen = Screen(language, as_json)
    backend = open_backend(device, threads, screen)
    with among_ranks(backend), engine.using(backend):
        started = perf_counter()
        loaded = _load(model, backend, screen, dtype)
        load_seconds = perf_counter() - started
        _say_how_it_continues(loaded, chat, screen)
        if interactive:
            _talk(loaded, prompt, screen, with_ledger, how)
        else:
            _answer(loaded, prompt or "", screen, with_ledger, how, load_seconds)


def _given(prompt: str | None, interactive: bool, as_json: bool) -> str | None:
    """The prompt, from the command line or stdin."""
    if ranks.launched() and (interactive or prompt == "-"):
        raise click.UsageError("several ranks cannot read one keyboard: give the prompt as an argument")
    if interactive and as_json:
        raise click.UsageError("--interactive talks with a person; for --json give one prompt")
    if prompt is None and not interactive:
        raise click.UsageError("Missing argument 'PROMPT'; - reads it from stdin, --interactive talks")
    if prompt != "-":
        return prompt
    raw = sys.stdin.buffer.read(LONGEST_PROMPT + 1)
    if len(raw) > LONGEST_PROMPT:
        raise click.UsageError(f"stdin: more than {LONGEST_PROMPT:,} bytes; no context holds such a prompt")
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"stdin: byte {error.start + 1} is not UTF-8 text") from error


def _load(name: str | None, backend: Any, screen: Any, dtype: str) -> Any:
    from whygpu.engine.errors import UserError
    from whygpu.story.thinking import load_model

    if backend.name == "python":
        raise UserError("--device python multiplies one number at a time: a token takes minutes; use cpu")
    reasons = []

    def progress(key: str, fraction: float | None = None, /, **values: object) -> None:
        screen.progress(key, fraction, **values)
        if key == "think.invented":
            reasons.append(screen.texts(key, **values))

    with screen.working("step.load"):
        loaded = load_model(name, backend, progress, dtype)
    if loaded.invented:
        for line in (*reasons, screen.texts("think.warning")):
            screen.err.print(line, style="bold yellow", markup=False)
    return loaded


def _say_how_it_continues(loaded: Any, chat: bool | None, screen: Any) -> None:
    """A model without a template gets bare text; that is said unless it was asked for."""
    if chat is None and loaded.chat_template is None and not loaded.invented:
        screen.err.print(screen.texts("think.raw"), style="dim", markup=False)


@functools.cache
def _roof(backend: str) -> Any:
    """What this machine was measured to do, where that is kept; nothing is measured for it."""
    from whygpu import measure

    return measure.kept_roofline() if backend in ("cpu", "torch:cpu") else None


def _answer(
    loaded: Any, prompt: str, screen: Any, with_ledger: bool, how: dict[str, Any], load_seconds: float
) -> None:
    """One answer, its line of statistics, its ledger; exit code 130 where Ctrl-C ended it."""
    from whygpu import engine
    from whygpu import think as thinking
    from whygpu.cli.answer import answer, bandwidth_share, stage_shares, steps
    from whygpu.cli.ranks import merged
    from whygpu.cli.speaking import speak
    from whygpu.cli.tables.answer import ending_note, speed_line, stage_tables
    from whygpu.think.generate import as_chat

    show = how["candidates"] > 0
    with engine.ledger() if with_ledger else contextlib.nullcontext() as ledger:
        generation = thinking.generate(loaded, prompt, **how)
        tokens = speak(generation, screen, prompt=prompt, show=show, keep=show and screen.as_json)
    if not generation.ids:  # Ctrl-C before the first word
        raise KeyboardInterrupt
    roof = _roof(loaded.backend.name)
    ridge = roof.ridge() if roof else None
    shares = stage_shares(merged(ledger), ridge) if ledger else None
    if screen.as_json:
        document = answer(
            loaded, generation, prompt=prompt, system=how["system"],
            chat=as_chat(loaded, prompt, how["chat"], how["system"]), load_seconds=load_seconds, roof=roof,
        )  # fmt: skip
        document = document.model_copy(update={"steps": steps(tokens) if show else None, "ledger": shares})
        screen.json(document.model_dump(mode="json"))
    else:
        note = ending_note(screen.texts, generation.statistics, generation.rules)
        line = speed_line(screen.texts, generation.statistics, bandwidth_share(generation.statistics, roof))
        for part in (note, line) if note else (line,):
            screen.err.print(part)
        if shares:
            screen.show(*stage_tables(screen.texts, shares, ridge))
    if generation.statistics.finish == "interrupted":
        sys.exit(INTERRUPTED)


def _talk(loaded: Any, first: str | None, screen: Any, with_ledger: bool, how: dict[str, Any]) -> None:
    from whygpu import engine
    from whygpu import think as thinking
    from whygpu.cli.answer import stage_shares
    from whygpu.cli.chat import Talk
    from whygpu.cli.tables.answer import stage_tables

    roof = functools.partial(_roof, loaded.backend.name)
    talk = Talk(thinking.Chat(loaded, **how), screen, roof, show=how["candidates"] > 0)
    with engine.ledger() if with_ledger else contextlib.nullcontext() as ledger:
        talk.run(first)
    if ledger:
        ridge = roof().ridge() if roof() else None
        screen.show(*stage_tables(screen.texts, stage_shares(ledger, ridge), ridge))
