"""``whygpu serve``: a model for other programs, in the OpenAI format."""

from typing import Any

import rich_click as click

from whygpu.cli.serving import Served, begun, served

__all__ = ["serve"]


@click.command()
@served(8788)
def serve(options: Served) -> None:
    """Answer programs that speak the OpenAI format, several at once.

    Example: [bold]whygpu serve --port 8788[/bold], then OPENAI_BASE_URL and OPENAI_API_KEY as printed.

    Decoding multiplies by a matrix of all answers in progress: the weights are read once for all of them.
    A request that names another model of this disk loads it, when the answers in progress have ended.
    """
    from whygpu.lab.app import door_app
    from whygpu.lab.options import hosted
    from whygpu.lab.roots import Roots
    from whygpu.lab.server import serve as run

    def employ(model: Any, place: str) -> Any:
        return hosted(model, place, Roots(options.files), **options.how)

    with begun(options, employ) as (screen, address, host):
        _say(screen, address, host.thinker)
        run(door_app(host, key=address.key, hosts=address.hosts), host.drain, address.listener)


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
