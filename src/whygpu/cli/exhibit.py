"""``whygpu exhibit``: the story's pictures, drawn by the engine."""

from pathlib import Path
from time import perf_counter
from typing import Any

import rich_click as click

from whygpu.cli.options import Size, json_option, language_option

__all__ = ["exhibit"]

FORMATS = ("gif", "webp", "apng", "avif", "png", "mp4", "html")


def _list(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Comma-separated words."""
    return tuple(word.strip() for word in value.split(",") if word.strip()) if value else ()


@click.command()
@click.argument("name", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help=f"A file: .{', .'.join(FORMATS)}.")
@click.option("--list", "list_all", is_flag=True, help="What there is.")
@click.option("--all", "folder", type=click.Path(path_type=Path), help="Write all of them into this folder.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="webp", show_default=True, help="Used by --all."
)
@click.option("--words", callback=_list, help="embedding: words with commas; first - second + third.")
@click.option("--chips", callback=_list, help="chips, roofline, batch: names of the hardware catalogue.")
@click.option("--sentence", help="attention, mlp, block: what the model reads.")
@click.option("--model", "-m", help="Catalogue name, GGUF file, folder or Hugging Face id (smollm2-135m).")
@click.option("--size", type=Size(), default="960x540", show_default=True, help="Picture size in pixels.")
@click.option(
    "--theme", type=click.Choice(["light", "dark"]), default="light", show_default=True, help="HTML has both."
)
@json_option
@language_option
def exhibit(
    name: str | None,
    output: Path | None,
    list_all: bool,
    folder: Path | None,
    form: str,
    words: tuple[str, ...],
    chips: tuple[str, ...],
    sentence: str | None,
    model: str | None,
    size: tuple[int, int],
    theme: str,
    as_json: bool,
    language: str | None,
) -> None:
    """Draw the exhibit NAME: an animation whose every number was computed or measured here.

    Example: [bold]whygpu exhibit rotation -o rotation.webp[/bold]

    With --json the numbers are printed; -o is then optional. A .html file is interactive.
    """
    from whygpu.cli.screen import Screen
    from whygpu.engine import UserError
    from whygpu.story import exhibits

    screen = Screen(language, as_json)
    if list_all:
        _show_list(screen)
        return
    if (name is None) == (folder is None):
        raise UserError("exhibit: give one NAME, or --all DIR, or --list")
    if folder is None and output is None and not as_json:
        raise UserError(f"exhibit {name}: say where to, -o {name}.webp, or ask for --json")
    for option, given, of in (
        ("--words", words, ("embedding",)),
        ("--chips", chips, ("chips", "roofline", "batch")),
        ("--sentence", sentence, ("attention", "mlp", "block")),
    ):
        if given and folder is None and name not in of and name in exhibits.NAMES:
            raise UserError(f"exhibit {name}: {option} is only for {', '.join(of)}")
    job = exhibits.Job(words, chips, model, progress=screen.progress)
    if sentence is not None:
        job.sentence = sentence
    names = exhibits.NAMES if folder is not None else (str(name),)
    written = []
    for each in names:
        target = output if folder is None else folder / f"{each}.{form}"
        with screen.working("exhibit.working", name=each):
            written.append(_one(screen, job, each, target, size, theme))
        if not as_json and target is not None:
            row = written[-1]
            seconds, octets = f"{row['seconds']:.1f}", f"{row['bytes'] / 1000:,.0f}"
            screen.show(screen.texts("exhibit.written", path=target, seconds=seconds, size=octets))
    if as_json:
        screen.json(written[0] if folder is None else written)


def _one(
    screen: Any, job: Any, name: str, target: Path | None, size: tuple[int, int], theme: str
) -> dict[str, Any]:
    """Find the numbers out, draw, write; what came of it."""
    from whygpu.engine.files import check_folder
    from whygpu.story import exhibits

    chosen = exhibits.load(name)
    form = "" if target is None else _form(target)
    if target is not None:
        check_folder(target.parent)
    started = perf_counter()
    found = chosen.numbers(job)
    row: dict[str, Any] = {"exhibit": name, **found.as_dict()}
    if target is not None:
        screen.progress("exhibit.drawing", None, name=name)
        _write(target, chosen, found, screen.texts, form, size, theme)
        row |= {"output": str(target), "bytes": target.stat().st_size}
    return {**row, "seconds": perf_counter() - started}


def _form(target: Path) -> str:
    from whygpu.engine import UserError

    form = target.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise UserError(f"{target}: exhibits are written as .{', .'.join(FORMATS)}; rename the output")
    return form


def _write(
    target: Path, chosen: Any, found: Any, texts: Any, form: str, size: tuple[int, int], theme: str
) -> None:
    if form == "html":
        from whygpu.engine.files import write_whole
        from whygpu.story.exhibits.page import page

        html = page(chosen, found, texts.language).encode("utf-8")
        with write_whole(target) as temporary:
            temporary.write_bytes(html)
        return
    from whygpu.story.exhibits import film

    frames = [chosen.still(found, texts)] if form == "png" else chosen.frames(found, texts)
    film.write(target, frames, size, theme)


def _show_list(screen: Any) -> None:
    from rich.table import Table

    from whygpu.story import exhibits

    if screen.as_json:
        titles = {name: screen.texts(f"exhibit.{name}.title") for name in exhibits.NAMES}
        screen.json([{"name": name, "title": title} for name, title in titles.items()])
        return
    table = Table(title=screen.texts("exhibit.list.title"))
    table.add_column(screen.texts("exhibit.list.name"))
    table.add_column(screen.texts("exhibit.list.what"))
    for name in exhibits.NAMES:
        table.add_row(name, screen.texts(f"exhibit.{name}.title"))
    screen.show(table)
