"""The pages: one HTML file, its modules and styles, Plotly from its Python package, the texts."""

import functools
from importlib import resources
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from whygpu.lab.errors import Unknown
from whygpu.story import exhibits
from whygpu.story.text import LANGUAGES, load_catalogue

__all__ = ["index", "is_page", "plotly", "static", "words"]

TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
FRESH = {"cache-control": "no-cache"}
LASTING = {"cache-control": "private, max-age=86400"}


def is_page(path: str) -> bool:
    """Whether a path is served without the key: it says nothing of this machine."""
    return path == "/" or path.startswith(("/static/", "/words/")) or path in ("/plotly.js", "/favicon.ico")


async def index(request: Request) -> Response:
    """The one page."""
    return Response(_file("index.html"), media_type="text/html", headers=FRESH)


async def static(request: Request) -> Response:
    """A module, a style."""
    name = request.path_params["name"]
    return Response(_file(name), media_type=TYPES[PurePosixPath(name).suffix], headers=FRESH)


async def plotly(request: Request) -> Response:
    """plotly.js as the Python package brings it along."""
    return Response(_plotly(), media_type="text/javascript", headers=LASTING)


async def icon(request: Request) -> Response:
    """The sign in a browser's tab."""
    return Response(_file("icon.svg"), media_type="image/svg+xml", headers=LASTING)


async def words(request: Request) -> Response:
    """The lab's sentences in one language."""
    language = request.path_params["lang"]
    if language not in LANGUAGES:
        raise Unknown(f"language {language[:20]!r} is unknown; known: {', '.join(LANGUAGES)}")
    catalogue = load_catalogue(language)
    said = {key[4:]: text for key, text in catalogue.items() if key.startswith("lab.")}
    said |= {f"exhibits.name.{name}": catalogue[f"exhibit.{name}.title"] for name in exhibits.NAMES}
    said |= {key: text for key, text in catalogue.items() if key.startswith("claims.verdict.")}
    return JSONResponse(said, headers=FRESH)


@functools.cache
def _files() -> dict[str, bytes]:
    """Everything below ``static``, and the exhibits' own player: what is not listed is not served."""
    found = {
        place.name: place.read_bytes()
        for place in resources.files("whygpu.lab").joinpath("static").iterdir()
        if PurePosixPath(place.name).suffix in TYPES
    }
    from whygpu.story.exhibits.page import script, style

    return {**found, "exhibit.js": script().encode(), "exhibit.css": style().encode()}


def _file(name: str) -> bytes:
    try:
        return _files()[name]
    except KeyError:
        raise Unknown(f"there is no {name[:60]!r}") from None


@functools.cache
def _plotly() -> bytes:
    return resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
