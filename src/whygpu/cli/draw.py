"""``whygpu draw``: one scene, one picture."""

import sys
from pathlib import Path
from typing import Any

import rich_click as click

from whygpu.cli.options import device_option, json_option, language_option, size_option, threads_option

__all__ = ["draw"]


@click.command()
@click.argument("scene")
@click.option("-o", "--output", required=True, help="A .png file, or - for PNG on stdout.")
@size_option
@click.option(
    "--path",
    type=click.Choice(["auto", "fast", "portable"]),
    default="auto",
    show_default=True,
    help="fast: Numba kernels; portable: Array API code, the one to read.",
)
@device_option
@threads_option
@click.option("--ledger", "with_ledger", is_flag=True, help="Show what was multiplied.")
@json_option
@language_option
def draw(
    scene: str,
    output: str,
    size: tuple[int, int],
    path: str,
    device: str,
    threads: int | None,
    with_ledger: bool,
    as_json: bool,
    language: str | None,
) -> None:
    """Draw a built-in SCENE: cube, sphere[:level], torus-knot, character or frame.

    Example: [bold]whygpu draw torus-knot -o knot.png --size 800x600 --ledger[/bold]
    """
    from whygpu import draw as drawing
    from whygpu import engine
    from whygpu.cli.screen import Screen
    from whygpu.engine.errors import UserError

    to_stdout = output == "-"
    target = Path(output)
    if not to_stdout and target.suffix.lower() != ".png":
        raise UserError(f"{output}: pictures are written as .png; rename the output")
    screen = Screen(language, as_json, results_on_stderr=to_stdout)
    backend = engine.backend(device, threads=threads)
    with engine.using(backend), engine.ledger() as ledger, screen.working("step.draw"):
        frame = drawing.render(drawing.load(scene), size=size, path=path, progress=screen.progress)
    if to_stdout:
        frame.write_png(sys.stdout.buffer)
    else:
        frame.save(target)
    if as_json:
        screen.json(_summary(scene, output, size, frame, ledger if with_ledger else None))
        return
    from whygpu.cli.tables import drawing_line, ledger_rows_table

    screen.show(drawing_line(screen.texts, scene, frame.statistics, None if to_stdout else output))
    if with_ledger:
        screen.show(ledger_rows_table(screen.texts, ledger.rows()))


def _summary(scene: str, output: str, size: tuple[int, int], frame: Any, ledger: Any) -> dict[str, Any]:
    statistics = frame.statistics
    summary: dict[str, Any] = {
        "scene": scene,
        "output": output,
        "size": list(size),
        "triangles": statistics.triangles,
        "vertices": statistics.vertices,
        "pixels_lit": statistics.pixels_lit,
        "seconds": dict(statistics.seconds),
    }
    if ledger is not None:
        summary["ledger"] = [row.as_dict() for row in ledger.rows()]
    return summary
