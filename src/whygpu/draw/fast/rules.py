"""The rasterisation rules that both paths obey.

They live beside the kernels because the kernel cache's key is a hash of this folder: a changed rule
must never meet a kernel that was compiled for the old one.

All of them are the usual rules of graphics hardware (the Direct3D 11.3 functional specification,
section 3.4, writes them down): positions snapped to a sub-pixel grid, pixel centres at one half,
top-left edges inclusive, a guard band instead of clipping at the sides of the picture.
"""

SUBPIXEL_BITS = 8
"""Fractional bits of a snapped position."""
ONE = 1 << SUBPIXEL_BITS
"""A pixel, in sub-pixel units."""
HALF = ONE // 2
"""The centre of a pixel."""

MAX_SIDE = 16384
"""The largest width and height of a picture, in pixels."""
GUARD = 2 * MAX_SIDE
"""How far from the picture's centre a snapped position may lie, in pixels.

So positions have 24 bits, their differences 25, an edge function 51: exact in int64 and in float64.
"""
LIMIT = 2 * GUARD * ONE
"""Snapped positions are clamped to this, in case a clipped vertex misses the guard band by rounding."""

OUTSIDE = -(2**31)
"""Stands for the x of a vertex that must be clipped; its y then holds the outcode."""

NEAR, FAR, LEFT, RIGHT, BOTTOM, TOP = 1, 2, 4, 8, 16, 32
"""Bits of an outcode: the sides of the view volume that a vertex lies beyond (Cohen-Sutherland)."""

POSITION_BITS = 26
"""Bits of a coordinate before the transform; see ``uniforms.exact``."""
