"""The type of the exhibits: one family in two weights, with Chinese, so that a bare machine needs no font.

The files are a subset of Noto Sans CJK SC (SIL Open Font License 1.1, ``fonts/OFL.txt``), made by
``tools/exhibit_font.py``. Digits are all of one width. The bold file holds fewer characters; what it lacks is
taken from the regular one.
"""

import functools
from importlib import resources
from typing import Any

from whygpu.engine import UserError

__all__ = ["face", "missing", "runs", "shown", "width"]

WEIGHTS = ("regular", "bold")


@functools.lru_cache(128)
def face(weight: str, size: float) -> Any:
    """The Pillow font of that weight at ``size`` pixels an em."""
    from PIL import ImageFont

    return ImageFont.truetype(_file(weight), size, layout_engine=ImageFont.Layout.BASIC)


@functools.cache
def _file(weight: str) -> str:
    return str(resources.files("whygpu.story.exhibits").joinpath("fonts", f"whygpu-sans-{weight}.otf"))


@functools.cache
def _covered(weight: str, character: str) -> bool:
    """Whether the face has a glyph; what it lacks is drawn as its ``.notdef``, whose picture is compared."""
    if character == " ":
        return True
    font = face(weight, 40)
    return bytes(font.getmask(character)) != _tofu(weight)


@functools.cache
def _tofu(weight: str) -> bytes:
    return bytes(face(weight, 40).getmask("\U000f0000"))


def missing(text: str) -> str:
    """The characters of a text that the regular face cannot draw, in order."""
    return "".join(c for c in dict.fromkeys(text) if not _covered("regular", c))


def shown(text: str) -> str:
    """A text that others wrote: a question mark for each character that has no glyph, one line."""
    return "".join(" " if c.isspace() else "?" if missing(c) else c for c in text)


@functools.lru_cache(8192)
def runs(text: str, weight: str) -> tuple[tuple[str, str], ...]:
    """The text cut where the weight changes: (weight, part). Most texts are one run.

    Raises
    ------
    UserError
        For a character that no face has.
    """
    if weight == "regular" or all(_covered(weight, c) for c in text):
        lacking = missing(text)
        if lacking:
            raise UserError(f"the exhibits' font has no {lacking!r}; write it with other characters")
        return ((weight, text),)
    parts: list[tuple[str, str]] = []
    for character in text:
        own = weight if _covered(weight, character) else "regular"
        if parts and parts[-1][0] == own:
            parts[-1] = (own, parts[-1][1] + character)
        else:
            parts.append((own, character))
    return tuple(part for own, run in parts for part in ((own, run),) if runs(run, own))


@functools.lru_cache(8192)
def width(text: str, size: float, weight: str = "regular") -> float:
    """How wide a text is, in pixels."""
    return sum(float(face(own, size).getlength(part)) for own, part in runs(text, weight))
