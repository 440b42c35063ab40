"""``whygpu roofline``: what this machine can do; of another device, or between several ranks, too."""

from typing import Any

import rich_click as click

from whygpu.cli.options import device_option, json_option, language_option, threads_option
from whygpu.engine import ranks

__all__ = ["roofline"]

KEPT = ("cpu", "numpy")
"""Devices that the machine's own roofline is measured on."""


@click.command()
@click.option("--force", is_flag=True, help="Measure again, whatever is cached.")
@click.option("--quick", is_flag=True, help="Fewer repetitions.")
@device_option
@threads_option
@json_option
@language_option
def roofline(
    force: bool, quick: bool, device: str, threads: int | None, as_json: bool, language: str | None
) -> None:
    """Measure this machine: arithmetic, memory bandwidth, launch cost.

    The result is cached for this machine; --force measures again. With --device torch:cuda (or another) that
    device is measured instead, in every number format that it has. Among several ranks: their links.

    Examples: [bold]whygpu roofline --force --json[/bold],
    [bold]torchrun --nproc-per-node 2 -m whygpu roofline[/bold]
    """
    from whygpu.cli.ranks import open_backend
    from whygpu.cli.screen import Screen

    screen = Screen(language, as_json)
    backend = open_backend(device, threads, screen)
    if ranks.launched():
        _links(screen, backend, quick)
    elif backend.name in KEPT:
        _machine(screen, force, quick, threads)
    else:
        _device(screen, backend, quick)


def _machine(screen: Any, force: bool, quick: bool, threads: int | None) -> None:
    from whygpu import measure
    from whygpu.cli.tables import machine_tables

    with screen.working("step.machine"):
        result = measure.roofline(force=force, quick=quick, threads=threads, progress=screen.progress)
    if screen.as_json:
        screen.json(result.as_dict())
    else:
        screen.show(*machine_tables(screen.texts, result))


def _device(screen: Any, backend: Any, quick: bool) -> None:
    from whygpu.cli.tables.device import device_tables
    from whygpu.measure.device import device_roofline

    with screen.working("step.machine"):
        result = device_roofline(backend, quick=quick, progress=screen.progress)
    if screen.as_json:
        screen.json(result.as_dict())
    else:
        screen.show(*device_tables(screen.texts, result))


def _links(screen: Any, backend: Any, quick: bool) -> None:
    from whygpu.cli.ranks import among_ranks
    from whygpu.cli.tables.device import links_tables
    from whygpu.measure.links import measure_links

    with among_ranks(backend) as here:
        with screen.working("step.machine"):
            result = measure_links(quick=quick, progress=screen.progress)
        if here.rank == 0:
            if screen.as_json:
                screen.json(result.as_dict())
            else:
                screen.show(*links_tables(screen.texts, result))
