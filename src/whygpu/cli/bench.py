"""``whygpu bench``: the article's three experiments, here."""

import rich_click as click

from whygpu.cli.options import json_option, language_option, threads_option

__all__ = ["bench"]


@click.command()
@click.argument("which", type=click.Choice(["1", "2", "3", "all"]), default="all")
@click.option("--quick", is_flag=True, help="Smaller sizes, fewer repetitions.")
@threads_option
@json_option
@language_option
def bench(which: str, quick: bool, threads: int | None, as_json: bool, language: str | None) -> None:
    """Run experiment 1, 2 or 3 (or all), beside the article's own figures.

    1: plain Python against BLAS. 2: one GPT-2 layer. 3: matmul against an elementwise product.

    Example: [bold]whygpu bench 3[/bold]
    """
    from whygpu import engine
    from whygpu.cli.screen import Screen
    from whygpu.cli.tables import step_tables
    from whygpu.measure import experiments

    screen = Screen(language, as_json)
    numbers = experiments.NUMBERS if which == "all" else (int(which),)
    results = {}
    backend = engine.backend("cpu", threads=threads)
    for number in numbers:
        with screen.working("step.experiment", number=number), engine.using(backend):
            result = experiments.run(number, quick=quick, progress=screen.progress)
        results[f"experiment_{number}"] = result.as_dict()
        if not as_json:
            screen.show(*step_tables(f"experiment_{number}", screen.texts, result))
    if as_json:
        screen.json(results)
