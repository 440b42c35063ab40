"""Lists, strips, loops and fans of vertices as triangles and lines (glTF 2.0, section 3.7.2.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["lines", "triangles"]

LINES, LINE_LOOP, LINE_STRIP = 1, 2, 3
TRIANGLES, TRIANGLE_STRIP, TRIANGLE_FAN = 4, 5, 6


def triangles(mode: int, vertices: NDArray[Any]) -> NDArray[np.int32]:
    """(T, 3) from the vertices in drawing order, (n,); what is left over at the end draws nothing."""
    v = vertices.astype(np.int32)
    if mode == TRIANGLES:
        return v[: len(v) // 3 * 3].reshape(-1, 3)
    if len(v) < 3:
        return np.zeros((0, 3), np.int32)
    i = np.arange(len(v) - 2)
    if mode == TRIANGLE_STRIP:  # every second one is turned, so that all face the same way
        return np.stack([v[i], v[i + 1 + i % 2], v[i + 2 - i % 2]], axis=1)
    return np.stack([v[i + 1], v[i + 2], np.broadcast_to(v[0], i.shape)], axis=1)


def lines(mode: int, vertices: NDArray[Any]) -> NDArray[np.int32]:
    """(L, 2) from the vertices in drawing order, (n,)."""
    v = vertices.astype(np.int32)
    if mode == LINES:
        return v[: len(v) // 2 * 2].reshape(-1, 2)
    if mode == LINE_LOOP and len(v) > 1:
        return np.stack([v, np.roll(v, -1)], axis=1)
    return np.stack([v[:-1], v[1:]], axis=1)
