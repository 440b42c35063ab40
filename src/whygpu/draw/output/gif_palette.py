"""One palette for a whole film, and pictures written in it.

The colours of all pictures are counted as they pass. Few colours are kept exactly. Of many, the palette is
cut from a sample in which a colour weighs as the square root of how often it occurs, so that a small scarf is
not lost to a large sky; and what the palette lacks is dithered in a pattern that stands still from picture to
picture: error diffusion would make every still background swarm, and files twice as large.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.output.film import Pixels

__all__ = ["COLORS", "Colors", "Palette"]

COLORS = 255
"""Of a palette; the 256th says: nothing here, or as before."""
CELLS = 1 << 15
"""Five bits a channel: how finely colours are counted."""
SAMPLE = 1 << 18
"""Pixels of which the palette is cut."""

Codes = NDArray[np.uint32]


class Colors:
    """Counts the colours of pictures as they pass."""

    def __init__(self) -> None:
        self._few: Codes | None = np.empty(0, np.uint32)
        self._count = np.zeros(CELLS, np.int64)
        self._sum = np.zeros((3, CELLS))

    def add(self, rgb: Pixels) -> None:
        """Count some pixels, (n, 3)."""
        if self._few is not None:
            union = np.union1d(self._few, np.unique(_codes(rgb))).astype(np.uint32)
            self._few = union if len(union) <= COLORS else None
        fifths = (rgb >> 3).astype(np.int64)
        cell = fifths[:, 0] << 10 | fifths[:, 1] << 5 | fifths[:, 2]
        self._count += np.bincount(cell, minlength=CELLS)
        for channel in range(3):
            self._sum[channel] += np.bincount(cell, rgb[:, channel], CELLS)

    def palette(self) -> Palette:
        """The palette for all that was counted."""
        if self._few is not None:
            return Palette(np.stack([self._few >> shift & 255 for shift in (16, 8, 0)], 1).astype(np.uint8))
        cells = np.flatnonzero(self._count)
        means = np.round(self._sum[:, cells] / self._count[cells]).astype(np.uint8).T  # (cells, 3)
        weights = np.sqrt(self._count[cells])
        sample = np.repeat(means, np.ceil(weights * (SAMPLE / weights.sum())).astype(np.int64), axis=0)
        colors = _cut(sample)
        return Palette(colors, _spacing(colors))


class Palette:
    """Up to 255 colours, sorted, and how strongly to dither between them; 0: there are no others."""

    def __init__(self, colors: Pixels, spread: float = 0.0) -> None:
        from PIL import Image

        self.colors = colors if len(colors) else np.zeros((1, 3), np.uint8)
        self._spread = spread
        self._image = Image.new("P", (1, 1))
        self._image.putpalette(self.colors.tobytes())

    def indices(self, rgb: Pixels) -> NDArray[np.uint8]:
        """The palette's colour of each pixel, (height, width), for (height, width, 3)."""
        from PIL import Image

        if not self._spread:
            place = np.searchsorted(_codes(self.colors), _codes(rgb))
            return np.minimum(place, len(self.colors) - 1).astype(np.uint8)
        height, width = rgb.shape[:2]
        tiles = np.tile(_BAYER, (height // 8 + 1, width // 8 + 1))[:height, :width, None]
        rgb = np.clip(rgb + tiles * self._spread + 0.5, 0, 255).astype(np.uint8)
        chosen = Image.fromarray(rgb).quantize(palette=self._image, dither=Image.Dither.NONE)
        return np.asarray(chosen)


def _codes(rgb: Pixels) -> Codes:
    """Each pixel as one number, (..., 3) to (...)."""
    wide = rgb.astype(np.uint32)
    codes: Codes = (wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]).astype(np.uint32, copy=False)
    return codes


def _cut(sample: Pixels) -> Pixels:
    """Median cut, then three rounds of k-means."""
    from PIL import Image

    image = Image.fromarray(sample[None])
    cut = image.quantize(COLORS, method=Image.Quantize.MEDIANCUT, kmeans=3)
    colors = np.array(cut.getpalette(), np.uint8).reshape(-1, 3)[:COLORS]
    return np.unique(colors, axis=0)


def _spacing(colors: Pixels) -> float:
    """About how far a palette's colours lie apart along a channel."""
    wide = colors.astype(np.float32)
    apart = ((wide[:, None] - wide[None]) ** 2).sum(-1)  # (colors, colors)
    np.fill_diagonal(apart, np.inf)
    return float(np.median(np.sqrt(apart.min(1) / 3)))


def _bayer() -> NDArray[np.float32]:
    """Bayer's 8x8 matrix of thresholds, from -1/2 to 1/2."""
    pattern = np.zeros((1, 1))
    for _ in range(3):
        pattern = np.block([[4 * pattern, 4 * pattern + 2], [4 * pattern + 3, 4 * pattern + 1]])
    return ((pattern + 0.5) / 64 - 0.5).astype(np.float32)


_BAYER = _bayer()
