"""What makes the page one file: scripts, data and a policy that forbids every request."""

import base64
import functools
import hashlib
import json
import re
from importlib import resources
from typing import Any

from markupsafe import Markup

from whygpu.story.exhibits import page as exhibits

__all__ = ["json_text", "library", "player", "policy", "script", "style"]


def json_text(value: Any) -> Markup:
    """JSON that may stand in a ``<script type="application/json">``: nothing in it can end the element."""
    return Markup(json_escaped(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))))


def json_escaped(text: str) -> str:
    """The same JSON without characters that HTML reads."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@functools.cache
def library() -> Markup:
    """The copy of plotly.js that the Python package ships (MIT), fit for a script element."""
    from plotly.offline import get_plotlyjs

    return _script_text(get_plotlyjs())


def script() -> Markup:
    """The page's own script."""
    return _script_text(_template("page.js"))


def player() -> Markup:
    """The module that plays the exhibits."""
    return _script_text(exhibits.script())


def style() -> Markup:
    """The page's style sheets, in order, after that of the exhibits."""
    names = ("base.css", "parts.css", "story.css", "media.css")
    return Markup("\n".join([exhibits.style(), *(_template(name) for name in names)]))


def policy(*scripts: str) -> str:
    """A Content-Security-Policy: no request at all, and no script but these (by their SHA-256).

    Plotly writes style attributes and a style element, so inline styles are allowed; they cannot fetch.
    """
    hashes = " ".join(f"'sha256-{base64.b64encode(_digest(text)).decode('ascii')}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _script_text(text: str) -> Markup:
    # HTML ends a script at "</script" and changes how it reads on after "<!--"; both only occur in strings.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"</(?=script)", r"<\\/", text, flags=re.IGNORECASE).replace("<!--", r"\x3c!--")
    return Markup(f"\n{text.strip()}\n")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _template(name: str) -> str:
    return resources.files("whygpu.report").joinpath("templates", name).read_text(encoding="utf-8")
