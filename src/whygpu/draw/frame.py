"""What a render returns: the picture, what is where in it, and how it came about."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Frame", "Statistics"]


@dataclass(frozen=True)
class Statistics:
    """What one frame took."""

    triangles: int
    """In the scene."""
    vertices: int
    """In the scene; each is transformed once."""
    pixels_tested: int
    """Points for which a triangle's three edge functions were evaluated."""
    pixels_lit: int
    """Pixels that show a triangle; each is shaded once."""
    path: str
    """``fast`` or ``portable``."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Measured here, by stage: ``vertex``, ``raster``, ``shade``, and ``shadow`` where there are any."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A drawn picture. The first row is the top."""

    rgba: NDArray[np.uint8]
    """(height, width, 4) sRGB with straight alpha."""
    depth: NDArray[np.float32]
    """(height, width): 0 at the near plane, 1 at the far plane and where nothing is."""
    ids: NDArray[np.int32]
    """(height, width): the triangle seen, counted through the scene's nodes; -1 where nothing is. Lines and
    points come after all triangles, two ids each. What is blended is not counted as seen."""
    statistics: Statistics
    normals: NDArray[np.float32] | None = None
    """(height, width, 3): the unit normal in the world of what is seen, turned to the eye; 0 where nothing
    is. None where it was not asked for."""

    def save(self, path: str | Path) -> None:
        """Write a picture or arrays, by the suffix (``output.save``); whole or not at all.

        Raises
        ------
        UserError
            Where it cannot be written.
        """
        from whygpu.draw.output import Film, save

        height, width = self.ids.shape
        save(path, [self], Film(width, height, transparent=bool((self.rgba[..., 3] < 255).any())))

    def write_png(self, stream: Any) -> None:
        """Write a PNG to a binary stream."""
        from whygpu.draw.output.png import encode

        encode(stream, self.rgba)

    def _repr_png_(self) -> bytes:
        """Show the picture in a notebook."""
        stream = io.BytesIO()
        self.write_png(stream)
        return stream.getvalue()
