"""What ``lab`` and ``serve`` have in common: their options as one value, and how they begin."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import rich_click as click

from whygpu.cli.options import device_option, json_option, language_option, threads_option

if TYPE_CHECKING:
    from whygpu.cli.screen import Screen
    from whygpu.lab.options import Address
    from whygpu.think import Model

__all__ = ["Served", "begun", "served"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class Served:
    """The options, as they were given."""

    port: int
    model: str | None
    files: tuple[str, ...]
    host: str
    slots: int
    context: int | None
    queue: int
    device: str
    threads: int | None
    as_json: bool
    language: str | None

    @property
    def how(self) -> dict[str, Any]:
        """What the thinkers are told."""
        return {"slots": self.slots, "context": self.context, "queue": self.queue}


def served(port: int) -> Decorator:
    """The options, put together: the command gets them as ``options``. ``port``: unless another is given."""
    options: tuple[Decorator, ...] = (
        click.option(
            "--port", type=click.IntRange(0, 65535), default=port, show_default=True, help="0: any free one."
        ),
        click.option(
            "--model", "-m", help="Catalogue name, GGUF file, folder or Hugging Face id (smollm2-135m)."
        ),
        click.option(
            "--files", multiple=True, help="A folder whose models and scenes may be opened; repeatable."
        ),
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="Others need WHYGPU_KEY to be set."
        ),
        click.option(
            "--slots", type=click.IntRange(1, 64), default=16, show_default=True, help="Answers side by side."
        ),
        click.option("--context", type=click.IntRange(16), help="Tokens of one, prompt and answer (4096)."),
        click.option(
            "--queue", type=click.IntRange(1, 4096), default=64, show_default=True, help="How many may wait."
        ),
        device_option,
        threads_option,
        json_option,
        language_option,
    )

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def called(**given: Any) -> Any:
            own = {field.name: given.pop(field.name) for field in fields(Served)}
            return command(Served(**own), **given)

        function: Callable[..., Any] = called
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


@contextmanager
def begun(options: Served, employ: "Callable[[Model, str], Any]") -> "Iterator[tuple[Screen, Address, Any]]":
    """Listen, load the model, and let ``employ`` make of it what answers; compiled and warm.

    ``employ(model, place)`` gives something with ``warm``.
    """
    from whygpu import models
    from whygpu.cli.screen import Screen
    from whygpu.lab.options import listen, load

    screen = Screen(options.language, options.as_json)
    address = listen(options.host, options.port)
    place = options.model or models.DEFAULT
    with address.listener:
        with screen.working("lab.starting"):
            model = load(place, options.threads, options.device, screen.progress)
            made = employ(model, place)
            screen.progress("progress.kernels")
            made.warm()
        del model  # what was made of it holds it, until another takes its place
        yield screen, address, made
