"""Scales and rooflines that several exhibits draw."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from whygpu.story import numbers as written
from whygpu.story.exhibits.canvas import Sheet
from whygpu.story.exhibits.palette import mix

__all__ = ["Plane", "Scale"]


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

    def roof(self, sheet: Sheet, peak: float, bandwidth: float, color: str, width: float = 2.5) -> None:
        """bandwidth x intensity up to the peak, then flat; clipped to the plane."""
        ridge = peak / bandwidth
        start = max(self.x.low, self.y.low / bandwidth)
        points = [(start, start * bandwidth), (ridge, peak), (self.x.high, peak)]
        points = [(i, f) for i, f in points if start <= i <= self.x.high]
        sheet.line([(self.x(i), self.y(f)) for i, f in points], color, width)

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

    def label(self, sheet: Sheet, intensity: float, flops: float, lines: Sequence[str], color: str,
              anchor: str = "l", dx: float = 10, dy: float = 4) -> None:  # fmt: skip
        """Words beside a point."""
        for k, text in enumerate(lines):
            weight = "bold" if k == 0 else "regular"
            at = (self.x(intensity) + dx, self.y(flops) + dy + 16 * k)
            sheet.text(*at, text, 13.5 if k == 0 else 12.5, color if k == 0 else "soft", weight=weight,
                       anchor=anchor)  # fmt: skip
