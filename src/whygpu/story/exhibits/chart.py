"""Scales and rooflines that several exhibits draw."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from whygpu.story import numbers as written
from whygpu.story.exhibits.canvas import Point, Sheet
from whygpu.story.exhibits.palette import mix

__all__ = ["Named", "Plane", "Scale"]


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to positions on the sheet; clamped at both ends."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The position of a value."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def decades(self, step: int = 1) -> list[float]:
        """The powers of ten inside, every ``step``-th."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0**k for k in range(first, last + 1) if k % step == 0]


@dataclass(frozen=True, slots=True)
class Plane:
    """A roofline chart: FLOP/byte across, FLOP/s up, both logarithmic (Williams et al. 2009)."""

    x: Scale
    y: Scale

    @classmethod
    def of(cls, box: tuple[float, float, float, float], across: tuple[float, float], up: tuple[float, float]
           ) -> "Plane":  # fmt: skip
        """The plane of a box (left, top, width, height)."""
        left, top, width, height = box
        return cls(Scale(*across, left, left + width, log=True), Scale(*up, top + height, top, log=True))

    def frame(self, sheet: Sheet, step_x: int = 1, step_y: int = 1) -> None:
        """Grid, numbers and the names of the axes."""
        for value in self.x.decades(step_x):
            x = self.x(value)
            sheet.line([(x, self.y.start), (x, self.y.end)], "line", 1)
            text = f"{value:g}" if value < 1000 else f"{value:,.0f}"
            sheet.text(x, self.y.start + 17, text, 12, "soft", anchor="m")
        for value in self.y.decades(step_y):
            y = self.y(value)
            sheet.line([(self.x.start, y), (self.x.end, y)], "line", 1)
            sheet.text(self.x.start - 7, y + 4, written.si(value, "").strip(), 12, "soft", anchor="r")
        sheet.text(self.x.end, self.y.start + 34, "FLOP/byte", 12.5, "soft", anchor="r")
        sheet.text(self.x.start - 34, self.y.end - 10, "FLOP/s", 12.5, "soft")

    def roof(self, sheet: Sheet, peak: float, bandwidth: float, color: str, width: float = 2.5
             ) -> list[Point]:  # fmt: skip
        """bandwidth x intensity up to the peak, then flat; clipped to the plane. Returns points along it."""
        ridge = peak / bandwidth
        start = max(self.x.low, self.y.low / bandwidth)
        points = [(start, start * bandwidth), (ridge, peak), (self.x.high, peak)]
        line = [(self.x(i), self.y(f)) for i, f in points if start <= i <= self.x.high]
        sheet.line(line, color, width)
        return [
            (a[0] + (b[0] - a[0]) * k / 64, a[1] + (b[1] - a[1]) * k / 64)
            for a, b in pairwise(line)
            for k in range(65)
        ]

    def point(
        self, sheet: Sheet, intensity: float, flops: float, color: str, r: float = 6, tip: str = ""
    ) -> None:
        """A workload."""
        at = (self.x(intensity), self.y(flops))
        sheet.circle(*at, r, fill=color, stroke="paper", width=1.5, tip=tip)

    def drop(self, sheet: Sheet, intensity: float, color: str, top: float, bottom: float) -> None:
        """A vertical at an intensity, between two rates."""
        x = self.x(intensity)
        sheet.line([(x, self.y(bottom)), (x, self.y(top))], mix(color, "paper", 0.6), 1.5, dash=4)

    def labels(self, sheet: Sheet, named: Sequence["Named"], roof: Sequence[Point] = ()) -> None:
        """Words beside points: clear of each other, of all points and, where that can be, of ``roof``."""
        points = [(self.x(at.intensity), self.y(at.flops)) for at in named]
        taken: list[Box] = []
        for (x, y), at in zip(points, named, strict=True):
            wide = sheet.measure(at.text, LETTERS, "bold")

            def cost(place: tuple[str, float], x: float = x, y: float = y, wide: float = wide) -> int:
                box = _box(x, y, wide, *place)
                beyond = box[0] < self.x.start or box[2] > self.x.end
                beyond = beyond or box[1] < self.y.end or box[3] > self.y.start
                marks = sum(_inside(point, box, 8) for point in points if point != (x, y))
                lines = any(_inside(point, box, 2) for point in roof)
                return 1000 * sum(_meet(box, other) for other in taken) + 100 * beyond + 10 * marks + lines

            anchor, dy = min(PLACES, key=cost)
            taken.append(_box(x, y, wide, anchor, dy))
            base = (x + (BESIDE if anchor == "l" else -BESIDE), y + dy)
            sheet.text(*base, at.text, LETTERS, at.color, weight="bold", anchor=anchor)


@dataclass(frozen=True, slots=True)
class Named:
    """A point of a plane and the words beside it."""

    intensity: float
    flops: float
    text: str
    color: str


Box = tuple[float, float, float, float]
LETTERS, BESIDE = 13.5, 10.0
PLACES = [
    (side, 4.0 + 16 * row) for row in (1, 0, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6, 7, -7) for side in "lr"
]
"""Where words may stand beside their point, best first: anchor, and base line below the point."""


def _box(x: float, y: float, wide: float, anchor: str, dy: float) -> Box:
    left = x + BESIDE if anchor == "l" else x - BESIDE - wide
    return left, y + dy - 0.8 * LETTERS, left + wide, y + dy + 0.2 * LETTERS


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _inside(point: Point, box: Box, margin: float) -> bool:
    return box[0] - margin < point[0] < box[2] + margin and box[1] - margin < point[1] < box[3] + margin
