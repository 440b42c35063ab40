"""An answer on its way to the terminal: token by token, until it ends or Ctrl-C ends it."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["speak"]

LONG_PROMPT = 256
"""Tokens from which a live line says that the prompt is being read."""

_UNSAFE = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
"""Control characters could move the cursor or rename the window; a model's words do not."""


def speak(
    generation: Any, screen: Any, *, prompt: str = "", show: bool = False, keep: bool = False
) -> list[Any]:
    """Write the words to stdout as they come (nowhere with ``--json``).

    The first Ctrl-C ends the answer after the token in work, the second the program. ``show`` prints each
    step's candidates instead of the bare words, and the answer after them. Returns the tokens, with ``keep``.
    """
    kept = []
    with _ctrl_c_stops(generation):
        for number, token in enumerate(_after_reading(generation, screen), start=1):
            if keep:
                kept.append(token)
            if show and not screen.as_json:
                _show_step(screen, number, token, prompt, generation)
            elif not screen.as_json:
                write(token.text)
    if screen.as_json:
        return kept
    write(f"\n{generation.text}\n" if show else "\n" if not generation.text.endswith("\n") else "")
    return kept


def write(text: str) -> None:
    """Text to stdout, at once; what the stream's encoding lacks becomes a question mark."""
    if not text:
        return
    if sys.stdout.isatty():
        text = text.translate(_UNSAFE)
    with contextlib.suppress(AttributeError):  # a stream that a test put there
        if sys.stdout.errors == "strict":
            sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.stdout.write(text)
    sys.stdout.flush()


def _after_reading(generation: Any, screen: Any) -> Iterator[Any]:
    """The tokens; while a long prompt is read, a live line says so."""
    new = len(generation.prompt_ids)
    if new > LONG_PROMPT and sys.stderr.isatty():
        with screen.working("think.reading", tokens=f"{new:,}"):
            first = next(generation, None)
        if first is not None:
            yield first
    yield from generation


def _show_step(screen: Any, number: int, token: Any, prompt: str, generation: Any) -> None:
    from whygpu.cli.tables.candidates import step_lines

    before = prompt + generation.text.removesuffix(token.text)
    drawn = generation.sampler.temperature > 0
    screen.show(step_lines(screen.texts, number, token, before, drawn=drawn))


@contextlib.contextmanager
def _ctrl_c_stops(generation: Any) -> Iterator[None]:
    """At the first Ctrl-C ask the answer to stop: an engine interrupted anywhere could not be used again."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, or somebody else's
        yield
        return
    asked = False

    def heard(number: int, frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        generation.stop()

    try:
        signal.signal(signal.SIGINT, heard)
    except ValueError:  # not in the main thread: nobody can press Ctrl-C here
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
