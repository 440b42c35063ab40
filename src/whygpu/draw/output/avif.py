"""AVIF: the smallest files, with a loss that is hard to see; full alpha."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from whygpu.draw.output.film import Film, Picture
from whygpu.draw.output.sequence import Sequence
from whygpu.engine import UserError, current

__all__ = ["write"]

QUALITY = {False: 90, True: 80}
"""Of a still and of a film."""
SPEED = {False: 6, True: 8}
"""Of the encoder, 0 to 10; a still has more time."""


def write(path: Path, pictures: Iterable[Picture], film: Film) -> None:
    """Write a still, or a film that loops without end (AVIF's own default).

    Raises
    ------
    UserError
        Where Pillow was built without AVIF.
    """
    from PIL import features

    if not features.check("avif"):
        raise UserError("this Pillow was built without AVIF; pip install --upgrade pillow, or write .webp")
    moves = film.count > 1
    sequence = Sequence(pictures, film)
    with path.open("wb") as stream:
        sequence.save(
            stream,
            format="AVIF",
            save_all=moves,
            duration=film.durations(1000),
            quality=QUALITY[moves],
            speed=SPEED[moves],
            subsampling="4:4:4",
            max_threads=current().threads,
        )
