"""Images in memory, decoded within bounds."""

from __future__ import annotations

import io
import warnings

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.load.source import Source

__all__ = ["MAX_PIXELS", "decode"]

MAX_PIXELS = 1 << 26
"""8192 x 8192: 256 MiB as RGBA."""

MAGIC = (b"\x89PNG", b"\xff\xd8", b"RIFF", b"BM")
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TGA")


def decode(source: Source, data: bytes, where: str) -> NDArray[np.uint8]:
    """Decode a PNG, JPEG, WebP, BMP or TGA file, (H, W, 4) uint8 RGBA, read-only.

    Raises
    ------
    UserError
        For anything else, what is broken, and more than ``MAX_PIXELS`` (seen before it is decoded).
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's own limits only warn; ours refuse, below
            image = Image.open(io.BytesIO(data), formats=FORMATS)
            width, height = image.size
            if not 0 < width * height <= MAX_PIXELS:
                raise source.fail(where, f"an image of {width} x {height}; at most {MAX_PIXELS:,} pixels")
            source.budget.take(8 * width * height, where)  # decoded, and converted
            pixels = _rgba(image)
    except Image.DecompressionBombError as error:
        raise source.fail(where, f"an image of too many pixels; at most {MAX_PIXELS:,}") from error
    except (OSError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, EOFError) as error:
        raise source.fail(where, _reason(data, error)) from error
    except Exception as error:  # struct.error, zlib.error and what else a decoder of broken files raises
        from whygpu.engine import UserError

        if isinstance(error, UserError | MemoryError):
            raise
        raise source.fail(where, _reason(data, error)) from error
    pixels.flags.writeable = False
    return pixels


def _rgba(image: object) -> NDArray[np.uint8]:
    from PIL import Image

    assert isinstance(image, Image.Image)
    if image.mode.startswith("I"):  # 16 bits a channel; Pillow would clip them instead of scaling
        grey = (np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8)
        opaque = np.full_like(grey, 255)
        return np.ascontiguousarray(np.stack([grey, grey, grey, opaque], axis=-1))
    return np.array(image.convert("RGBA"), np.uint8)


def _reason(data: bytes, error: Exception) -> str:
    if not data:
        return "the image is empty; a PNG, JPEG or WebP file is needed"
    first = " ".join(str(error).split())[:80]
    if "cannot identify" in first and data.startswith(MAGIC):
        return "the image is broken (its header cannot be read)"
    if "cannot identify" in first:
        return f"the image begins with {data[:8]!r}; a PNG, JPEG or WebP file is needed"
    return f"the image is broken ({first})"
