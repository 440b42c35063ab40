"""``whygpu serve``: a model for other programs, in the OpenAI format."""

from collections.abc import Callable
from typing import Any

import rich_click as click

from whygpu.cli.options import device_option, json_option, language_option, threads_option

__all__ = ["serve", "served_options"]


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
SERVED: tuple[Decorator, ...] = (
    click.option(
        "--model", "-m", help="Catalogue name, GGUF file, folder or Hugging Face id (smollm2-135m)."
    ),
    click.option("--host", default="127.0.0.1", show_default=True, help="Others need WHYGPU_KEY to be set."),
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


def served_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that ``serve`` and ``lab`` share."""
    for option in reversed(SERVED):
        function = option(function)
    return function


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8788, show_default=True, help="0: any that is free."
)
@served_options
def serve(
    port: int,
    model: str | None,
    host: str,
    slots: int,
    context: int | None,
    queue: int,
    device: str,
    threads: int | None,
    as_json: bool,
    language: str | None,
) -> None:
    """Answer programs that speak the OpenAI format, several at once.

    Example: [bold]whygpu serve --port 8788[/bold], then OPENAI_BASE_URL and OPENAI_API_KEY as printed.

    Decoding multiplies by a matrix of all answers in progress: the weights are read once for all of them.
    """
    from whygpu import models
    from whygpu.cli.screen import Screen
    from whygpu.lab.app import door_app
    from whygpu.lab.options import listen, load, memory_for_caches
    from whygpu.lab.server import serve as run
    from whygpu.lab.thinker import Thinker

    screen = Screen(language, as_json)
    address = listen(host, port)
    with address.listener:
        with screen.working("lab.starting"):
            loaded = load(model or models.DEFAULT, threads, device, screen.progress)
            thinker = Thinker(loaded, slots=slots, context=context, queue=queue, memory=memory_for_caches())
            screen.progress("progress.kernels")
            thinker.warm()
        _say(screen, address, thinker)
        run(door_app(thinker, key=address.key, hosts=address.hosts), thinker, address.listener)


def _say(screen: Any, address: Any, thinker: Any) -> None:
    import sys

    facts = {
        "base_url": f"{address.url}/v1",
        "api_key": address.key,
        "model": thinker.model.architecture.name,
        "slots": thinker.slots,
        "context": thinker.context,
        "cache_bytes": thinker.cache_bytes,
    }
    if screen.as_json:
        screen.json(facts)
    else:
        screen.show(screen.texts("serve.ready", **{**facts, "cache": f"{thinker.cache_bytes / 1e6:,.0f}"}))
        if thinker.model.invented:
            screen.show(screen.texts("lab.invented"))
    sys.stdout.flush()
