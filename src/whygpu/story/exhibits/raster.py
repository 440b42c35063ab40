"""A sheet becomes pixels: shapes at three times the size and averaged, texts on top at the true size.

Frames of an exhibit mostly begin with the same shapes; those are drawn once and copied.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from whygpu.story.exhibits.canvas import HEIGHT, WIDTH, Shape
from whygpu.story.exhibits.fonts import face, runs, width
from whygpu.story.exhibits.palette import rgb

__all__ = ["Rasteriser"]

FINE = 3
"""Shapes are drawn so many times larger, then averaged."""


class Rasteriser:
    """Draws the frames of one exhibit, one after the other, at one size in one theme."""

    def __init__(self, size: tuple[int, int] = (WIDTH, HEIGHT), theme: str = "light") -> None:
        self.size, self.theme = size, theme
        self.scale = min(size[0] / WIDTH, size[1] / HEIGHT)
        self.inner = (round(WIDTH * self.scale), round(HEIGHT * self.scale))
        self._shapes = _Layer(self._blank(FINE))
        self._texts: dict[Shape, Any] = {}

    def draw(self, shapes: list[Shape]) -> Any:
        """The sheet as a Pillow image, on the theme's paper."""
        from PIL import Image, ImageDraw

        texts = [shape for shape in shapes if shape.kind == "text"]
        rest = [shape for shape in shapes if shape.kind != "text"]
        fine = self._shapes.up_to(rest, self._shape)
        image = fine.reduce(FINE)
        pen = ImageDraw.Draw(image)
        for shape in texts:
            self._text(pen, shape)
        if image.size == self.size:
            return image
        whole = Image.new("RGB", self.size, rgb("paper", self.theme))
        whole.paste(image, ((self.size[0] - image.width) // 2, (self.size[1] - image.height) // 2))
        return whole

    def _blank(self, fine: int) -> Any:
        from PIL import Image

        return Image.new("RGB", (self.inner[0] * fine, self.inner[1] * fine), rgb("paper", self.theme))

    def _text(self, pen: Any, shape: Shape) -> None:
        x, y, size = (v * self.scale for v in shape.at)
        wide = width(shape.text, size, shape.weight)
        x -= {"l": 0.0, "m": wide / 2, "r": wide}[shape.anchor]
        for weight, part in runs(shape.text, shape.weight):
            font = face(weight, size)
            pen.text((x, y), part, fill=rgb(shape.fill, self.theme), font=font, anchor="ls")
            x += font.getlength(part)

    def _shape(self, image: Any, shape: Shape) -> None:
        from PIL import ImageDraw

        s = self.scale * FINE
        pen = ImageDraw.Draw(image)
        fill = rgb(shape.fill, self.theme) if shape.fill else None
        stroke = rgb(shape.stroke, self.theme) if shape.stroke else None
        wide = max(1, round(shape.width * s))
        if shape.kind == "circle":
            x, y, r = (v * s for v in shape.at)
            r += wide / 2 if stroke else 0
            pen.ellipse((x - r, y - r, x + r, y + r), fill, stroke, wide if stroke else 0)
        elif shape.kind == "rect":
            x, y, w, h, radius = (v * s for v in shape.at)
            box = (round(x), round(y), max(round(x), round(x + w) - 1), max(round(y), round(y + h) - 1))
            pen.rounded_rectangle(box, radius, fill, stroke, wide if stroke else 0)
        elif shape.kind == "path":
            self._path(pen, shape, fill, stroke, wide)
        else:
            self._image(image, shape)

    def _path(self, pen: Any, shape: Shape, fill: Any, stroke: Any, wide: int) -> None:
        s = self.scale * FINE
        points = [(x * s, y * s) for x, y in zip(shape.at[::2], shape.at[1::2], strict=True)]
        if shape.closed:
            if fill:
                pen.polygon(points, fill)
            points = [*points, points[0]]
        if not stroke or len(points) < 2:
            return
        if shape.dash:
            for a, b in _dashes(points, shape.dash * s):
                pen.line((a, b), stroke, wide)
            return
        pen.line(points, stroke, wide, joint="curve")
        if wide > 4:
            r = wide / 2 - 0.5
            for x, y in (points[0], points[-1]):
                pen.ellipse((x - r, y - r, x + r, y + r), stroke)

    def _image(self, image: Any, shape: Shape) -> None:
        from PIL import Image

        assert shape.picture is not None
        x, y, w, h, left, right = shape.at
        s = self.scale * FINE
        pixels = np.ascontiguousarray(shape.picture.rgba)
        from_, to = round(left * pixels.shape[1]), round(right * pixels.shape[1])
        if to <= from_:
            return
        box = [round((x + w * left) * s), round(y * s), round((x + w * right) * s), round((y + h) * s)]
        part = Image.fromarray(pixels[:, from_:to])
        enlarge = pixels.shape[1] * 2 < w * s and pixels.shape[1] < 200
        method = Image.Resampling.NEAREST if enlarge else Image.Resampling.BILINEAR
        part = part.resize((box[2] - box[0], box[3] - box[1]), method)
        image.paste(part.convert("RGB"), (box[0], box[1]), part.getchannel("A"))


class _Layer:
    """A picture of the longest beginning that the last two lists of shapes shared."""

    def __init__(self, blank: Any) -> None:
        self.blank = blank
        self.last: list[Shape] = []
        self.kept: tuple[list[Shape], Any] = ([], blank)

    def up_to(self, shapes: list[Shape], draw: Any) -> Any:
        """All of ``shapes``, drawn onto a copy of what is kept of them."""
        shared = 0
        for ours, before in zip(shapes, self.last, strict=False):
            if ours != before:
                break
            shared += 1
        known, image = self.kept
        if shapes[: len(known)] != known:
            known, image = [], self.blank
        image = image.copy()
        for place in range(len(known), len(shapes)):
            if place == shared:
                self.kept = (shapes[:shared], image.copy())
            draw(image, shapes[place])
        self.last = shapes
        return image


def _dashes(points: list[tuple[float, float]], dash: float) -> list[tuple[Any, Any]]:
    found = []
    for (ax, ay), (bx, by) in pairwise(points):
        length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5
        for k in range(int(length / (2 * dash)) + 1):
            a, b = 2 * k * dash / max(length, 1e-9), min(1.0, (2 * k + 1) * dash / max(length, 1e-9))
            if a < b:
                found.append(
                    ((ax + (bx - ax) * a, ay + (by - ay) * a), (ax + (bx - ax) * b, ay + (by - ay) * b))
                )
    return found
