"""Values that change with time: keyframes and what lies between them (glTF 2.0, section 3.11)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Animation", "Interpolation", "Path", "Track", "slerp"]

Floats = NDArray[np.float64]
Path = Literal["translation", "rotation", "scale", "weights"]
Interpolation = Literal["linear", "step", "cubic"]


@dataclass(frozen=True, eq=False)
class Track:
    """One property of one node over time."""

    node: int
    """Its place in the rig's tree."""
    path: Path
    times: NDArray[np.float32]
    """(K,) seconds, never falling."""
    values: NDArray[np.float32]
    """(K, n); for ``cubic`` (K, 3, n): the slope that arrives, the value, the slope that leaves."""
    interpolation: Interpolation = "linear"

    def at(self, time: float) -> Floats:
        """The value (n,) at a time in seconds; before the first key and after the last it stands still.

        A rotation is a unit quaternion (x, y, z, w).
        """
        times = self.times
        key = int(np.searchsorted(times, time, "right")) - 1
        if key < 0 or key + 1 >= len(times):
            return self._turn(self._key(0 if key < 0 else len(times) - 1))
        if self.interpolation == "step":
            return self._turn(self._key(key))
        start, end = float(times[key]), float(times[key + 1])
        t = (time - start) / (end - start)
        if self.interpolation == "cubic":
            return self._turn(self._spline(key, t, end - start))
        a, b = self._key(key), self._key(key + 1)
        return slerp(a, b, t) if self.path == "rotation" else a + (b - a) * t

    def _key(self, key: int) -> Floats:
        found = self.values[key, 1] if self.interpolation == "cubic" else self.values[key]
        values: Floats = found.astype(np.float64)
        return values

    def _spline(self, key: int, t: float, seconds: float) -> Floats:
        """A cubic Hermite curve whose slopes are given per second (appendix C)."""
        leaving = self.values[key, 2].astype(np.float64) * seconds
        arriving = self.values[key + 1, 0].astype(np.float64) * seconds
        t2, t3 = t * t, t * t * t
        curve: Floats = (
            (2 * t3 - 3 * t2 + 1) * self._key(key)
            + (t3 - 2 * t2 + t) * leaving
            + (3 * t2 - 2 * t3) * self._key(key + 1)
            + (t3 - t2) * arriving
        )
        return curve

    def _turn(self, value: Floats) -> Floats:
        if self.path != "rotation":
            return value
        length = float(np.linalg.norm(value))
        return value / length if length > 0 else np.array([0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Animation:
    """Tracks that run together."""

    name: str
    tracks: tuple[Track, ...]

    @property
    def seconds(self) -> float:
        """When the last key of all tracks is reached."""
        return max((float(track.times[-1]) for track in self.tracks), default=0.0)


def slerp(a: Floats, b: Floats, t: float) -> Floats:
    """From quaternion ``a`` to ``b`` along the shorter arc at an even speed (Shoemake, 1985); (4,)."""
    cosine = float(a @ b)
    if cosine < 0:  # b and -b are the same rotation; the nearer one
        b, cosine = -b, -cosine
    angle = math.acos(min(cosine, 1.0))
    if angle < 1e-4:  # the arc is straight to within float64, and sin(angle) nearly zero
        mixed = a + (b - a) * t
    else:
        mixed = (math.sin((1 - t) * angle) * a + math.sin(t * angle) * b) / math.sin(angle)
    length = float(np.linalg.norm(mixed))
    return mixed / length if length > 0 else np.array([0.0, 0.0, 0.0, 1.0])
