"""Pictures as data: URIs, small enough that the page stays one file that can be sent."""

import base64
import io
import re
from collections.abc import Mapping

from whygpu.engine.errors import UserError

__all__ = ["check_name", "data_uris"]

KINDS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
BUDGET = 400_000
"""Bytes that all pictures of the page may have together: of its 8 MB Plotly takes 4.8, the exhibits 1.7."""
WIDTH = 1280
"""Pixels that a picture in the page needs at most; the folder keeps the whole one."""


def data_uris(images: Mapping[str, bytes]) -> dict[str, str]:
    """A data: URI by file name.

    Pictures that fill more than their part of ``BUDGET`` are stored in the page as WebP; the folder
    keeps them as they are.

    Raises
    ------
    UserError
        For a name that is no plain file name, or bytes that are no PNG, JPEG, GIF or WebP.
    """
    part = BUDGET // max(len(images), 1)
    return {check_name(name): _data_uri(name, data, part) for name, data in images.items()}


def check_name(name: str) -> str:
    """The name, if it can be that of a file beside the report and of nothing else."""
    if not re.fullmatch(r"\w[\w .-]{0,119}", name):
        raise UserError(
            f"picture {name!r}: not a plain file name; letters, digits, '.', '-' and '_' would be"
        )
    return name


def _data_uri(name: str, data: bytes, part: int) -> str:
    kind = next((kind for start, kind in KINDS.items() if data.startswith(start)), None)
    if kind is None:
        raise UserError(f"picture {name!r}: neither PNG, JPEG, GIF nor WebP")
    if len(data) > part:
        data, kind = _smaller(name, data, part), "image/webp"
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _smaller(name: str, data: bytes, part: int) -> bytes:
    from PIL import Image

    try:
        picture = Image.open(io.BytesIO(data)).convert("RGBA")
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise UserError(f"picture {name!r}: cannot be read ({error})") from error
    picture.thumbnail((WIDTH, WIDTH))
    for quality in (90, 75, 50, 20):
        stream = io.BytesIO()
        picture.save(stream, "WEBP", quality=quality)
        if stream.tell() <= part:
            break
    return stream.getvalue()
