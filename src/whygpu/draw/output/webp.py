"""WebP: a still exactly, a film with a loss that is hard to see; alpha exactly in both."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from whygpu.draw.output.film import Film, Picture
from whygpu.draw.output.sequence import Sequence

__all__ = ["write"]

FOREVER = 0
QUALITY = 90
EFFORT = 4


def write(path: Path, pictures: Iterable[Picture], film: Film) -> None:
    """Write a still, or an endless loop."""
    sequence = Sequence(pictures, film)
    with path.open("wb") as stream:
        if film.count == 1:  # exact: colours under transparent pixels are kept too
            sequence.save(stream, format="WEBP", lossless=True, exact=True, quality=60, method=EFFORT)
            return
        sequence.save(
            stream,
            format="WEBP",
            save_all=True,
            duration=film.durations(1000),
            loop=FOREVER,
            quality=QUALITY,
            method=EFFORT,
        )
