"""``whygpu roofline``: what this machine can do."""

import rich_click as click

from whygpu.cli.options import json_option, language_option, threads_option

__all__ = ["roofline"]


@click.command()
@click.option("--force", is_flag=True, help="Measure again, whatever is cached.")
@click.option("--quick", is_flag=True, help="Fewer repetitions.")
@threads_option
@json_option
@language_option
def roofline(force: bool, quick: bool, threads: int | None, as_json: bool, language: str | None) -> None:
    """Measure this machine: arithmetic, memory bandwidth, launch cost.

    The result is cached for this machine; --force measures again.

    Example: [bold]whygpu roofline --force --json[/bold]
    """
    from whygpu import measure
    from whygpu.cli.screen import Screen
    from whygpu.cli.tables import machine_tables

    screen = Screen(language, as_json)
    with screen.working("step.machine"):
        result = measure.roofline(force=force, quick=quick, threads=threads, progress=screen.progress)
    if as_json:
        screen.json(result.as_dict())
    else:
        screen.show(*machine_tables(screen.texts, result))
