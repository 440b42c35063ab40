"""Pictures that Pillow's encoders fetch one by one, as they would from a file with many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from PIL import Image

from whygpu.draw.output.film import Film, Picture, rgba_of

__all__ = ["Sequence"]


class Sequence(Image.Image):
    """A Pillow image with ``film.count`` frames that only goes forward; it holds one frame at a time.

    Pillow's WebP and AVIF encoders compress each frame when they have sought to it, so that the film is
    drawn while it is written.
    """

    def __init__(self, pictures: Iterable[Picture], film: Film) -> None:
        super().__init__()
        self.n_frames = film.count
        self.is_animated = film.count > 1
        self._left: Iterator[Picture] = iter(pictures)
        self._transparent = film.transparent
        self._at = -1
        self.seek(0)

    def seek(self, frame: int) -> None:
        """Go on to a frame; encoders go back to the first when all is done, which is nothing here.

        Raises
        ------
        EOFError
            After the last, as Pillow wants it.
        """
        if frame >= self.n_frames:
            raise EOFError("no more pictures")
        while self._at < frame:
            pixels = rgba_of(next(self._left))
            image = Image.fromarray(pixels if self._transparent else np.ascontiguousarray(pixels[..., :3]))
            self.im, self._mode, self._size = image.im, image.mode, image.size
            self._at += 1

    def tell(self) -> int:
        """Which frame this is."""
        return self._at
