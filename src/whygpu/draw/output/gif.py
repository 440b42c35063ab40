"""GIF: 255 colours and pixels that are there or not; every viewer plays it (GIF 89a).

The palette must stand before the first picture but depends on the last: so pictures wait, compressed, in a
nameless file beside the output until all have been seen. Pillow packs the pixels (LZW); the headers are
written here, since Pillow would keep every picture until the end.
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.output.film import Film, Picture, Pixels, rgba_of
from whygpu.draw.output.gif_palette import COLORS, Colors, Palette
from whygpu.draw.output.region import Region, bounds, changed

__all__ = ["write"]

OPAQUE = 128
"""Alpha from which on a pixel is there."""
NOTHING = COLORS
"""The index that shows what is behind."""
KEEP, CLEAR = 1, 2
"""What becomes of a picture when the next one comes."""
FOREVER = b"!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"

Indices = NDArray[np.uint8]


def write(path: Path, pictures: Iterable[Picture], film: Film) -> None:
    """Write a still, or an endless loop."""
    colors, lengths, holes = Colors(), [], False
    with tempfile.TemporaryFile(dir=path.parent) as spool:
        for picture in pictures:
            rgba = rgba_of(picture)
            there = rgba[..., 3] >= OPAQUE
            holes = holes or not bool(there.all())
            colors.add(rgba[there][:, :3])
            lengths.append(spool.write(zlib.compress(np.ascontiguousarray(rgba).data, 1)))
        spool.seek(0)
        waiting = _unpacked(spool, lengths, film)
        with path.open("wb") as stream:
            _pack(stream, waiting, colors.palette(), film, holes)


def _unpacked(spool: BinaryIO, lengths: list[int], film: Film) -> Iterator[Pixels]:
    for length in lengths:
        raw = zlib.decompress(spool.read(length))
        yield np.frombuffer(raw, np.uint8).reshape(film.height, film.width, 4)


def _pack(stream: BinaryIO, pictures: Iterable[Pixels], palette: Palette, film: Film, holes: bool) -> None:
    """With holes each picture clears the one before; without, it changes what differs."""
    table = np.zeros((256, 3), np.uint8)
    table[: len(palette.colors)] = palette.colors
    stream.write(b"GIF89a" + struct.pack("<HHBBB", film.width, film.height, 0xF7, NOTHING, 0))
    stream.write(table.tobytes())
    if film.count > 1:
        stream.write(FOREVER)
    before: Indices | None = None
    for rgba, hundredths in zip(pictures, film.durations(100), strict=True):
        now = np.where(rgba[..., 3] >= OPAQUE, palette.indices(rgba[..., :3]), np.uint8(NOTHING))
        if holes:
            region = bounds(now != NOTHING) if before is not None else changed(None, now)
            shown = now
        else:
            region = changed(before, now)
            shown = now if before is None else np.where(now == before, np.uint8(NOTHING), now)
        wait = hundredths if film.count > 1 else 0
        _frame(stream, shown[region.rows, region.columns], region, wait, CLEAR if holes else KEEP)
        before = now
    stream.write(b";")


def _frame(stream: BinaryIO, indices: Indices, region: Region, hundredths: int, disposal: int) -> None:
    from PIL import Image
    from PIL.GifImagePlugin import getdata

    image: Any = Image.fromarray(np.ascontiguousarray(indices))
    image = image.convert("P") if image.mode != "P" else image
    for block in getdata(
        image,
        (region.left, region.top),
        duration=hundredths * 10,
        disposal=disposal,
        transparency=NOTHING,
    ):
        stream.write(block)
