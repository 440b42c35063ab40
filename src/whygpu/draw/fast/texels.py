"""Texels of 16 pixels at once: fetched, decoded and mixed."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import numpy as np

from whygpu.draw.fast.arithmetic import ALPHA_AT, BLUE_AT, GREEN_AT, RED_AT
from whygpu.engine.jit import inlined
from whygpu.engine.simd import byte_of, choose, gather_i32

__all__ = ["mix"]

_1, _1_OVER_255 = np.float32(1), np.float32(1 / 255)
# The sRGB curve (IEC 61966-2-1) from a byte above 10 to linear light: the polynomial with the least maximal
# error, which is 0.05 of an 8-bit step at any of these bytes. Below, the curve is a line.
_C0, _C1, _C2 = np.float32(1.0637067e-3), np.float32(1.1011126e-4), np.float32(8.642345e-6)
_C3, _C4 = np.float32(3.1592002e-8), np.float32(-2.72897e-11)
_LAST_OF_LINE, _LINE = np.float32(10), np.float32(1 / 255 / 12.92)


@inlined
def _decoded(code, srgb):
    """What bytes stand for: linear light, or a plain share of 255."""
    if srgb:
        curve = _C0 + code * (_C1 + code * (_C2 + code * (_C3 + code * _C4)))
        return choose(code, _LAST_OF_LINE, curve, code * _LINE)
    return code * _1_OVER_255


@inlined
def _weighed(texels, first, spot, weight, srgb, sums):
    """Add one texel of each pixel to the sums."""
    word = gather_i32(texels, first, spot)
    red, green, blue, alpha = sums
    return (
        red + weight * _decoded(byte_of(word, RED_AT), srgb),
        green + weight * _decoded(byte_of(word, GREEN_AT), srgb),
        blue + weight * _decoded(byte_of(word, BLUE_AT), srgb),
        alpha + weight * _decoded(byte_of(word, ALPHA_AT), False),
    )


@inlined
def mix(texels, first, spots, share, srgb, sums):
    """Add the four texels around each pixel in one level (``texture.corners``) to the sums: linear RGBA.

    ``first`` is the first texel of the mipmap in ``texels`` (N, 4) uint8.
    """
    left_above, right_above, left_below, right_below, across, down = spots
    bottom = share * down
    top = share - bottom
    right_top, right_bottom = top * across, bottom * across
    sums = _weighed(texels, first, left_above, top - right_top, srgb, sums)
    sums = _weighed(texels, first, right_above, right_top, srgb, sums)
    sums = _weighed(texels, first, left_below, bottom - right_bottom, srgb, sums)
    return _weighed(texels, first, right_below, right_bottom, srgb, sums)
