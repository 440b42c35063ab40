"""A sheet as SVG elements: equal shapes give equal text, colours become classes."""

import base64
import io
from html import escape

import numpy as np

from whygpu.story.exhibits.canvas import Picture, Shape
from whygpu.story.exhibits.fonts import width
from whygpu.story.exhibits.palette import css

__all__ = ["Elements"]

SMALL = 100
"""Pixels of width below which a bitmap is a grid of values."""


class Elements:
    """The different elements of one exhibit's frames, each written once."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        """Begins every id, so that exhibits can share a page."""
        self.texts: list[str] = []
        self._places: dict[Shape, int] = {}
        self._classes: dict[str, str] = {}
        self._pictures: dict[int, tuple[str, Picture]] = {}

    def frame(self, shapes: list[Shape]) -> list[int]:
        """The places of the frame's elements in ``texts``, as runs: first, how many, first, how many ..."""
        runs: list[int] = []
        for shape in shapes:
            place = self._place(shape)
            if runs and place == runs[-2] + runs[-1]:
                runs[-1] += 1
            else:
                runs += [place, 1]
        return runs

    def style(self) -> str:
        """The rules of the classes, scoped to this exhibit."""
        return "".join(f"#{self.scope} .{name}{{{rule}}}" for rule, name in self._classes.items())

    def definitions(self) -> str:
        """The bitmaps, each once."""
        return "".join(
            f'<image id="{name}" width="1" height="1" preserveAspectRatio="none" href="{_uri(picture)}"/>'
            for name, picture in self._pictures.values()
        )

    def _place(self, shape: Shape) -> int:
        place = self._places.get(shape)
        if place is None:
            place = self._places[shape] = len(self.texts)
            self.texts.append(self._element(shape))
        return place

    def _class(self, rule: str) -> str:
        return self._classes.setdefault(rule, f"c{len(self._classes)}")

    def _element(self, s: Shape) -> str:
        if s.kind == "image":
            return self._image(s)
        names = [self._class(f"fill:{css(s.fill) if s.fill else 'none'}")]
        if s.stroke:
            names.append(self._class(f"stroke:{css(s.stroke)};stroke-width:{s.width:g}"))
        more = f' class="{" ".join(names)}"'
        if s.dash:
            more += f' stroke-dasharray="{s.dash:g}"'
        if s.name:
            more += f' data-name="{escape(s.name)}"'
        if s.tip:
            more += f' data-tip="{escape(s.tip)}" tabindex="0" role="img" aria-label="{escape(s.tip)}"'
        if s.kind == "circle":
            x, y, r = s.at
            return f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}"{more}/>'
        if s.kind == "rect":
            x, y, w, h, radius = s.at
            more += f' rx="{radius:g}"' if radius else ""
            return f'<rect x="{x:g}" y="{y:g}" width="{max(w, 0):g}" height="{max(h, 0):g}"{more}/>'
        if s.kind == "path":
            points = " ".join(f"{v:g}" for v in s.at)
            return f'<{"polygon" if s.closed else "polyline"} points="{points}"{more}/>'
        return self._text(s, names)

    def _text(self, s: Shape, names: list[str]) -> str:
        x, y, size = s.at
        anchor = {"l": "", "m": "text-anchor:middle;", "r": "text-anchor:end;"}[s.anchor]
        bold = "font-weight:700;" if s.weight == "bold" else ""
        names = [*names, self._class(f"{anchor}{bold}font-size:{size:g}px")]
        more = f' data-name="{escape(s.name)}"' if s.name else ""
        if s.tip:
            more += f' data-tip="{escape(s.tip)}" tabindex="0"'
        wide = width(s.text, size, s.weight)
        if len(s.text) > 1 and not s.name:  # other fonts keep to the space that ours takes
            more += f' textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs"'
        return f'<text x="{x:g}" y="{y:g}" class="{" ".join(names)}"{more}>{escape(s.text)}</text>'

    def _image(self, s: Shape) -> str:
        assert s.picture is not None
        x, y, w, h, left, right = s.at
        name, _ = self._pictures.setdefault(
            id(s.picture), (f"{self.scope}-p{len(self._pictures)}", s.picture)
        )
        use = f'<use href="#{name}" width="1" height="1"/>'
        return (
            f'<svg x="{x + w * left:g}" y="{y:g}" width="{w * (right - left):g}" height="{h:g}" '
            f'viewBox="{left:g} 0 {max(right - left, 0):g} 1" preserveAspectRatio="none">{use}</svg>'
        )


def _uri(picture: Picture) -> str:
    from PIL import Image

    stream, pixels, how = io.BytesIO(), picture.rgba, {"quality": 75, "method": 4}
    if picture.rgba.shape[1] < SMALL:  # its squares are to stay squares, however large they are shown
        pixels, how = pixels.repeat(8, axis=0).repeat(8, axis=1), {"lossless": True}
    image = Image.fromarray(np.ascontiguousarray(pixels))
    image.save(stream, "WEBP", **how)
    return f"data:image/webp;base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"
