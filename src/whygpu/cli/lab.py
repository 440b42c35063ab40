"""``whygpu lab``: the story to touch, in a browser, offline."""

from typing import Any

import rich_click as click

from whygpu.cli.serving import Served, begun, served

__all__ = ["lab"]


@click.command()
@served(8787)
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
def lab(options: Served, browser: bool) -> None:
    """Turn the matrix, orbit a scene, talk to a model, and watch both as products on one roofline.

    Example: [bold]whygpu lab[/bold]

    One page, served from here; nothing comes from elsewhere. The same address is also a door in the
    OpenAI format, as [bold]whygpu serve[/bold].
    """
    import sys
    import webbrowser

    from whygpu.lab.rooms import lab_app
    from whygpu.lab.server import serve as run
    from whygpu.lab.state import Lab

    def employ(model: Any, place: str) -> Lab:
        return Lab(model, model.backend, place=place, roots=options.files, **options.how)

    with begun(options, employ) as (screen, address, rooms):
        link = f"{address.url}/#key={address.key}&lang={screen.texts.language}"
        model = rooms.model
        facts = {"url": address.url, "link": link, "key": address.key, "model": model.architecture.name}
        if screen.as_json:
            screen.json(facts)
        else:
            screen.show(screen.texts("lab.ready", **facts))
            if model.invented:
                screen.show(screen.texts("lab.invented"))
        del model  # the host alone holds it
        sys.stdout.flush()
        if browser:
            webbrowser.open(link)
        run(lab_app(rooms, address), rooms.host.drain, address.listener)
