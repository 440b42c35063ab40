"""``whygpu models``: which language models are known, and which are here."""

from dataclasses import asdict

import rich_click as click

from whygpu.cli.options import json_option, language_option

__all__ = ["models"]


@click.group()
def models() -> None:
    """List, fetch and find language models.

    Example: [bold]whygpu models list[/bold]
    """


@models.command("list")
@json_option
@language_option
def list_models(as_json: bool, language: str | None) -> None:
    """List the catalogue: shapes, parameters, source.

    Example: [bold]whygpu models list --json[/bold]
    """
    from whygpu import models as catalogue
    from whygpu.cli.screen import Screen
    from whygpu.cli.tables.catalogue import models_table

    screen = Screen(language, as_json)
    architectures = [catalogue.get(name) for name in catalogue.names()]
    if as_json:
        screen.json([{**asdict(shape), "parameters": shape.parameters} for shape in architectures])
    else:
        screen.show(models_table(screen.texts, architectures))


@models.command()
@click.argument("name", default="smollm2-135m")
@language_option
def pull(name: str, language: str | None) -> None:
    """Fetch a model's file into the cache and print its path.

    Example: [bold]whygpu models pull smollm2-135m[/bold]
    """
    from whygpu import models as catalogue
    from whygpu.cli.screen import Screen

    screen = Screen(language)
    with screen.working("step.load"):
        path = catalogue.locate(name, progress=screen.progress)
    click.echo(path)


@models.command()
@click.argument("name", default="smollm2-135m")
def path(name: str) -> None:
    """Print where a model's file lies, without fetching it.

    Example: [bold]whygpu models path[/bold]
    """
    from whygpu import models as catalogue

    click.echo(catalogue.locate(name, download=False))
