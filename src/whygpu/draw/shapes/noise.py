"""Repeatable roughness: gradient noise (Perlin, 1985) and its sum over octaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["fractal", "gradient_noise"]

Floats = NDArray[np.float64]


def gradient_noise(x: Floats, y: Floats, seed: int = 0) -> Floats:
    """Smooth noise, about -0.7 to 0.7, with features of size 1."""
    random = np.random.default_rng(seed)
    turn = 2 * np.pi * random.random(256)
    order = random.permutation(256).astype(np.int16)
    slope_x, slope_y = np.cos(turn)[order], np.sin(turn)[order]
    left, top = np.floor(x).astype(np.int32), np.floor(y).astype(np.int32)
    fx, fy = x - left, y - top
    blend_x, blend_y = (f * f * f * (f * (f * 6 - 15) + 10) for f in (fx, fy))

    def corner(i: int, j: int) -> Floats:
        place = (order[(left + i) & 255] + top + j) & 255
        value: Floats = slope_x[place] * (fx - i) + slope_y[place] * (fy - j)
        return value

    upper = corner(0, 0) * (1 - blend_x) + corner(1, 0) * blend_x
    lower = corner(0, 1) * (1 - blend_x) + corner(1, 1) * blend_x
    return upper * (1 - blend_y) + lower * blend_y


def fractal(x: Floats, y: Floats, octaves: int, seed: int = 0, ridged: bool = False) -> Floats:
    """Octaves of noise, each twice as fine and half as strong; ``ridged`` folds it into crests."""
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    for octave in range(octaves):
        noise = gradient_noise(x * 2**octave, y * 2**octave, seed + octave)
        total += (0.5 - np.abs(noise) * 1.4 if ridged else noise) / 2**octave
    return total
