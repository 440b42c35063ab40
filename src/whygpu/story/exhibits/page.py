"""An exhibit as HTML: a fragment that another page embeds, or a page of its own that needs no network.

A page that embeds fragments adds ``style()`` and ``script()`` once, and allows the script in its policy. The
fragment's ids and colour classes begin with ``x-NAME``; everything else is scoped to ``.x-exhibit``.
"""

import base64
import functools
import hashlib
import json
import math
from html import escape
from importlib import resources
from typing import Any

from whygpu.story.exhibits.base import Exhibit, Frame, Number, Numbers
from whygpu.story.exhibits.canvas import HEIGHT, WIDTH
from whygpu.story.exhibits.palette import DARK, LIGHT
from whygpu.story.exhibits.svg import Elements
from whygpu.story.text import Texts, texts

__all__ = ["fragment", "page", "script", "style"]

HTML_LANGUAGE = {"en": "en", "zh": "zh-Hans"}
PLAY = '<svg class="x-off" viewBox="0 0 16 16" aria-hidden="true"><path d="M4 2l10 6-10 6z"/></svg>'
PAUSE = '<svg class="x-on" viewBox="0 0 16 16" aria-hidden="true"><path d="M3 2h4v12H3zm6 0h4v12H9z"/></svg>'


def fragment(exhibit: Exhibit, found: Numbers, language: str, *, thin: int = 1, data_too: bool = True) -> str:
    """A ``<figure>`` with the picture, its player, the numbers as text, and all data as JSON.

    Without a script it shows the poster and the numbers. Of the frames every ``thin``-th is kept, shown as
    much longer: a page that embeds all exhibits stays small. ``data_too``: False where
    that page carries the data already.
    """
    t = texts(language)
    name = exhibit.name
    elements = Elements(f"x-{name}")
    frames = [
        Frame(frame.shapes, frame.milliseconds * thin) for frame in list(exhibit.frames(found, t))[::thin]
    ]
    shown = [elements.frame(frame.shapes) for frame in frames]
    poster = _poster(exhibit, [frame.milliseconds for frame in frames])
    data = {
        "elements": elements.texts,
        "frames": shown,
        "times": [frame.milliseconds for frame in frames],
        "poster": poster,
        "turn": [232.0, 294.0, math.atan2(1.0, 2.0)] if exhibit.drag == "turn" else None,
        "live": _live(found) if exhibit.live else None,
    }
    drag = f' data-drag="{exhibit.drag}"' if exhibit.drag else ""
    runs = zip(shown[poster][::2], shown[poster][1::2], strict=True)
    picture = "".join(text for first, count in runs for text in elements.texts[first : first + count])
    alt = escape(t(f"exhibit.{name}.alt"))
    return (
        f'<figure class="x-exhibit" id="x-{name}" lang="{HTML_LANGUAGE[language]}"{drag}>'
        f"<style>{elements.style()}</style>"
        f'<div class="x-scroll"><svg class="x-stage" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label="{alt}">'
        f'<defs>{elements.definitions()}</defs><g class="x-layer">{picture}</g></svg></div>'
        f'<p class="x-hint x-narrow">{escape(t("exhibit.scroll"))}</p>'
        f"{_controls(t)}{_sliders(t) if exhibit.live else ''}{_hint(exhibit, t)}{_figures(exhibit, found, t)}"
        f'<script type="application/json" class="x-data">{_json(data)}</script>'
        f"{_numbers(found) if data_too else ''}</figure>"
    )


def page(exhibit: Exhibit, found: Numbers, language: str) -> str:
    """One file: the fragment, its style and script, and a policy that forbids every request."""
    t = texts(language)
    code = script()
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = escape(t(f"exhibit.{exhibit.name}.title"))
    return (
        f'<!doctype html><html lang="{HTML_LANGUAGE[language]}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title} · whygpu</title><style>{_web('page.css')}{style()}</style></head>"
        f"<body><main><h1>{title}</h1>{fragment(exhibit, found, language)}</main>"
        f'<script type="module">{code}</script></body></html>\n'
    )


@functools.cache
def style() -> str:
    """The style sheet that all fragments of a page share."""
    sheet = _web("exhibit.css")
    for mark, colors in (("LIGHT", LIGHT), ("DARK", DARK)):
        sheet = sheet.replace(
            f"/*{mark}*/", " ".join(f"--x-{role}: {value};" for role, value in colors.items())
        )
    return sheet


@functools.cache
def script() -> str:
    """The module that plays all exhibits of a page; it stands at the end of the body."""
    return _web("exhibit.js")


def _web(name: str) -> str:
    return resources.files("whygpu.story.exhibits").joinpath("web", name).read_text(encoding="utf-8")


def _poster(exhibit: Exhibit, times: list[int]) -> int:
    """The place of the frame that is shown at the poster's moment."""
    at, passed = exhibit.poster * sum(times), 0
    for place, time in enumerate(times):
        passed += time
        if passed > at:
            return place
    return 0


def _live(found: Numbers) -> dict[str, Any]:
    return {key: found.data[key] for key in ("up", "down", "inputs")}


def _controls(t: Texts) -> str:
    play, position = escape(t("exhibit.play")), escape(t("exhibit.position"))
    return (
        f'<div class="x-bar"><button type="button" class="x-play" aria-label="{play}">{PLAY}{PAUSE}</button>'
        f'<input class="x-position" type="range" min="0" value="0" aria-label="{position}"></div>'
    )


def _sliders(t: Texts) -> str:
    rows = "".join(
        f"<label>{escape(t('exhibit.input', number=i + 1))}"
        '<input type="range" min="-1" max="1" step="0.01" value="0"><output>0.00</output></label>'
        for i in range(4)
    )
    return f'<div class="x-sliders">{rows}</div>'


def _hint(exhibit: Exhibit, t: Texts) -> str:
    key = f"exhibit.drag.{exhibit.drag}" if exhibit.drag else "exhibit.live.mlp" if exhibit.live else ""
    return f'<p class="x-hint">{escape(t(key))}</p>' if key else ""


def _figures(exhibit: Exhibit, found: Numbers, t: Texts) -> str:
    rows = []
    for key, figure in found.figures.items():
        basis = t(f"exhibit.basis.{figure.basis.name.lower()}")
        tip = escape(t("exhibit.tip", basis=basis, source=figure.source))
        rows.append(
            f"<div><dt>{escape(t(f'exhibit.{exhibit.name}.figure.{key}'))}</dt>"
            f'<dd tabindex="0" data-tip="{tip}">{escape(_written(figure, t))}'
            f"<small>{escape(basis)}</small></dd></div>"
        )
    return f'<dl class="x-figures" aria-label="{escape(t("exhibit.figures"))}">{"".join(rows)}</dl>'


def _written(figure: Number, t: Texts) -> str:
    """The figure with its unit in the reader's language."""
    key = f"exhibit.unit.{figure.unit}"
    return str(figure).replace(figure.unit, t(key)) if figure.unit and t.has(key) else str(figure)


def _numbers(found: Numbers) -> str:
    return f'<script type="application/json" class="x-numbers">{_json(found.as_dict())}</script>'


def _json(value: Any) -> str:
    """JSON in which nothing can end the element that it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
