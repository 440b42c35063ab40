"""``whygpu lab``: the story to touch, in a browser, offline."""

import rich_click as click

from whygpu.cli.serve import served_options

__all__ = ["lab"]


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8787, show_default=True, help="0: any that is free."
)
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
@click.option(
    "--files", multiple=True, help="A folder whose scenes the page may open; may be given more than once."
)
@served_options
def lab(
    port: int,
    browser: bool,
    files: tuple[str, ...],
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
    """Turn the matrix, orbit a scene, talk to a model, and watch both as products on one roofline.

    Example: [bold]whygpu lab[/bold]

    One page, served from here; nothing comes from elsewhere. The same address is also a door in the
    OpenAI format, as [bold]whygpu serve[/bold].
    """
    import sys
    import webbrowser

    from whygpu import engine, models
    from whygpu.cli.screen import Screen
    from whygpu.lab.options import listen, load, memory_for_caches
    from whygpu.lab.rooms import lab_app
    from whygpu.lab.server import serve as run
    from whygpu.lab.state import Lab

    screen = Screen(language, as_json)
    address = listen(host, port)
    with address.listener:
        with screen.working("lab.starting"):
            loaded = load(model or models.DEFAULT, threads, device, screen.progress)
            rooms = Lab(
                loaded,
                engine.backend(device, threads=threads),
                roots=files,
                slots=slots,
                context=context,
                queue=queue,
                memory=memory_for_caches(),
            )
            screen.progress("progress.kernels")
            rooms.warm()
        link = f"{address.url}/#key={address.key}&lang={screen.texts.language}"
        facts = {"url": address.url, "link": link, "key": address.key, "model": loaded.architecture.name}
        if screen.as_json:
            screen.json(facts)
        else:
            screen.show(screen.texts("lab.ready", **facts))
            if loaded.invented:
                screen.show(screen.texts("lab.invented"))
        sys.stdout.flush()
        if browser:
            webbrowser.open(link)
        run(lab_app(rooms, address), rooms.thinker, address.listener)
