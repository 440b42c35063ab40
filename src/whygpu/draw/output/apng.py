"""APNG: PNG's frames one after another, exactly (W3C PNG, third edition, section 4.9).

Of each picture only the rectangle that differs from the one before is stored. Pillow compresses the
rectangles; the chunks around them are written here, since Pillow would keep every picture until the end.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

import numpy as np

from whygpu.draw.output.film import Film, Picture, Pixels, rgba_of
from whygpu.draw.output.png import encode
from whygpu.draw.output.region import Region, changed

__all__ = ["write"]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
FOREVER = 0
KEEP, REPLACE = 0, 0
"""Disposal: leave the canvas. Blending: the new rectangle replaces what was there, alpha included."""


def write(path: Path, pictures: Iterable[Picture], film: Film) -> None:
    """Write an endless loop, or a still."""
    before: Pixels | None = None
    number = 0  # of fcTL and fdAT chunks
    with path.open("wb") as stream:
        for picture, ticks in zip(pictures, film.ticks, strict=True):
            pixels = rgba_of(picture)
            region = changed(before, pixels)
            chunks = _compressed(pixels, region, film.transparent)
            if before is None:
                stream.write(SIGNATURE)
                _chunk(stream, b"IHDR", next(chunks)[1])
                _chunk(stream, b"acTL", struct.pack(">II", film.count, FOREVER))
            else:
                next(chunks)
            _chunk(stream, b"fcTL", _control(number, region, ticks / film.rate))
            number += 1
            for _, data in chunks:
                if before is None:
                    _chunk(stream, b"IDAT", data)
                else:
                    _chunk(stream, b"fdAT", struct.pack(">I", number) + data)
                    number += 1
            before = pixels
        _chunk(stream, b"IEND", b"")


def _compressed(pixels: Pixels, region: Region, alpha: bool) -> Iterator[tuple[bytes, bytes]]:
    """The header and then the compressed data of a PNG of that region."""
    packed = io.BytesIO()
    encode(packed, np.ascontiguousarray(pixels[region.rows, region.columns]), alpha=alpha)
    data, at = packed.getvalue(), len(SIGNATURE)
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind in (b"IHDR", b"IDAT"):
            yield kind, data[at + 8 : at + 8 + length]
        at += 12 + length


def _control(number: int, region: Region, seconds: Fraction) -> bytes:
    delay = seconds.limit_denominator(1000 if seconds > 1 else 65535)  # both must fit 16 bits
    place = (region.width, region.height, region.left, region.top)
    return struct.pack(">5I2H2B", number, *place, delay.numerator, delay.denominator, KEEP, REPLACE)


def _chunk(stream: BinaryIO, kind: bytes, data: bytes) -> None:
    stream.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
