"""``whygpu bench``: the article's three experiments, here."""

from typing import Any

import rich_click as click

from whygpu.cli.options import device_option, json_option, language_option, threads_option

__all__ = ["bench"]


@click.command()
@click.argument("which", type=click.Choice(["1", "2", "3", "all"]), default="all")
@click.option("--quick", is_flag=True, help="Smaller sizes, fewer repetitions.")
@device_option
@threads_option
@json_option
@language_option
def bench(
    which: str, quick: bool, device: str, threads: int | None, as_json: bool, language: str | None
) -> None:
    """Run experiment 1, 2 or 3 (or all), beside the article's own figures.

    1: plain Python against BLAS. 2: one GPT-2 layer. 3: matmul against an elementwise product. With --device
    torch:cuda (or another) the same work runs there and on NumPy, side by side, and a million vertices too.

    Examples: [bold]whygpu bench 3[/bold], [bold]whygpu bench --device auto[/bold]
    """
    from whygpu import engine
    from whygpu.cli.ranks import open_backend
    from whygpu.cli.screen import Screen
    from whygpu.cli.tables import step_tables
    from whygpu.measure import experiments

    screen = Screen(language, as_json)
    numbers = experiments.NUMBERS if which == "all" else (int(which),)
    results = {}
    backend = open_backend(device, threads, screen)
    if backend.name != "cpu":
        _side_by_side(screen, backend, numbers, quick, threads)
        return
    for number in numbers:
        with screen.working("step.experiment", number=number), engine.using(backend):
            result = experiments.run(number, quick=quick, progress=screen.progress)
        results[f"experiment_{number}"] = result.as_dict()
        if not as_json:
            screen.show(*step_tables(f"experiment_{number}", screen.texts, result))
    if as_json:
        screen.json(results)


def _side_by_side(
    screen: Any, backend: Any, numbers: tuple[int, ...], quick: bool, threads: int | None
) -> None:
    from whygpu import engine
    from whygpu.cli.tables.side_by_side import side_by_side_tables
    from whygpu.measure.side_by_side import rows

    found = {}
    for place in (engine.backend("numpy", threads=threads), backend):
        with screen.working("step.experiment", number=numbers[0]):
            found[place.name] = rows(place, numbers=numbers, quick=quick, progress=screen.progress)
    if screen.as_json:
        screen.json({name: [row.as_dict() for row in measured] for name, measured in found.items()})
    else:
        screen.show(*side_by_side_tables(screen.texts, found["numpy"], found[backend.name], backend))
