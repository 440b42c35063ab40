"""One sheet of an exhibit: a list of shapes and texts that a picture and a page draw alike.

960 x 540 units, y down, origin at the top left; a unit is a pixel of the default size. All exhibits share the
margin, the title, the line under it and the foot, so that they look like pages of one book.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from whygpu.story.exhibits.fonts import shown
from whygpu.story.exhibits.fonts import width as text_width
from whygpu.story.exhibits.palette import mix
from whygpu.story.text import Texts

__all__ = ["HEIGHT", "MARGIN", "WIDTH", "Picture", "Shape", "Sheet", "number"]

LONGEST = 40
"""Characters of a name that others gave."""

WIDTH, HEIGHT, MARGIN = 960, 540, 36

Point = tuple[float, float]


class Picture:
    """A bitmap that may be shown on several sheets; compared by identity."""

    def __init__(self, rgba: Any) -> None:
        self.rgba = rgba
        """(height, width, 4) uint8, sRGB with straight alpha."""


class Shape(NamedTuple):
    """One thing on the sheet; equal shapes are drawn alike, so a still background is drawn once."""

    kind: str
    """``path``, ``rect``, ``circle``, ``text`` or ``image``."""
    at: tuple[float, ...]
    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    text: str = ""
    weight: str = "regular"
    anchor: str = "l"
    closed: bool = False
    dash: float = 0.0
    picture: Picture | None = None
    tip: str = ""
    name: str = ""
    """What a script may look for."""


def number(value: float, places: int = 3) -> str:
    """A coordinate with a true minus; minus zero is zero."""
    text = f"{value:,.{places}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", "−")


class Sheet:
    """What one frame shows. Colours are roles of the palette or mixtures (see ``palette``)."""

    def __init__(self, texts: Texts, name: str) -> None:
        self.t, self.name = texts, name
        self.shapes: list[Shape] = []
        self._fade = 1.0

    def say(self, key: str, /, **values: object) -> str:
        """A sentence of this exhibit: ``exhibit.NAME.KEY``; names of models and machines are made to fit."""
        fit = {k: shown(v)[:LONGEST] if isinstance(v, str) else v for k, v in values.items()}
        return self.t(f"exhibit.{self.name}.{key}", **fit)

    def head(self, **values: object) -> None:
        """Title, the line under it, and the foot that says where the numbers come from."""
        self.rect(MARGIN, 26, 4, 24, fill="draw")
        self.rect(MARGIN + 5, 26, 4, 24, fill="think")
        self.text(MARGIN + 20, 46, self.say("title"), 23, weight="bold")
        self.text(MARGIN + 20, 69, self.say("lead", **values), 14, "soft")
        self.line([(MARGIN, 508), (WIDTH - MARGIN, 508)], "line", 1)
        self.text(MARGIN, 526, self.say("basis", **values), 11.5, "soft")
        self.text(WIDTH - MARGIN, 526, f"whygpu exhibit {self.name}", 11.5, "soft", anchor="r")

    def fade(self, share: float) -> None:
        """Everything that follows is mixed with the paper: 1 is full colour, 0 invisible."""
        self._fade = min(1.0, max(0.0, share))

    def line(self, points: Iterable[Point], color: str = "ink", width: float = 1.5, dash: float = 0) -> None:
        """An open line through points."""
        self._add(Shape("path", _flat(points), stroke=self._c(color), width=width, dash=dash))

    def polygon(self, points: Iterable[Point], fill: str = "", stroke: str = "", width: float = 1.5) -> None:
        """A closed shape."""
        self._add(Shape("path", _flat(points), self._c(fill), self._c(stroke), width, closed=True))

    def rect(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        fill: str = "",
        stroke: str = "",
        width: float = 1.0,
        radius: float = 0.0,
        tip: str = "",
        name: str = "",
    ) -> None:
        """A rectangle, its corners rounded by ``radius``."""
        at = tuple(round(v, 2) for v in (x, y, w, h, radius))
        self._add(Shape("rect", at, self._c(fill), self._c(stroke), width, tip=tip, name=name))

    def circle(
        self,
        x: float,
        y: float,
        r: float,
        fill: str = "",
        stroke: str = "",
        width: float = 1.5,
        tip: str = "",
        name: str = "",
    ) -> None:
        """A disc or a ring."""
        at = tuple(round(v, 2) for v in (x, y, r))
        self._add(Shape("circle", at, self._c(fill), self._c(stroke), width, tip=tip, name=name))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 14,
        color: str = "ink",
        *,
        weight: str = "regular",
        anchor: str = "l",
        tip: str = "",
        name: str = "",
    ) -> None:
        """A line of text; ``y`` is its base line, ``anchor`` l, m or r."""
        if text and self._fade > 0:
            plain = text.replace("\u00a0", " ")  # it only says where no line may end
            shape = Shape("text", (round(x, 2), round(y, 2), size), self._c(color), text=plain)
            self._add(shape._replace(weight=weight, anchor=anchor, tip=tip, name=name))

    def paragraph(
        self, x: float, y: float, text: str, wide: float, size: float = 14, color: str = "soft"
    ) -> float:
        """Text broken to lines of at most ``wide`` units; returns the base line after the last."""
        for line in _lines(text, wide, size):
            self.text(x, y, line, size, color)
            y += size * 1.45
        return y

    def image(self, x: float, y: float, w: float, h: float, picture: Picture, left: float = 0.0,
              right: float = 1.0) -> None:  # fmt: skip
        """A bitmap in the box, of which the columns between two fractions are shown."""
        at = tuple(round(v, 3) for v in (x, y, w, h, left, right))
        self._add(Shape("image", at, picture=picture))

    def arrow(self, a: Point, b: Point, color: str = "ink", width: float = 2.0, head: float = 9.0) -> None:
        """A straight arrow from a to b."""
        (ax, ay), (bx, by) = a, b
        length = max(1e-9, ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5)
        ux, uy = (bx - ax) / length, (by - ay) / length
        head = min(head, length)
        foot = (bx - ux * head * 0.8, by - uy * head * 0.8)
        self.line([a, foot], color, width)
        px, py, half = bx - ux * head, by - uy * head, head * 0.45
        wings = [(px - uy * half, py + ux * half), (px + uy * half, py - ux * half)]
        self.polygon([b, *wings], fill=color)

    def matrix(
        self,
        x: float,
        y: float,
        rows: Sequence[Sequence[float | str]],
        *,
        size: float = 16,
        cell: float = 64,
        places: int = 2,
        color: str = "ink",
        colors: Sequence[Sequence[str]] | None = None,
        row: float = 0.0,
    ) -> float:
        """Numbers in square brackets, aligned to the right; ``y`` is the top. Returns the right edge."""
        row = row or size * 1.5
        tall, wide = row * len(rows) + 6, cell * len(rows[0]) + 12
        for side, turn in ((x, 6), (x + wide, -6)):
            self.line([(side + turn, y), (side, y), (side, y + tall), (side + turn, y + tall)], "soft", 1.5)
        for i, values in enumerate(rows):
            for j, value in enumerate(values):
                shown = value if isinstance(value, str) else number(value, places)
                ink = colors[i][j] if colors else color
                base = y + 3 + row * (i + 0.5) + size * 0.36
                self.text(x + cell * (j + 1) + 1, base, shown, size, ink, anchor="r")
        return x + wide

    def measure(self, text: str, size: float, weight: str = "regular") -> float:
        """How wide a text would be."""
        return text_width(text, size, weight)

    def _c(self, color: str) -> str:
        return color if not color or self._fade >= 1 else mix_deep(color, self._fade)

    def _add(self, shape: Shape) -> None:
        if self._fade > 0:
            self.shapes.append(shape)


def mix_deep(color: str, share: float) -> str:
    """A colour, itself perhaps a mixture, with the paper."""
    if "*" not in color:
        return mix(color, "paper", share)
    first, percent, rest = color.split("*", 2)
    if rest == "paper":
        return mix(first, "paper", int(percent) / 100 * share)
    return f"paper*{100 - round(100 * share)}*{color}"


def _flat(points: Iterable[Point]) -> tuple[float, ...]:
    return tuple(round(v, 2) for point in points for v in point)


def _lines(text: str, wide: float, size: float) -> list[str]:
    """Broken at spaces, or between Chinese characters (never before punctuation)."""
    pieces: list[str] = []
    for word in text.replace("\n", " ").split(" "):
        part = ""
        for character in word + " ":
            chinese = "\u2e80" <= character <= "\uffef"
            if chinese and part and character not in "，。、；：？！）”":
                pieces.append(part)
                part = ""
            part += character
        pieces.append(part)
    lines, line = [], ""
    for piece in pieces:
        if line and text_width((line + piece).rstrip().replace("\u00a0", " "), size) > wide:
            lines.append(line.rstrip(" "))
            line = ""
        line += piece
    return [*lines, line.rstrip()] if line.strip() else lines
