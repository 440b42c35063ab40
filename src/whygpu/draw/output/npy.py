"""NPY: the pixels as an array, (height, width, 4) uint8; of a film (pictures, height, width, 4)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from whygpu.draw.output.film import Film, Picture, rgba_of

__all__ = ["header", "write"]


def write(path: Path, pictures: Iterable[Picture], film: Film) -> None:
    """Write the header, then each picture as it comes."""
    with path.open("wb") as stream:
        for place, picture in enumerate(pictures):
            pixels = rgba_of(picture)
            if not place:
                header(stream, pixels, film)
            stream.write(np.ascontiguousarray(pixels).data)


def header(stream: BinaryIO, array: np.ndarray[Any, Any], film: Film) -> None:
    """Say what follows: ``film.count`` arrays like this one, or one without the leading axis."""
    stack = (film.count,) if film.count > 1 else ()
    npy.write_array_header_1_0(
        stream,
        {
            "descr": npy.dtype_to_descr(array.dtype),
            "fortran_order": False,
            "shape": (*stack, *array.shape),
        },
    )
