"""The options that several commands share."""

from collections.abc import Callable
from typing import Any

import rich_click as click

__all__ = ["device_option", "json_option", "language_option", "size_option", "threads_option"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

language_option: Decorator = click.option(
    "--lang",
    "language",
    type=click.Choice(["en", "zh"]),
    help="Language of tables and report (default: the locale's).",
)
json_option: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON alone on stdout; progress goes to stderr."
)


def _threads(context: click.Context, parameter: click.Parameter, value: int | None) -> int | None:
    """More threads than may run would wait for each other at every step."""
    from whygpu.engine.threads import available_threads

    if value is not None and value > available_threads():
        raise click.BadParameter(f"{value} threads cannot run at once here; give 1 to {available_threads()}")
    return value


threads_option: Decorator = click.option(
    "--threads",
    type=click.IntRange(1, 1024),
    callback=_threads,
    help="CPU threads to use (default: all that this process may use).",
)
device_option: Decorator = click.option(
    "--device",
    default="cpu",
    show_default=True,
    help="cpu, torch:<device>, jax, cupy, numpy, python, or auto (the best that is here).",
)


class Size(click.ParamType[tuple[int, int]]):
    """``WIDTHxHEIGHT`` in pixels."""

    name = "WxH"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Parse and bound a picture size."""
        if isinstance(value, tuple):
            return value
        try:
            width, height = (int(part) for part in str(value).lower().split("x"))
        except ValueError:
            self.fail(f"{value!r} is not a size; write WIDTHxHEIGHT, 1280x720 say", param, ctx)
        if not (1 <= width <= 16384 and 1 <= height <= 16384):
            self.fail(f"{value!r}: each side must be 1 to 16384 pixels", param, ctx)
        return width, height


size_option: Decorator = click.option(
    "--size", type=Size(), default="1280x720", show_default=True, help="Picture size in pixels."
)
