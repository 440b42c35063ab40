"""What an exhibit is: one function that finds its numbers out and one that draws a moment of it."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from whygpu.engine import Basis, Progress, silent
from whygpu.measure.machine import Figure
from whygpu.story import numbers as written
from whygpu.story.exhibits.canvas import Shape, Sheet
from whygpu.story.text import Texts

__all__ = ["Exhibit", "Frame", "Job", "Known", "Number", "Numbers", "derived", "ease", "hold", "measured"]

QUESTION = "The GPU draws the cube and the GPU reads the word"
"""The sentence that the default model reads in ``attention``, ``mlp`` and ``block``."""

SHORT = "draw, think"
"""What an invented model reads: each byte is a token of its."""


@dataclass(frozen=True, slots=True)
class Number:
    """One figure that a person reads: value, unit, basis and where it comes from."""

    value: float
    unit: str
    """``FLOP``, ``FLOP/s``, ``B``, ``B/s``, ``FLOP/B``, ``Hz``, ``s``, ``x``, ``%``, ``°``, or nothing: a
    count or a coordinate."""
    basis: Basis
    source: str

    @classmethod
    def of(cls, figure: Figure, unit: str) -> "Number":
        """A figure of a machine."""
        return cls(figure.value, unit, figure.basis, figure.source)

    def __str__(self) -> str:
        """As it is written for people."""
        if self.unit == "s":
            return written.duration(self.value)
        if self.unit == "%":
            return written.percent(self.value)
        if self.unit == "x":
            return f"{written.significant(self.value)} ×"
        if self.unit in ("FLOP", "B") and self.value < 1000:
            return f"{self.value:,.0f} {self.unit}"
        if self.unit in ("FLOP", "FLOP/s", "FLOP/s/W", "B", "B/s", "W", "Hz"):
            return written.si(self.value, self.unit)
        text = f"{self.value:,.0f}" if self.value == int(self.value) else written.significant(self.value)
        return f"{text.replace('-', '−')}{self.unit if self.unit == '°' else f' {self.unit}'}".rstrip()

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"value": self.value, "unit": self.unit, "basis": str(self.basis), "source": self.source}


@dataclass(frozen=True, slots=True)
class Numbers:
    """Everything that an exhibit shows, before it is drawn."""

    figures: Mapping[str, Number]
    """The handful that stands as text beside the picture; each key has a label in the locale files."""
    data: Mapping[str, Any]
    """The rest, plain values for JSON ..."""
    basis: Basis
    source: str
    """... and where that comes from."""
    drawn: Any = None
    """What the pictures need and JSON does not: bitmaps, arrays."""

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "figures": {key: figure.as_dict() for key, figure in self.figures.items()},
            "data": dict(self.data),
            "basis": str(self.basis),
            "source": self.source,
        }


def measured(value: float, unit: str, source: str) -> Number:
    """A number that was measured here."""
    return Number(value, unit, Basis.MEASURED, source)


def derived(value: float, unit: str, source: str) -> Number:
    """A number that was computed; ``source`` is the formula."""
    return Number(value, unit, Basis.DERIVED, source)


@dataclass(frozen=True, slots=True)
class Known:
    """What the main job has measured already; exhibits of the same thing show the same figures."""

    scene: Any
    """The loaded scene ``character`` ..."""
    frame_seconds: float
    """... the median time of its frame at 1280 x 720 ..."""
    stages: Mapping[str, float]
    """... and its seconds by stage."""
    token_seconds: float
    """Mean time of a decoded token."""


@dataclass
class Job:
    """What somebody asked for, and what several exhibits share: the model is loaded once."""

    words: Sequence[str] = ()
    chips: Sequence[str] = ()
    model_name: str | None = None
    sentence: str = QUESTION
    progress: Progress = silent
    known: Known | None = None
    shared: dict[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def model(self) -> Any:
        """The model asked for; else the default, or an invented one where that cannot be had."""
        from whygpu import engine
        from whygpu.story.thinking import load_model

        return load_model(self.model_name, engine.backend("cpu"), self.progress)

    @functools.cached_property
    def roofline(self) -> Any:
        """This machine's roofs, measured now or kept from before."""
        from whygpu import measure

        found = measure.roofline(quick=True, progress=self.progress)
        if not found.all("gemm", "fp32"):  # on a busy machine the quick probe may run out of time
            found = measure.roofline(progress=self.progress)
        return found

    @functools.cached_property
    def reading(self) -> Any:
        """The model's pass over the sentence, with its ledger and the operands of its products."""
        from whygpu.story.exhibits.reading import read

        invented = self.model.invented and self.sentence == QUESTION
        return read(self.model, SHORT if invented else self.sentence)


class Frame(NamedTuple):
    """What is shown for so many milliseconds."""

    shapes: list[Shape]
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A loop of ``count`` moments, each shown for ``milliseconds``."""

    name: str
    numbers: Callable[[Job], Numbers]
    """Finds out everything that is shown."""
    picture: Callable[[Sheet, Numbers, float], None]
    """Draws the moment ``phase``, 0 to 1; the moment 1 is the moment 0."""
    count: int = 48
    milliseconds: int = 60
    drag: Literal["", "turn", "slide"] = ""
    """How a page lets one move it by hand: turned about the middle of a mark, or slid sideways."""
    live: bool = False
    """Whether a page computes it anew while sliders are moved."""
    poster: float = 0.0
    """The moment that stands for the whole where nothing moves."""

    def sheet(self, found: Numbers, texts: Texts, phase: float) -> Sheet:
        """One moment."""
        sheet = Sheet(texts, self.name)
        self.picture(sheet, found, phase % 1.0)
        return sheet

    def still(self, found: Numbers, texts: Texts) -> Frame:
        """The moment that stands for the whole."""
        return Frame(self.sheet(found, texts, self.poster).shapes, 0)

    def frames(self, found: Numbers, texts: Texts) -> Iterator[Frame]:
        """The whole loop; equal moments that follow each other are one frame that stays longer."""
        last: Frame | None = None
        for step in range(self.count):
            shapes = self.sheet(found, texts, step / self.count).shapes
            if last is not None and shapes == last.shapes:
                last = Frame(shapes, last.milliseconds + self.milliseconds)
                continue
            if last is not None:
                yield last
            last = Frame(shapes, self.milliseconds)
        if last is not None:
            yield last


def ease(x: float) -> float:
    """From 0 to 1, slow at both ends."""
    x = min(1.0, max(0.0, x))
    return x * x * (3 - 2 * x)


def hold(phase: float, stops: int, still: float = 0.6) -> float:
    """A position from 0 to ``stops`` that rests at each whole number for ``still`` of its share."""
    place = phase * stops
    whole = int(place)
    return whole + ease((place - whole - still) / (1 - still))
