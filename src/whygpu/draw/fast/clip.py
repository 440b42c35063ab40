"""Triangles that cross the near or far plane or leave the guard band, cut before the divide by w."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

import numpy as np

from whygpu.engine.jit import inlined

__all__ = ["MAX_PIECES", "clip_triangle"]

MAX_PIECES = 64
"""Six planes, each at most doubling the pieces."""


@inlined
def clip_triangle(work, viewport):
    """Cut the triangle ``work[0, 0]``, (3, 4) in clip space, by near, far and the guard band.

    ``work`` is (2, MAX_PIECES, 3, 4) float64. Returns how many pieces ``work[0]`` then holds. The order of
    the operations is that of ``portable.clip``, to the last bit.
    """
    count = np.int64(1)  # not a literal, or Numba would compile the helpers twice
    for plane in range(7):
        axis = 2 if plane < 2 else (plane - 2) // 2
        sign = 1.0 - 2.0 * (plane % 2)
        guard = 1.0 if plane < 2 else viewport[4 + axis]
        made = np.int64(0)
        for piece in range(count):
            if plane < 6:
                made = _cut(work, piece, made, axis, sign, guard)
            elif work[0, piece, 0, 3] > 0 and work[0, piece, 1, 3] > 0 and work[0, piece, 2, 3] > 0:
                made = _keep(work, piece, made)  # only what lies before the eye has a place in the picture
        count = made
        for piece in range(count):
            for i in range(12):
                work[0, piece, i // 4, i % 4] = work[1, piece, i // 4, i % 4]
    return count


@inlined
def _keep(work, piece, made):
    """Take ``work[0, piece]`` as it is."""
    for i in range(12):
        work[1, made, i // 4, i % 4] = work[0, piece, i // 4, i % 4]
    return made + 1


@inlined
def _cut(work, piece, made, axis, sign, guard):
    """Keep what of ``work[0, piece]`` lies inside a plane as none, one or two pieces of ``work[1]``."""
    inside, odd_in, odd_out = 0, 0, 0
    for i in range(3):
        if work[0, piece, i, 3] * guard + work[0, piece, i, axis] * sign >= 0:
            inside += 1
            odd_in = i
        else:
            odd_out = i
    if inside == 0:
        return made
    if inside == 3:
        return _keep(work, piece, made)
    a = odd_in if inside == 1 else odd_out
    b, c = (a + 1) % 3, (a + 2) % 3
    da = work[0, piece, a, 3] * guard + work[0, piece, a, axis] * sign
    db = work[0, piece, b, 3] * guard + work[0, piece, b, axis] * sign
    dc = work[0, piece, c, 3] * guard + work[0, piece, c, axis] * sign
    for i in range(4):
        ai, bi, ci = work[0, piece, a, i], work[0, piece, b, i], work[0, piece, c, i]
        if inside == 1:
            work[1, made, 0, i] = ai
            work[1, made, 1, i] = ai + (bi - ai) * (da / (da - db))
            work[1, made, 2, i] = ai + (ci - ai) * (da / (da - dc))
        else:
            on_b = bi + (ai - bi) * (db / (db - da))
            on_c = ci + (ai - ci) * (dc / (dc - da))
            work[1, made, 0, i], work[1, made, 1, i], work[1, made, 2, i] = bi, ci, on_c
            work[1, made + 1, 0, i], work[1, made + 1, 1, i], work[1, made + 1, 2, i] = bi, on_c, on_b
    return made + 1 if inside == 1 else made + 2
