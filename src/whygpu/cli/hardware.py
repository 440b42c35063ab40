"""``whygpu hardware``: the catalogue of chips."""

import rich_click as click

from whygpu.cli.options import json_option, language_option

__all__ = ["hardware"]


@click.command()
@click.argument("name", required=False)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="The long tail too, and the measured devices that are not resolved.",
)
@json_option
@language_option
def hardware(name: str | None, everything: bool, as_json: bool, language: str | None) -> None:
    """List the catalogue of chips, or one chip NAME with its sources.

    Example: [bold]whygpu hardware "RTX 4090"[/bold]
    """
    from whygpu import predict
    from whygpu.cli.screen import Screen
    from whygpu.cli.tables.catalogue import hardware_table, machine_table, unresolved_table

    screen = Screen(language, as_json)
    if name:
        machine = predict.hardware(name)
        screen.json(machine.as_dict()) if as_json else screen.show(machine_table(screen.texts, machine))
        return
    known = predict.machines()
    shown = list(known.values()) if everything else list(predict.catalogue().values())
    if as_json:
        screen.json([machine.as_dict() for machine in shown])
        return
    screen.show(hardware_table(screen.texts, shown), screen.texts("hardware.more", count=len(known)))
    if everything:
        from whygpu.predict.measurements import unresolved_devices

        screen.show(unresolved_table(screen.texts, unresolved_devices()))
