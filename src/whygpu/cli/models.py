"""``whygpu models``: which language models are known, and which are here."""

from typing import Any

import rich_click as click

from whygpu.cli.options import json_option, language_option

__all__ = ["models"]

SHAPE = ("family", "layers", "d_model", "heads", "kv_heads", "head_dim", "d_ff", "vocab", "context")
"""What ``list --json`` says of a model's shape, beside its parameters and how they are stored."""


class ByName(click.RichGroup):
    """``models NAME`` shows that model; without anything, the list."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put ``list`` or ``show`` before anything that is no command of this group."""
        if not args or args[0] in ("--json", "--lang"):
            args = ["list", *args]
        elif args[0] not in self.commands and not args[0].startswith("-"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=ByName)
def models() -> None:
    """List, fetch, find and remove language models.

    Example: [bold]whygpu models list[/bold]
    """


@models.command("list")
@json_option
@language_option
def list_models(as_json: bool, language: str | None) -> None:
    """List the catalogue, and what is on this disk.

    Example: [bold]whygpu models list --json[/bold]
    """
    from whygpu import models as catalogue
    from whygpu.cli.screen import Screen
    from whygpu.cli.tables.models import models_tables

    screen = Screen(language, as_json)
    known = [(catalogue.get(name), catalogue.model_file(name)) for name in catalogue.names()]
    here = catalogue.stored()
    if as_json:
        entries = [_entry(shape, file, here) for shape, file in known]
        screen.json({"catalogue": entries, "stored": [_stored(model) for model in here]})
    else:
        screen.show(*models_tables(screen.texts, known, here))


def _entry(shape: Any, file: Any, here: list[Any]) -> dict[str, Any]:
    return {
        "name": shape.name,
        **{key: getattr(shape, key) for key in SHAPE},
        "parameters": shape.parameters,
        "quant": shape.quant,
        "bits_per_weight": shape.bits_per_weight,
        "source": shape.source,
        "file": None if file is None else {"name": file.name, "bytes": file.size, "licence": file.licence},
        "stored": any(model.name == shape.name and model.whole for model in here),
    }


def _stored(model: Any) -> dict[str, Any]:
    place = "huggingface" if model.shared else "whygpu"
    return {
        "name": model.name,
        "path": str(model.path),
        "bytes": model.size,
        "whole": model.whole,
        "cache": place,
    }


@models.command()
@click.argument("name", default="smollm2-135m")
@json_option
@language_option
def pull(name: str, as_json: bool, language: str | None) -> None:
    """Fetch a model's file into the cache and print its path.

    Example: [bold]whygpu models pull smollm2-135m[/bold]
    """
    from whygpu import models as catalogue
    from whygpu.cli.screen import Screen

    screen = Screen(language, as_json)
    with screen.working("step.load"):
        path = catalogue.locate(name, progress=screen.progress)
    screen.place(name, path)


@models.command()
@click.argument("name")
@json_option
@language_option
def remove(name: str, as_json: bool, language: str | None) -> None:
    """Delete a model from this disk, without asking; prints what was removed.

    Example: [bold]whygpu models remove smollm2-135m[/bold]
    """
    from whygpu import models as catalogue
    from whygpu.cli.screen import Screen
    from whygpu.story.numbers import size

    screen = Screen(language, as_json)
    gone = catalogue.remove(name)
    if as_json:
        screen.place(gone.name, gone.path)
        return
    click.echo(screen.texts("models.removed", name=gone.name, size=size(gone.size), path=gone.path))


@models.command()
@click.argument("name", default="smollm2-135m")
@json_option
@language_option
def path(name: str, as_json: bool, language: str | None) -> None:
    """Print where a model's file lies, without fetching it.

    Example: [bold]whygpu models path[/bold]
    """
    from whygpu import models as catalogue
    from whygpu.cli.screen import Screen

    Screen(language, as_json).place(name, catalogue.locate(name, download=False))


@models.command()
@click.argument("name")
@json_option
@language_option
def show(name: str, as_json: bool, language: str | None) -> None:
    """Show what one model costs: weights read, multiplied and cached, with the source.

    Example: [bold]whygpu models show deepseek-v3[/bold]
    """
    from whygpu.cli.screen import Screen
    from whygpu.cli.tables.outline import outline_entry, outline_table
    from whygpu.models.outline_source import outline_source

    screen = Screen(language, as_json)
    shape = outline_source(name).outline
    screen.json(outline_entry(shape)) if as_json else screen.show(outline_table(screen.texts, shape))
