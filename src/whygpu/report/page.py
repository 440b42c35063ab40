"""The page: chapters in the order in which the story is told, put into the templates."""

from collections.abc import Mapping
from typing import Any

from whygpu.report import embed
from whygpu.report.book import Book
from whygpu.report.chapters import CHAPTERS
from whygpu.report.foreign import printable
from whygpu.report.palette import DARK, LIGHT
from whygpu.report.pictures import data_uris
from whygpu.report.view import Chapter
from whygpu.story.exhibits import Numbers
from whygpu.story.results import Results
from whygpu.story.text import texts

__all__ = ["html"]

HTML_LANGUAGE = {"en": "en", "zh": "zh-Hans"}


def html(
    results: Results,
    *,
    language: str,
    images: Mapping[str, bytes],
    exhibits: Mapping[str, Numbers] | None = None,
) -> str:
    """The whole report as one HTML document that needs no network.

    ``images`` holds the pictures (PNG, JPEG, GIF or WebP) by the file names that ``results.drawings`` gives;
    ``exhibits`` what each exhibit shows, by name.

    Raises
    ------
    UserError
        For an unknown language or a picture that is none.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    t = texts(language)
    book = Book(results, t, data_uris(images), exhibits)
    chapters = [view for build in CHAPTERS if (view := build(book)) is not None]
    environment = Environment(
        loader=PackageLoader("whygpu.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    library, script, player = embed.library(), embed.script(), embed.player()
    return environment.get_template("page.html.jinja").render(
        t=t,
        say=book.say,
        results=results,
        language=HTML_LANGUAGE[language],
        chapters=chapters,
        tags=book.tags.values(),
        style=embed.style(),
        library=library,
        script=script,
        player=player,
        policy=embed.policy(library, script, player),
        figures=embed.json_text(_figures(chapters)),
        data=embed.json_text(results.model_dump(mode="json")),
    )


def _finalize(value: Any) -> Any:
    """What every expression of a template gives, before it is escaped."""
    return printable(value) if type(value) is str else value


def _figures(chapters: list[Chapter]) -> dict[str, Any]:
    """What the script draws: the figures by element id, and both palettes."""
    charts = [chart for chapter in chapters for chart in chapter.charts]
    return {
        "light": LIGHT,
        "dark": DARK,
        "charts": {
            chart.name: {
                "figure": chart.figure,
                "height": chart.height,
                "narrow": chart.narrow,
                "narrowHeight": chart.narrow_height or chart.height,
            }
            for chart in charts
        },
    }
