"""NPZ: everything that a frame knows, as arrays: colour, depth, triangle, normal."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from whygpu.draw.output.film import Film, Picture
from whygpu.draw.output.npy import header
from whygpu.engine import UserError

__all__ = ["ARRAYS", "write"]

ARRAYS = ("rgba", "depth", "ids", "normals")
"""As ``draw.Frame`` names them."""
LEVEL = 1
"""Of compression: pictures of one colour shrink a lot, the rest is not worth the time."""


def write(path: Path, pictures: Iterable[Picture], film: Film) -> None:
    """Write one array a name; of a film each has a leading axis.

    A zip archive holds its arrays one after another, but pictures bring a slice of each: so the arrays wait
    in nameless files beside the output.

    Raises
    ------
    UserError
        For bare pixels, which know no depth.
    """
    with ExitStack() as stack:
        waiting: dict[str, BinaryIO] = {}
        for place, picture in enumerate(pictures):
            arrays = _arrays(picture)
            if not place:
                waiting = {
                    name: stack.enter_context(tempfile.TemporaryFile(dir=path.parent)) for name in arrays
                }
                for name, array in arrays.items():
                    header(waiting[name], array, film)
            for name, array in arrays.items():
                waiting[name].write(array.data)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
            for name, spool in waiting.items():
                spool.seek(0)
                entry = zipfile.ZipInfo(f"{name}.npy")  # without today's date: same frame, same bytes
                entry.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(entry, "w", force_zip64=True) as stream:
                    shutil.copyfileobj(spool, stream, 1 << 20)


def _arrays(picture: Picture) -> dict[str, np.ndarray[Any, Any]]:
    found = {name: getattr(picture, name, None) for name in ARRAYS}
    if found["depth"] is None:
        raise UserError(".npz files hold a frame's depth and triangles too; write bare pixels as .npy")
    return {name: np.ascontiguousarray(array) for name, array in found.items() if array is not None}
