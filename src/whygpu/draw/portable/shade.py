"""Colour of every fragment, once, then of every pixel: mixed front to back, encoded as sRGB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from whygpu.draw.fast.texture import CUTOFF_TIE
from whygpu.draw.geometry import Geometry
from whygpu.draw.portable.fragments import Fragments
from whygpu.draw.portable.light import light
from whygpu.draw.portable.raster import Visible
from whygpu.draw.portable.surface import corner_positions, interpolate, textured
from whygpu.draw.portable.transform import Vertices
from whygpu.draw.textures import TABLES
from whygpu.draw.uniforms import Uniforms
from whygpu.engine import current, other

__all__ = ["Picture", "compose", "encode", "shade"]

FRAGMENTS_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Picture:
    """What a frame shows, by pixel, as arrays of the backend."""

    rgba: Any
    """(height * width, 4) uint8."""
    depth: Any
    """(height * width,) float32."""
    ids: Any
    """(height * width,) int64."""
    normals: Any
    """(height * width, 3) float32, or None."""


def shade(
    geometry: Geometry, vertices: Vertices, fragments: Fragments, uniforms: Uniforms, maps: Any
) -> tuple[Any, Any, Any]:
    """Linear RGB (n, 3) and alpha (n,) of all fragments, and their normals (n, 3)."""
    backend = current()
    xp = backend.xp
    position = corner_positions(xp, vertices, uniforms)
    none = xp.zeros((0, 3), dtype=xp.float32, device=backend.device)
    colors, alphas, normals = [none], [none[:, 0]], [none]
    count = fragments.pixel.shape[0]
    for start in range(0, count, FRAGMENTS_AT_ONCE):
        part = slice(start, min(start + FRAGMENTS_AT_ONCE, count))
        triangle, pixel = fragments.triangle[part], fragments.pixel[part]
        surface = interpolate(xp, geometry, vertices, position, uniforms, triangle, pixel)
        surface = textured(xp, geometry, uniforms, surface)
        n, lamps = pixel.shape[0], len(uniforms.lamps)
        with other("lighting", flop=(70 + 60 * lamps) * n, size=60 * n):
            material = xp.take(backend.asarray(uniforms.material, "float32"), surface.node, axis=0)
            base = surface.base[:, :3]
            lit = light(xp, uniforms, surface, maps)
            colors.append(xp.where(material[:, 11:12] > 0, base * material[:, 14:15], lit))
            alphas.append(_alpha(xp, surface.base[:, 3], material))
            normals.append(surface.normal)
    return xp.concat(colors, axis=0), xp.concat(alphas, axis=0), xp.concat(normals, axis=0)


def _alpha(xp: Any, alpha: Any, material: Any) -> Any:
    """Alpha by the material's mode, (n,): opaque 1; mask 0 or 1; blend as it is."""
    one, zero = xp.ones_like(alpha), xp.zeros_like(alpha)
    masked = xp.where(alpha >= material[:, 9] - CUTOFF_TIE, one, zero)
    alpha = xp.where(alpha < 1, xp.where(alpha > 0, alpha, zero), one)
    return xp.where(material[:, 10] == 0, one, xp.where(material[:, 10] == 1, masked, alpha))


