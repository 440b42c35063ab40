"""``whygpu run``: the main job, all in one go."""

import contextlib
import sys
from pathlib import Path
from typing import Any

import rich_click as click
from rich.text import Text

from whygpu.cli.options import device_option, json_option, language_option, threads_option

__all__ = ["run"]


@click.command()
@click.option("--quick", is_flag=True, help="Under half a minute: fewer repetitions, smaller sizes.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="whygpu-report",
    show_default=True,
    help="Report folder.",
)
@click.option(
    "--model", help="Think with this model (a catalogue name or a GGUF file) (default: smollm2-135m)."
)
@click.option("--no-draw", is_flag=True, help="Leave drawing out.")
@click.option("--no-think", is_flag=True, help="Leave thinking out.")
@click.option("--force", is_flag=True, help="Measure the machine again, whatever is cached.")
@device_option
@threads_option
@json_option
@language_option
def run(
    quick: bool,
    out: Path,
    model: str | None,
    no_draw: bool,
    no_think: bool,
    force: bool,
    device: str,
    threads: int | None,
    as_json: bool,
    language: str | None,
) -> None:
    """Measure, experiment, draw, think, account for both, look elsewhere, and write a report.

    Example: [bold]whygpu --quick --out my-report[/bold]
    """
    from whygpu import report
    from whygpu.cli.screen import Screen
    from whygpu.engine.files import check_folder
    from whygpu.story import main_job

    screen = Screen(language, as_json)
    check_folder(out)  # before the work, not after it
    options = main_job.Options(
        quick=quick,
        draw=not no_draw,
        think=not no_think,
        device=device,
        threads=threads,
        model=model,
        force=force,
    )
    outcome = main_job.run(options, Onlooker(screen))
    language = screen.texts.language
    page = report.write(
        outcome.results, out, language=language, images=outcome.images, exhibits=outcome.exhibits
    )
    if as_json:
        screen.json(outcome.results.model_dump(mode="json"))
        screen.err.print(str(page))
    else:
        screen.show("", screen.texts("run.written"))
        click.echo(page)


class Onlooker:
    """Shows each step of the main job: a live line while it runs, a table when it is done."""

    def __init__(self, screen: Any) -> None:
        self.screen = screen
        self._speaking = False

    def working(self, key: str, /, **values: object) -> contextlib.AbstractContextManager[None]:
        """The live line of a step."""
        lines: contextlib.AbstractContextManager[None] = self.screen.working(key, **values)
        return lines

    def progress(self, key: str, fraction: float | None = None, /, **values: object) -> None:
        """One step of running work."""
        self.screen.progress(key, fraction, **values)

    def result(self, step: str, value: Any) -> None:
        """The tables of a finished step."""
        from whygpu.cli import tables

        if self._speaking:
            self.screen.out.print()
            self._speaking = False
        self.screen.show(*tables.step_tables(step, self.screen.texts, value))

    def token(self, text: str) -> None:
        """A piece of the model's answer, as it comes."""
        stream = sys.stderr if self.screen.as_json else sys.stdout
        if not self._speaking:
            self._speaking = True
            self.screen.show(Text(self.screen.texts("think.question"), style="bold"))
        stream.write(text)
        stream.flush()
