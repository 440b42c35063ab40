"""Texture sampling: where a level's texels lie, which level, and the weighted mean of up to eight texels.

The rules are those of OpenGL ES 3.0 (section 3.8) with the exact derivatives of the coordinates in place of
differences between pixels. Every choice between two texels or levels (a floor, a comparison) is moved by a
tiny constant, so that rounding cannot decide it where it falls on a border exactly.
"""

from __future__ import annotations

from typing import Any

from whygpu.draw.fast.texture import LEVEL_TIE, TEXEL_TIE
from whygpu.draw.textures import TABLES, Textures
from whygpu.engine import current

__all__ = ["sample"]


def sample(
    xp: Any, textures: Textures, slot: int, node: Any, uv: Any, uv_x: Any, uv_y: Any
) -> tuple[Any, Any]:
    """Sample one slot of each pixel's material.

    ``uv`` (n, 4) float64 are both sets of coordinates, ``uv_x`` and ``uv_y`` what they gain for one pixel to
    the right and down. Returns RGBA (n, 4) float32, linear, and which pixels have a texture, (n, 1) bool.
    """
    backend = current()
    sampler = xp.take(backend.asarray(textures.samplers[:, slot], "int64"), node, axis=0)  # (n, 8)
    transform = xp.take(backend.asarray(textures.transforms[:, slot], "float64"), node, axis=0)  # (n, 6)
    second = sampler[:, 7] == 2
    place, gain_x, gain_y = (_placed(xp, a, second, transform, i) for i, a in enumerate((uv, uv_x, uv_y)))
    levels = backend.asarray(textures.levels, "int64")
    size = xp.astype(xp.take(levels, sampler[:, 0], axis=0)[:, 1:], xp.float64)  # (n, 2)
    gain_x, gain_y = gain_x * size, gain_y * size
    across = gain_x[:, 0] * gain_x[:, 0] + gain_x[:, 1] * gain_x[:, 1]
    down = gain_y[:, 0] * gain_y[:, 0] + gain_y[:, 1] * gain_y[:, 1]
    rho2 = xp.where(across > down, across, down)
    level = 0.5 * xp.log2(xp.where(rho2 > 1e-30, rho2, xp.zeros_like(rho2) + 1e-30))
    smaller = level > LEVEL_TIE
    last = sampler[:, 1] - 1
    level = xp.where(smaller & (sampler[:, 6] > 0), level, xp.zeros_like(level))
    most = xp.astype(xp.where(last > 0, last, xp.zeros_like(last)), xp.float64)
    level = xp.where(level < most, level, most)
    level = xp.where(sampler[:, 6] == 1, xp.floor(level + (0.5 + LEVEL_TIE)), level)
    whole = xp.floor(level)
    part = xp.astype(level - whole, xp.float32)[:, None]
    linear = xp.where(smaller, sampler[:, 5], sampler[:, 4]) == 1
    low = xp.astype(whole, xp.int64)
    high = xp.where(low < last, low + 1, low)
    table = backend.asarray(TABLES[1 if slot in (0, 4) else 0], "float32")
    plain = backend.asarray(TABLES[0], "float32")
    texels = backend.asarray(textures.texels, "int64")

    def mean(step: Any) -> Any:
        row = xp.take(levels, sampler[:, 0] + step, axis=0)  # (n, 3)
        return _bilinear(xp, texels, (table, plain), row, place, sampler, linear)

    first = mean(low)
    return first + (mean(high) - first) * part, (sampler[:, 1] > 0)[:, None]


def _placed(xp: Any, uv: Any, second: Any, transform: Any, derivative: int) -> Any:
    """Coordinates of the right set, or their derivative, after the texture's transform; (n, 2) float64."""
    u, v = xp.where(second, uv[:, 2], uv[:, 0]), xp.where(second, uv[:, 3], uv[:, 1])
    parts = []
    for row in (0, 3):
        part = transform[:, row] * u + transform[:, row + 1] * v
        parts.append(part if derivative else part + transform[:, row + 2])
    return xp.stack(parts, axis=1)


def _bilinear(
    xp: Any, texels: Any, tables: tuple[Any, Any], level: Any, place: Any, sampler: Any, linear: Any
) -> Any:
    """The mean of four texels of a level by distance, or the nearest one; (n, 4) float32."""
    start, width, height = level[:, 0], level[:, 1], level[:, 2]
    x0, x1, right = _axis(xp, place[:, 0], width, sampler[:, 2], linear)
    y0, y1, below = _axis(xp, place[:, 1], height, sampler[:, 3], linear)

    def texel(x: Any, y: Any) -> Any:
        code = xp.take(texels, start + y * width + x, axis=0)  # (n, 4)
        rgb = xp.reshape(xp.take(tables[0], xp.reshape(code[:, :3], (-1,)), axis=0), (-1, 3))
        return xp.concat([rgb, xp.take(tables[1], code[:, 3], axis=0)[:, None]], axis=1)

    top, bottom = texel(x0, y0), texel(x0, y1)
    top = top + (texel(x1, y0) - top) * right
    bottom = bottom + (texel(x1, y1) - bottom) * right
    return top + (bottom - top) * below


def _axis(xp: Any, t: Any, count: Any, wrap: Any, linear: Any) -> tuple[Any, Any, Any]:
    """Along one axis: the texels before and after the coordinate ``t``, and how far it is between them."""
    zero, one = xp.zeros_like(t), xp.ones_like(t)
    size = xp.astype(count, xp.float64)
    t = xp.where(linear, t, t + TEXEL_TIE / size)  # first, as the image's border is a texel's too
    twice = t - 2.0 * xp.floor(t * 0.5)
    mirrored = xp.where(twice > 1, 2.0 - twice, twice)
    t = xp.where(wrap == 0, t - xp.floor(t), xp.where(wrap == 2, mirrored, t))
    t = xp.where(t > 0, xp.where(t < 1, t, one), zero)  # what is not a number becomes 0
    place = t * size - xp.where(linear, zero + 0.5, zero)
    whole = xp.floor(place)
    part = xp.where(linear, xp.astype(place - whole, xp.float32), xp.zeros_like(xp.astype(t, xp.float32)))
    low = xp.astype(whole, xp.int64)
    high = xp.where(linear, low + 1, low)
    return _wrapped(xp, low, count, wrap), _wrapped(xp, high, count, wrap), part[:, None]


def _wrapped(xp: Any, index: Any, count: Any, wrap: Any) -> Any:
    """A texel's index from -1 up to ``count``, brought back into the image."""
    zero, last = xp.zeros_like(index), count - 1
    below = xp.where(wrap == 0, last, zero)
    above = xp.where(wrap == 0, zero, last)
    return xp.where(index < 0, below, xp.where(index > last, above, index))
