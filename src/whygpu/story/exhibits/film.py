"""An exhibit's frames as a film that ``draw.output.save`` writes: drawn one by one while it is written."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.output import Film, save
from whygpu.story.exhibits.base import Frame
from whygpu.story.exhibits.canvas import HEIGHT, WIDTH, Shape
from whygpu.story.exhibits.raster import Rasteriser
from whygpu.story.exhibits.svg import SMALL

__all__ = ["FORMATS", "write"]

FORMATS = ("gif", "webp", "apng", "avif", "png", "mp4")


def write(
    path: Path, frames: Iterable[Frame], size: tuple[int, int] = (WIDTH, HEIGHT), theme: str = "light"
) -> None:
    """Write the loop to a file whose suffix says its type; one frame is a still. Whole or not at all.

    Raises
    ------
    UserError
        For a type that is unknown or cannot hold the loop, or an MP4 without PyAV or of an odd size.
    """
    shown = list(frames)
    times = tuple(frame.milliseconds for frame in shown) if len(shown) > 1 else ()
    flat = not any(_is_photograph(shape) for frame in shown for shape in frame.shapes)
    save(path, _pictures(shown, size, theme), Film(*size, len(shown), 25.0, False, times, flat))


def _is_photograph(shape: Shape) -> bool:
    return shape.picture is not None and shape.picture.rgba.shape[1] >= SMALL


def _pictures(frames: list[Frame], size: tuple[int, int], theme: str) -> Iterator[NDArray[np.uint8]]:
    brush = Rasteriser(size, theme)
    for frame in frames:
        yield np.asarray(brush.draw(frame.shapes).convert("RGBA"))
