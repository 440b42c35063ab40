"""Pictures become a file: one writer a type of file, all behind ``save``.

Every writer is a ``write(path, pictures, film)`` that fetches the pictures one by one and keeps none of them,
so that a film of any length takes the memory of a few pictures. A file appears whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from whygpu.draw.output.film import Film, Picture, checked
from whygpu.draw.output.formats import FORMATS, Format, format_of
from whygpu.engine.files import write_whole

__all__ = ["FORMATS", "Film", "Format", "format_of", "save"]


def save(path: str | Path, pictures: Iterable[Picture], film: Film) -> None:
    """Write pictures to a file whose suffix says its type; whole or not at all.

    Parameters
    ----------
    path
        ``.png``, ``.gif``, ``.webp``, ``.apng``, ``.avif``, ``.mp4``, ``.npy`` or ``.npz``.
    pictures
        Frames, or (height, width, 4) uint8 arrays (sRGB, straight alpha); fetched one by one.
    film
        Their size, number and rate. A film plays in an endless loop where the type of file can say so.

    Raises
    ------
    UserError
        Where the type is unknown or cannot hold the film, pictures do not fit it, or the disk is full.
    """
    kind = format_of(path)
    kind.check(film, path)
    with write_whole(Path(path)) as temporary:
        kind.writer()(temporary, checked(pictures, film), film)
