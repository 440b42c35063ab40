"""``whygpu draw``: scenes become pictures and films."""

from __future__ import annotations

import sys
from typing import Any

import rich_click as click

from whygpu.cli.drawing_options import GROUPS, drawing_options
from whygpu.cli.options import device_option, json_option, language_option, size_option, threads_option

__all__ = ["draw"]

click.rich_click.OPTION_GROUPS = {**click.rich_click.OPTION_GROUPS, "whygpu draw": GROUPS}


@click.command()
@click.argument("scenes", nargs=-1, metavar="[SCENE]...")
@click.option(
    "-o",
    "--output",
    metavar="FILE|FOLDER|-",
    help=".png, .gif, .webp, .apng, .avif, .mp4, .npy (pixels), .npz (also depth, triangle, normal); "
    "a folder for several scenes; - for PNG on stdout.",
)
@size_option
@drawing_options
@click.option(
    "--path",
    type=click.Choice(["auto", "fast", "portable"]),
    default="auto",
    show_default=True,
    help="fast: Numba kernels; portable: Array API code, the one to read.",
)
@device_option
@threads_option
@click.option("--ledger", "with_ledger", is_flag=True, help="Show what was multiplied, and what was not.")
@json_option
@language_option
def draw(
    scenes: tuple[str, ...],
    output: str | None,
    device: str,
    threads: int | None,
    with_ledger: bool,
    as_json: bool,
    language: str | None,
    **how: Any,
) -> None:
    """Draw each SCENE: a file, or a built-in name (without one: a list of what there is).

    Examples: [bold]whygpu draw cube -o cube.png --ledger[/bold]

    [bold]whygpu draw duck.glb -o duck.webp --turntable --background transparent[/bold]

    [bold]whygpu draw fox.glb -o fox.mp4 --animation Walk --size 640x480[/bold]

    [bold]whygpu draw a.glb b.stl teapot -o pictures/ --view 45,30 --up z[/bold]
    """
    from whygpu.cli.screen import Screen

    if not scenes:
        _list(Screen(language, as_json), output)
        return
    if output is None:
        raise click.UsageError(f"Missing option '--output' / '-o'; -o {_suggested(scenes)} say")
    screen = Screen(language, as_json, results_on_stderr=output == "-")
    _draw(scenes, output, screen, device, threads, with_ledger, how)


def _draw(
    scenes: tuple[str, ...],
    output: str,
    screen: Any,
    device: str,
    threads: int | None,
    with_ledger: bool,
    how: dict[str, Any],
) -> None:
    from whygpu import engine
    from whygpu.cli.drawing_job import draw_one
    from whygpu.cli.drawing_targets import STDOUT, targets
    from whygpu.cli.ranks import among_ranks, merged, open_backend

    moves = how["turntable"] or (how["animation"] is not None and how["time"] is None)
    paths = targets(scenes, output, how.pop("kind"), moves)
    if output == STDOUT and sys.stdout.isatty():
        raise click.UsageError("-o -: a terminal shows no PNG; send it on: ... -o - > picture.png")
    backend = open_backend(device, threads, screen)
    pictures = []
    ledger = engine.Ledger() if with_ledger else None
    with engine.using(backend), among_ranks(backend) as here:
        for scene, path in zip(scenes, paths, strict=True):
            picture = draw_one(scene, path, screen, how, ledger)
            pictures.append(picture)
            if here.rank == 0 and not screen.as_json:
                from whygpu.cli.tables.drawing import picture_line

                screen.show(picture_line(screen.texts, picture))
        ledger = merged(ledger) if ledger is not None else None
        if here.rank != 0:
            return
    from whygpu.cli.drawing_document import document

    result = document(pictures, backend, ledger)
    if screen.as_json:
        screen.json(result.model_dump(mode="json"))
    elif result.ledger:
        from whygpu.cli.tables.drawing import ledger_tables

        screen.show(*ledger_tables(screen.texts, result.ledger))


def _list(screen: Any, output: str | None) -> None:
    """What there is to draw and to write."""
    from whygpu.cli.tables.drawing import formats_table, scenes_table
    from whygpu.draw import BUILT_IN
    from whygpu.draw.output import FORMATS

    if output is not None:
        raise click.UsageError(f"Missing argument 'SCENE'; a file, or one of {', '.join(BUILT_IN)}")
    if screen.as_json:
        formats = {suffix: kind.installed for suffix, kind in FORMATS.items()}
        screen.json({"scenes": list(BUILT_IN), "formats": formats})
        return
    screen.show(scenes_table(screen.texts, BUILT_IN), formats_table(screen.texts, list(FORMATS.values())))
    screen.show(screen.texts("drawing.list.hint"))


def _suggested(scenes: tuple[str, ...]) -> str:
    from whygpu.cli.drawing_targets import file_names

    return "pictures/" if len(scenes) > 1 else file_names(scenes, ".png")[0]
