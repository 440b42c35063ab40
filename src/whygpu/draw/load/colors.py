"""Colours as files store them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["linear"]


def linear(srgb: Any) -> NDArray[np.float32]:
    """sRGB from 0 to 1 as linear light (IEC 61966-2-1); a fourth column, alpha, stays as it is."""
    values = np.asarray(srgb, np.float64)
    light = np.where(values <= 0.04045, values / 12.92, ((np.maximum(values, 0) + 0.055) / 1.055) ** 2.4)
    if values.ndim == 2 and values.shape[1] == 4:
        light[:, 3] = values[:, 3]
    return light.astype(np.float32)
