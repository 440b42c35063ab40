"""Frames on their way to a file: counted, timed, and reported to whoever waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

__all__ = ["Watch"]


@dataclass(slots=True)
class Watch:
    """Sums over the frames of one scene."""

    screen: Any
    count: int
    """How many will come."""
    drawn: int = 0
    draw_seconds: float = 0.0
    """Until each frame was there."""
    pixels_tested: int = 0
    pixels_lit: int = 0
    stages: dict[str, float] = field(default_factory=dict)
    """Seconds by stage."""
    statistics: Any = None
    """Of the last frame."""

    def over(self, frames: Iterable[Any]) -> Iterator[Any]:
        """The same frames."""
        upcoming = iter(frames)
        while True:
            started = perf_counter()
            frame = next(upcoming, None)
            if frame is None:
                return
            self.draw_seconds += perf_counter() - started
            self._note(frame.statistics)
            yield frame

    def _note(self, statistics: Any) -> None:
        self.drawn += 1
        self.statistics = statistics
        self.pixels_tested += statistics.pixels_tested
        self.pixels_lit += statistics.pixels_lit
        for stage, seconds in statistics.seconds.items():
            self.stages[stage] = self.stages.get(stage, 0.0) + seconds
        if self.count > 1:
            self._tell()

    def _tell(self) -> None:
        """A bar where stderr is a terminal, else a line at each tenth."""
        values = {"done": self.drawn, "count": self.count}
        if self.screen.err.is_terminal:
            self.screen.progress("drawing.progress", self.drawn / self.count, **values)
        elif self.drawn * 10 // self.count > (self.drawn - 1) * 10 // self.count:
            percent = self.drawn * 100 // self.count
            self.screen.err.print(self.screen.texts("drawing.tenth", percent=percent, **values))
