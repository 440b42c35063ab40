"""The rectangle of a picture that must be stored, where the picture before it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Region", "bounds", "changed"]


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of pixels, never empty."""

    left: int
    top: int
    width: int
    height: int

    @property
    def rows(self) -> slice:
        """Into an array's first axis."""
        return slice(self.top, self.top + self.height)

    @property
    def columns(self) -> slice:
        """Into an array's second axis."""
        return slice(self.left, self.left + self.width)


def changed(before: NDArray[Any] | None, now: NDArray[Any]) -> Region:
    """Where two pictures (height, width[, channels]) differ; everything where there is none before."""
    if before is None:
        return Region(0, 0, now.shape[1], now.shape[0])
    different = before != now
    return bounds(different.any(-1) if different.ndim == 3 else different)


def bounds(mask: NDArray[np.bool_]) -> Region:
    """The smallest rectangle around what is set; the first pixel where nothing is."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return Region(0, 0, 1, 1)
    return Region(
        int(columns[0]), int(rows[0]), int(columns[-1] - columns[0]) + 1, int(rows[-1] - rows[0]) + 1
    )
