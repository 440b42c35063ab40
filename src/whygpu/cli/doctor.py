"""``whygpu doctor``: what of the stack is here, what is not, and what to install for more."""

import rich_click as click

from whygpu.cli.options import json_option, language_option

__all__ = ["doctor"]


@click.command()
@json_option
@language_option
def doctor(as_json: bool, language: str | None) -> None:
    """Show which accelerators, drivers, libraries and frameworks are here, and which --device names work.

    Example: [bold]whygpu doctor --json[/bold]
    """
    from whygpu.cli.screen import Screen
    from whygpu.cli.tables.stack import stack_tables
    from whygpu.measure.stack import stack
    from whygpu.story.text import texts

    screen = Screen(language, as_json)
    with screen.working("doctor.working"):
        found = stack(progress=screen.progress)
    if as_json:
        english = texts("en")
        install = {part.key: english(f"doctor.install.{part.key}") for part in found.parts if not part.here}
        screen.json({**found.as_dict(), "install": install})
    else:
        screen.show(*stack_tables(screen.texts, found))
