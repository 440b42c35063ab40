"""Roots and the sRGB curve, from operations that vectorise.

The hardware's approximate reciprocal roots differ from maker to maker; its exact root and division give the
same bits everywhere, and cost less than Newton's steps after a guess.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import numpy as np

from whygpu.engine.jit import inlined

__all__ = ["inverse_root", "srgb"]

_HALF = np.float32(0.5)
# The sRGB curve above 0.0031308 as a polynomial in the root of the linear value: interpolated at 200
# Chebyshev nodes by least squares; off by at most 0.13 of an 8-bit step.
_C0, _C1, _C2 = np.float32(-0.03925528), np.float32(1.5002971), np.float32(-1.2969983)
_C3, _C4, _C5 = np.float32(1.7751777), np.float32(-1.3546826), np.float32(0.41563908)


@inlined
def inverse_root(x):
    """1 / sqrt(x) of a positive float32."""
    return np.float32(1) / np.sqrt(x)


@inlined
def srgb(linear):
    """Linear light to an sRGB byte, int32 (IEC 61966-2-1); out of range is clipped, NaN is 0."""
    x = linear if linear > 0 else np.float32(0)
    x = x if x < 1 else np.float32(1)
    t = np.sqrt(x)
    curve = _C0 + t * (_C1 + t * (_C2 + t * (_C3 + t * (_C4 + t * _C5))))
    value = curve if x > np.float32(0.0031308) else np.float32(12.92) * x
    return np.int32(value * np.float32(255) + _HALF)
