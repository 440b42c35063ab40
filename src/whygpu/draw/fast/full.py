"""What a frame needs beyond directional light on opaque, untextured surfaces; kernels get it, or None."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Full"]


class Full(NamedTuple):
    """Arrays for the full variant of the shade kernel; Numba leaves out all that uses it where it is None."""

    uv: Any
    """(V, 4) float32, or (0, 4)."""
    tangents: Any
    """(V, 4) float32, or (0, 4)."""
    texels: Any
    """(N, 4) uint8; this and the next three are those of ``textures.Textures``."""
    levels: Any
    samplers: Any
    transforms: Any
    turn: Any
    """(nodes, 3, 3) float32: tangents to the world."""
    sight: Any
    """(6, 3) float64, and ``distance`` (2,): see ``Uniforms``."""
    distance: Any
    orthographic: bool
    located: bool
    """Whether the light depends on the place."""
    lamps: Any
    """(lights, 16) float64."""
    maps: Any
    """(maps, side, side) float32: depth; (0, 1, 1) without shadows."""
    matrices: Any
    """(maps, 4, 4) float64: from the world to each."""
    functions: Any
    """(threads, ...) float64: working space of ``runs``."""
    located_at: Any
    """(threads, 3 * STRIDE) float64: places in the world."""
    coordinates: Any
    """(threads, 4 * STRIDE) float64: texture coordinates, and how they change; then places in shadow maps."""
    alone: bool
    """Whether pixels are interpolated one by one, since their centres may lie outside of what they show."""
    listed: int
    """1 where the pixels are a list, 0 where they are the picture itself."""
    places: Any
    """(rows, BLOCK) int32: row << 16 | column of each pixel of the list; else one row of anything."""
    colors: Any
    """(rows * BLOCK, 4) float32, linear RGB and alpha of those pixels."""
    facing: Any
    """(rows, columns, 3) float32 normals of pixels; (0, 0, 3) where nobody asked."""
