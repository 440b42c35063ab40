"""All images of a scene in one array, each with its mipmap: what a graphics driver would upload.

A level is half as wide and high as the one before, rounded down, and each of its texels is the mean of the
texels under it (a box filter; where a side is odd, texels on the border of two count in part for each).
Colours are averaged in linear light, not as sRGB codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.material import Material, Texture

__all__ = ["SLOTS", "TABLES", "Textures", "mipmap"]

SLOTS = 5
"""Base colour, metallic-roughness, normal, occlusion, emissive."""
_IS_SRGB = (True, False, False, False, True)
_WRAPS = {"repeat": 0, "clamp": 1, "mirror": 2}


def _srgb_table() -> NDArray[np.float32]:
    code = np.arange(256) / 255
    linear = np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)
    return np.stack([code, linear]).astype(np.float32)


TABLES = _srgb_table()
"""(2, 256) float32: what a byte stands for; the first row linear, the second sRGB (IEC 61966-2-1)."""


@dataclass(frozen=True, eq=False)
class Textures:
    """Images, and how each material samples them."""

    texels: NDArray[np.uint8]
    """(N, 4) RGBA: level after level, row after row."""
    levels: NDArray[np.int64]
    """(levels, 3): first texel, width, height."""
    samplers: NDArray[np.int64]
    """(nodes, 5 slots, 8): first level, how many levels (0: no texture), wrap along u, along v, linear when
    magnified, linear when minified, mipmap (0 none, 1 nearest, 2 linear), column of u in the coordinates."""
    transforms: NDArray[np.float64]
    """(nodes, 5 slots, 6): rows of the matrix that turns u, v, 1 into where the image is sampled."""

    @classmethod
    def of(cls, materials: Sequence[Material]) -> Textures:
        """Gather the images of all nodes' materials; an image in use as one kind is stored once."""
        texels: list[NDArray[np.uint8]] = []
        levels: list[tuple[int, int, int]] = []
        known: dict[tuple[int, bool], tuple[int, int]] = {}
        samplers = np.zeros((len(materials), SLOTS, 8), np.int64)
        transforms = np.zeros((len(materials), SLOTS, 6))
        start = 0
        for node, material in enumerate(materials):
            for slot, texture in enumerate(material.textures):
                if texture is None:
                    continue
                key = id(texture.image), _IS_SRGB[slot]
                if key not in known:
                    pyramid = mipmap(texture.image, _IS_SRGB[slot])
                    known[key] = len(levels), len(pyramid)
                    for level in pyramid:
                        levels.append((start, level.shape[1], level.shape[0]))
                        texels.append(level.reshape(-1, 4))
                        start += level.shape[0] * level.shape[1]
                samplers[node, slot] = *known[key], *_sampler(texture)
                transforms[node, slot] = texture.transform.ravel()
        pool = np.concatenate(texels or [np.zeros((0, 4), np.uint8)])
        return cls(pool, np.array(levels, np.int64).reshape(-1, 3), samplers, transforms)


def _sampler(texture: Texture) -> tuple[int, ...]:
    between = {None: 0, "nearest": 1, "linear": 2}[texture.mipmap]
    wrap_u, wrap_v = (_WRAPS[wrap] for wrap in texture.wrap)
    return (
        wrap_u,
        wrap_v,
        int(texture.magnify == "linear"),
        int(texture.minify == "linear"),
        between,
        2 * texture.uv,
    )


def mipmap(image: NDArray[np.uint8], srgb: bool) -> list[NDArray[np.uint8]]:
    """The image (H, W, 4) uint8 and its smaller levels, down to one texel."""
    pyramid = [image]
    level = np.empty(image.shape, np.float32)
    level[..., :3], level[..., 3] = TABLES[int(srgb)][image[..., :3]], TABLES[0][image[..., 3]]
    while max(level.shape[:2]) > 1:
        level = _halved(_halved(level).swapaxes(0, 1)).swapaxes(0, 1)
        code = level.copy()
        if srgb:
            code[..., :3] = _encoded(level[..., :3])
        pyramid.append(np.ascontiguousarray(np.round(code * 255).astype(np.uint8)))
    return pyramid


def _halved(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of two rows each, of parts of three where their number is odd."""
    count = len(rows)
    half = count // 2
    if half == 0:
        return rows
    if count % 2 == 0:
        return (rows[0::2] + rows[1::2]) * np.float32(0.5)
    place = np.arange(half, dtype=np.float32)[:, None, None]
    first, last = (half - place) / np.float32(count), (place + 1) / np.float32(count)
    middle = np.float32(half / count)
    mean: NDArray[np.float32] = rows[0:-1:2] * first + rows[1::2] * middle + rows[2::2] * last
    return mean


def _encoded(linear: NDArray[np.float32]) -> NDArray[np.float32]:
    bright = 1.055 * np.maximum(linear, 0.0031308) ** np.float32(1 / 2.4) - 0.055
    code: NDArray[np.float32] = np.where(linear > 0.0031308, bright, 12.92 * linear)
    return code
