"""What lights a scene, and what is behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whygpu.draw.arrays import numbers
from whygpu.draw.material import Color
from whygpu.engine import UserError

__all__ = ["Background", "Light"]

Kind = Literal["directional", "point", "spot"]


@dataclass(frozen=True)
class Light:
    """A directional light (the sun: parallel rays), a point light, or a spot light (KHR_lights_punctual).

    Raises
    ------
    UserError
        For a number that is not finite, a direction of length zero, cone angles that make no cone.
    """

    direction: Color = (0.0, 0.0, -1.0)
    """Where the light travels to; any length but zero. A point light has none."""
    color: Color = (1.0, 1.0, 1.0)
    """Linear RGB times intensity: what a white surface that faces the light sends back, for a point or spot
    light at a distance of 1 (an illuminance in lux, or an intensity in candela, divided by pi)."""
    kind: Kind = "directional"
    position: Color = (0.0, 0.0, 0.0)
    """Of a point or spot light, in the world."""
    reach: float = math.inf
    """Distance at which a point or spot light fades to nothing (glTF's range)."""
    inner: float = 0.0
    """Angle from a spot's axis to where it begins to fade, degrees ..."""
    outer: float = 45.0
    """... and to where nothing is left."""
    casts_shadow: bool = True
    """Whether it casts shadows where shadows are asked for."""

    def __post_init__(self) -> None:
        for what in ("direction", "color", "position"):  # lists and arrays too, which have no hash
            object.__setattr__(self, what, numbers(f"light: {what}", getattr(self, what), 3))
        if not np.isfinite(self.direction).all() or not np.any(self.direction):
            raise UserError(f"light: the direction {self.direction} must be finite and not zero")
        if not np.isfinite([*self.color, *self.position]).all() or min(self.color) < 0:
            raise UserError("light: colour and position must be finite, the colour not negative")
        if self.kind not in ("directional", "point", "spot"):
            raise UserError(f"light: kind {self.kind!r} is unknown; known: directional, point, spot")
        if not self.reach > 0 or not 0 <= self.inner < self.outer <= 90:
            raise UserError("light: it must have reach > 0 and 0 <= inner < outer <= 90 degrees")


@dataclass(frozen=True)
class Background:
    """What is seen where nothing is: a vertical gradient of sRGB colours, 0 to 1, with alpha."""

    top: tuple[float, float, float, float] = (0.105, 0.125, 0.165, 1.0)
    bottom: tuple[float, float, float, float] = (0.255, 0.285, 0.335, 1.0)

    def __post_init__(self) -> None:
        for what in ("top", "bottom"):
            color = numbers(f"background: {what}", getattr(self, what), 4)
            if not all(0 <= part <= 1 for part in color):
                raise UserError(f"background: {what} {color}; give red, green, blue, alpha from 0 to 1")
            object.__setattr__(self, what, color)
