"""PNG: one picture, exactly."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from whygpu.draw.output.film import Film, Picture, Pixels, rgba_of

__all__ = ["encode", "write"]


def write(path: Path, pictures: Iterable[Picture], film: Film) -> None:
    """Write the only picture of a film."""
    (picture,) = pictures
    with path.open("wb") as stream:
        encode(stream, rgba_of(picture))


def encode(stream: Any, rgba: Pixels, *, alpha: bool | None = None) -> None:
    """Write one PNG to a binary stream; ``alpha`` None: with alpha only where some pixel needs it."""
    from PIL import Image

    if alpha is None:
        alpha = not bool((rgba[..., 3] == 255).all())
    Image.fromarray(rgba if alpha else np.ascontiguousarray(rgba[..., :3])).save(stream, format="PNG")
