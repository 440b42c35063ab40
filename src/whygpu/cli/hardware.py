"""``whygpu hardware``: the catalogue of chips."""

import rich_click as click

from whygpu.cli.options import json_option, language_option

__all__ = ["hardware"]


@click.command()
@click.argument("name", required=False)
@json_option
@language_option
def hardware(name: str | None, as_json: bool, language: str | None) -> None:
    """List the catalogue of chips, or one chip NAME with its sources.

    Example: [bold]whygpu hardware "RTX 4090"[/bold]
    """
    from whygpu import predict
    from whygpu.cli.screen import Screen
    from whygpu.cli.tables.catalogue import hardware_table, machine_table

    screen = Screen(language, as_json)
    machines = (
        [predict.hardware(name)] if name else [predict.hardware(known) for known in predict.hardware_names()]
    )
    if as_json:
        rows = [machine.as_dict() for machine in machines]
        screen.json(rows[0] if name else rows)
    elif name:
        screen.show(machine_table(screen.texts, machines[0]))
    else:
        screen.show(hardware_table(screen.texts, machines))