def compose(
    geometry: Geometry,
    fragments: Fragments,
    shaded: tuple[Any, Any, Any],
    visible: Visible,
    uniforms: Uniforms,
) -> tuple[Picture, int]:
    """Mix the fragments of each pixel front to back over the background; how many pixels show any.

    A pixel's samples are mixed each by itself and averaged, in linear light.
    """
    backend = current()
    xp = backend.xp
    pixels = uniforms.width * uniforms.height
    every = xp.arange(pixels, dtype=xp.int64, device=backend.device)
    background = backend.asarray(uniforms.background, "uint8")  # (height, 4)
    here = xp.take(background, every // uniforms.width, axis=0)
    if fragments.pixel.shape[0] == 0:
        empty = xp.zeros((pixels, 3), dtype=xp.float32, device=backend.device) if uniforms.normals else None
        return Picture(here, visible.depth, visible.ids, empty), 0
    with other("blending", flop=10 * fragments.pixel.shape[0], size=24 * fragments.pixel.shape[0]):
        yes = xp.ones_like(fragments.pixel[:1]) == 1
        (start,) = xp.nonzero(xp.concat([yes, fragments.pixel[1:] != fragments.pixel[:-1]], axis=0))
        shown = xp.take(fragments.pixel, start, axis=0)  # (m,) pixels with fragments
        mixed = _mix(xp, geometry, fragments, shaded, visible, uniforms, start, shown)
    with other("sRGB encode", flop=24 * shown.shape[0], size=16 * shown.shape[0]):
        colors = _over(xp, mixed[0], mixed[1], xp.take(here, shown, axis=0))
        place = xp.searchsorted(shown, every)
        place = xp.where(place < shown.shape[0], place, xp.zeros_like(place))
        hit = xp.take(shown, place, axis=0) == every
        rgba = xp.where(hit[:, None], xp.take(colors, place, axis=0), here)
        depth = xp.where(hit, xp.take(mixed[2], place, axis=0), visible.depth)
        ids = xp.where(hit, xp.take(mixed[3], place, axis=0), visible.ids)
        normals = None
        if uniforms.normals:
            own = xp.take(mixed[4], place, axis=0)
            normals = xp.where((hit & (ids >= 0))[:, None], own, xp.zeros_like(own))
    return Picture(rgba, depth, ids, normals), int(xp.sum(xp.astype(ids >= 0, xp.int64)))


def _mix(
    xp: Any, geometry: Geometry, fragments: Fragments, shaded: tuple[Any, Any, Any], visible: Visible,
    uniforms: Uniforms, start: Any, shown: Any,
) -> tuple[Any, Any, Any, Any, Any]:  # fmt: skip
    """Premultiplied colour (m, 3), what shines through (m, 1), depth, id, normal of m pixels."""
    backend = current()
    color, alpha, normal = shaded
    count = fragments.pixel.shape[0]
    nodes = backend.asarray(geometry.triangle_start[1:], "int64")
    modes = backend.asarray(uniforms.material[:, 10], "int64")
    samples = uniforms.samples
    bits = [1 << sample for sample in range(samples)]
    sums = xp.zeros_like(xp.take(color, start, axis=0))
    through = [xp.ones_like(sums[:, 0]) for _ in bits]
    depth, ids = xp.take(visible.depth, shown, axis=0), xp.take(visible.ids, shown, axis=0)
    facing = xp.zeros_like(sums)
    after = xp.concat([start[1:], xp.zeros_like(start[:1]) + count], axis=0)
    for layer in range(int(xp.max(after - start))):
        there = start + layer < after
        at = xp.where(there, start + layer, start)
        opacity = xp.take(alpha, at, axis=0)
        mask = xp.where(there, xp.take(fragments.mask, at, axis=0), xp.zeros_like(at))
        weight = xp.zeros_like(opacity)
        for sample, bit in enumerate(bits):
            own = xp.where((mask // bit) % 2 == 1, opacity, xp.zeros_like(opacity))
            weight = weight + through[sample] * own
            through[sample] = through[sample] * (1.0 - own)
        sums = sums + (weight * (1 / samples))[:, None] * xp.take(color, at, axis=0)
        triangle, far = xp.take(fragments.triangle, at, axis=0), xp.take(fragments.depth, at, axis=0)
        node = xp.searchsorted(nodes, triangle, side="right")
        cut_out = there & (xp.take(modes, node, axis=0) == 1) & (opacity > 0) & (far < depth)
        depth, ids = xp.where(cut_out, far, depth), xp.where(cut_out, triangle, ids)
        facing = xp.where((there & (triangle == ids))[:, None], xp.take(normal, at, axis=0), facing)
    left = through[0]
    for part in through[1:]:
        left = left + part
    return sums, (left * (1 / samples))[:, None], depth, ids, facing


def _over(xp: Any, color: Any, through: Any, background: Any) -> Any:
    """Premultiplied linear colours over sRGB backgrounds, (n, 4) uint8 sRGB with straight alpha."""
    table, plain = (current().asarray(TABLES[i], "float32") for i in (1, 0))
    code = xp.astype(background, xp.int64)
    behind = xp.reshape(xp.take(table, xp.reshape(code[:, :3], (-1,)), axis=0), (-1, 3))
    alpha = through * xp.take(plain, code[:, 3], axis=0)[:, None]
    color = color + behind * alpha
    alpha = (1.0 - through) + alpha
    color = color / xp.where(alpha > 1e-6, alpha, xp.ones_like(alpha))
    rgb = encode(xp, color)
    opacity = xp.astype(xp.round(alpha * 255.0), xp.uint8)
    return xp.concat([xp.where(opacity > 0, rgb, xp.zeros_like(rgb)), opacity], axis=1)


def encode(xp: Any, linear: Any) -> Any:
    """Linear RGB (n, 3) to sRGB, (n, 3) uint8 (IEC 61966-2-1)."""
    linear = xp.where(linear > 0, linear, xp.zeros_like(linear))
    linear = xp.where(linear < 1, linear, xp.ones_like(linear))
    bright = 1.055 * xp.where(linear > 0.0031308, linear, xp.ones_like(linear)) ** (1 / 2.4) - 0.055
    code = xp.round(xp.where(linear > 0.0031308, bright, 12.92 * linear) * 255.0)
    return xp.astype(code, xp.uint8)


def to_numpy(picture: Picture, height: int, width: int) -> tuple[Any, Any, Any, Any]:
    """The picture as NumPy arrays with rows and columns."""
    backend = current()
    rgba = np.asarray(backend.to_numpy(picture.rgba)).reshape(height, width, 4)
    depth = np.asarray(backend.to_numpy(picture.depth), np.float32).reshape(height, width)
    ids = np.asarray(backend.to_numpy(picture.ids), np.int32).reshape(height, width)
    normals = None
    if picture.normals is not None:
        normals = np.asarray(backend.to_numpy(picture.normals), np.float32).reshape(height, width, 3)
    return rgba, depth, ids, normals
