"""How many pictures a file holds, how large, how fast they follow one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.engine import UserError

__all__ = ["Film", "Picture", "checked", "rgba_of"]

Pixels = NDArray[np.uint8]
Picture = Any
"""A ``draw.Frame``, or an (height, width, 4) uint8 array: sRGB with straight alpha."""


@dataclass(frozen=True, slots=True)
class Film:
    """What a writer must know before the first picture comes."""

    width: int
    """Pixels."""
    height: int
    """Pixels."""
    count: int = 1
    """Pictures; one is a still."""
    fps: float = 25.0
    """Pictures a second."""
    transparent: bool = True
    """False: every pixel is opaque, and the file need not hold alpha."""
    times: tuple[int, ...] = ()
    """Milliseconds that each picture stays, where they differ; ``fps`` is then not asked."""
    flat: bool = False
    """Whether the pictures are areas of few colours with hard edges: those are smaller without loss."""

    @property
    def rate(self) -> Fraction:
        """Ticks a second, as a fraction that file formats can hold (25, 30000/1001 ...)."""
        if self.times:
            return Fraction(1000, gcd(*self.times) or 1000)
        for denominator in (1, 1001):
            near = Fraction(round(self.fps * denominator), denominator)
            if abs(float(near) - self.fps) < 5e-4:
                return near
        return Fraction(self.fps).limit_denominator(1000)

    @property
    def ticks(self) -> list[int]:
        """How many ticks each picture stays: one, where all stay alike."""
        return [round(time * self.rate / 1000) for time in self.times] or [1] * self.count

    @property
    def seconds(self) -> float:
        """How long it plays."""
        return sum(self.times) / 1000 if self.times else self.count / self.fps

    def durations(self, units: int) -> list[int]:
        """How long each picture stays, in whole 1/``units`` seconds; rounding errors do not add up."""
        ends = [round(units * tick / self.rate) for tick in accumulate(self.ticks)]
        return [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def rgba_of(picture: Picture) -> Pixels:
    """The pixels of a picture."""
    pixels: Pixels = picture if isinstance(picture, np.ndarray) else picture.rgba
    return pixels


def checked(pictures: Iterable[Picture], film: Film) -> Iterator[Picture]:
    """The pictures as they come; each must have the film's size, and there must be as many as it says.

    Raises
    ------
    UserError
        Where they do not fit the film.
    """
    seen = 0
    for picture in pictures:
        pixels = rgba_of(picture)
        if pixels.shape != (film.height, film.width, 4) or pixels.dtype != np.uint8:
            raise UserError(
                f"picture {seen}: {pixels.dtype} of shape {pixels.shape}; "
                f"it must be uint8 of shape ({film.height}, {film.width}, 4)"
            )
        seen += 1
        yield picture
        if seen == film.count:  # what comes after is not waited for
            return
    raise UserError(f"{seen} of {film.count} pictures came; give as many as the film counts")
