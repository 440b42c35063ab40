"""What the terminal shows: results on stdout, live progress on stderr."""

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from whygpu.story.text import Texts, choose_language, texts

__all__ = ["Screen"]

WIDTH = 100
"""Tables fit this many columns."""


class Screen:
    """The two streams of a command and the language they speak."""

    def __init__(
        self, language: str | None = None, as_json: bool = False, *, results_on_stderr: bool = False
    ) -> None:
        self.texts: Texts = texts(choose_language(language))
        self.as_json = as_json
        self.json_stream = sys.stderr if results_on_stderr else sys.stdout
        self.out = _console(stderr=as_json or results_on_stderr)
        self.err = _console(stderr=True)
        self._after_table = True
        self._bar: Progress | None = None
        self._task: Any = None

    def show(self, *renderables: Any) -> None:
        """Print tables and lines among the results (with ``--json``: beside them, on stderr)."""
        with self.quiet():
            for renderable in renderables:
                is_table = isinstance(renderable, Table)
                if is_table and not self._after_table:  # a table ends with an empty line, a sentence does not
                    self.out.print()
                self.out.print(renderable)
                self._after_table = is_table

    def json(self, value: Any) -> None:
        """Print the result of ``--json``, alone on stdout."""
        ascii_only = not (self.json_stream.encoding or "").lower().startswith("utf")
        json.dump(value, self.json_stream, indent=2, ensure_ascii=ascii_only, allow_nan=False)
        self.json_stream.write("\n")

    def place(self, name: str, path: Any) -> None:
        """Print where something lies: the path alone, or with ``--json`` its name too."""
        if self.as_json:
            self.json({"name": name, "path": str(path)})
        else:
            self.json_stream.write(f"{path}\n")

    def progress(self, key: str, fraction: float | None = None, /, **values: object) -> None:
        """Show one step of running work on the live line."""
        if self._bar is None or self._task is None:
            return
        text = self.texts(key, **values) if self.texts.has(key) else key
        total = None if fraction is None else 1.0
        self._bar.update(self._task, description=text, completed=fraction or 0.0, total=total)

    @contextlib.contextmanager
    def working(self, key: str, /, **values: object) -> Iterator[None]:
        """A live line on stderr while the block runs; none where stderr is no terminal."""
        if not self.err.is_terminal:
            yield
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self.err, transient=True) as bar:
            self._bar = bar
            self._task = bar.add_task(self.texts(key, **values), total=None)
            try:
                yield
            finally:
                self._bar, self._task = None, None

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Take the live line away while something is printed."""
        bar = self._bar
        if bar is None:
            yield
            return
        bar.stop()
        try:
            yield
        finally:
            bar.start()


def _console(stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, soft_wrap=False)
    if not console.is_terminal or console.width > WIDTH:
        console.width = WIDTH
    return console
