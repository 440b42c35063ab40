"""WebP: stills and flat pictures exactly, other films with a loss that is hard to see; alpha exactly."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from whygpu.draw.output.film import Film, Picture
from whygpu.draw.output.sequence import Sequence

__all__ = ["write"]

FOREVER = 0
QUALITY = 90
EFFORT = 4
FLAT = {"lossless": True, "quality": 40, "method": 2}
"""Here ``quality`` is the encoder's patience."""


def write(path: Path, pictures: Iterable[Picture], film: Film) -> None:
    """Write a still, or an endless loop."""
    sequence = Sequence(pictures, film)
    with path.open("wb") as stream:
        if film.count == 1:  # exact: colours under transparent pixels are kept too
            sequence.save(stream, format="WEBP", lossless=True, exact=True, quality=60, method=EFFORT)
            return
        how = FLAT if film.flat else {"quality": QUALITY, "method": EFFORT}
        sequence.save(
            stream, format="WEBP", save_all=True, duration=film.durations(1000), loop=FOREVER, **how
        )
