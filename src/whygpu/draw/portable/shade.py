"""Colour of every lit pixel, once: interpolate normals and colours, light them, encode as sRGB.

Interpolation is two small products a pixel (Olano and Greer, 1997): [x, y, 1] times the triangle's (3, 3)
matrix of homogeneous edge functions gives the perspective-correct weights, these times the corners'
attributes give the pixel's. Lighting is Burley's and Karis' metallic-roughness model in the cheap form of
Lagarde and de Rousiers; one direction a light, no shadows.
"""

from __future__ import annotations

from typing import Any

from whygpu.draw.fast.rules import HALF, ONE
from whygpu.draw.geometry import Geometry
from whygpu.draw.portable.raster import Visible
from whygpu.draw.portable.transform import Vertices
from whygpu.draw.uniforms import Uniforms
from whygpu.engine import current, matmul, other

__all__ = ["corner_matrix", "encode", "light", "shade"]

PIXELS_AT_ONCE = 1 << 18


def shade(geometry: Geometry, vertices: Vertices, visible: Visible, uniforms: Uniforms) -> tuple[Any, int]:
    """Light every pixel; returns (height * width, 4) uint8 sRGB in NumPy, and how many pixels are lit."""
    backend = current()
    xp = backend.xp
    background = backend.asarray(uniforms.background, "uint8")  # (height, 4)
    position = corner_positions(xp, vertices, uniforms)
    pixels = visible.ids.shape[0]
    parts, lit = [], 0
    for start in range(0, pixels, PIXELS_AT_ONCE):
        ids = visible.ids[start : min(start + PIXELS_AT_ONCE, pixels)]
        pixel = xp.arange(start, start + ids.shape[0], dtype=xp.int64, device=backend.device)
        (shown,) = xp.nonzero(ids >= 0)
        lit += int(shown.shape[0])
        here = xp.take(background, pixel // uniforms.width, axis=0)  # (n, 4)
        if shown.shape[0]:
            triangle, pixel = xp.take(ids, shown, axis=0), xp.take(pixel, shown, axis=0)
            colors = _lit(xp, geometry, vertices, position, uniforms, triangle, pixel)
            rows = xp.cumulative_sum(xp.astype(ids >= 0, xp.int64)) - 1
            rows = xp.where(rows < 0, xp.zeros_like(rows), rows)
            here = xp.where((ids >= 0)[:, None], xp.take(colors, rows, axis=0), here)
        parts.append(here)
    return backend.to_numpy(xp.concat(parts, axis=0)), lit


def corner_positions(xp: Any, vertices: Vertices, uniforms: Uniforms) -> Any:
    """(x w, y w, w) of every vertex in sub-pixel units, (V, 3) float64.

    From the snapped position, so that a covered pixel's centre is inside the triangle to the last bit;
    from clip space where the vertex was clipped and has none.
    """
    scale_x, center_x, scale_y, center_y = (float(v) for v in uniforms.viewport[:4])
    w = xp.astype(vertices.w, xp.float64)
    screen = xp.astype(vertices.screen, xp.float64)
    clip_x = vertices.clip[:, 0] * scale_x + vertices.clip[:, 3] * center_x
    clip_y = vertices.clip[:, 1] * scale_y + vertices.clip[:, 3] * center_y
    x = xp.where(vertices.outside, clip_x * uniforms.depth_scale, screen[:, 0] * w)
    y = xp.where(vertices.outside, clip_y * uniforms.depth_scale, screen[:, 1] * w)
    return xp.stack([x, y, w], axis=1)


def _lit(
    xp: Any,
    geometry: Geometry,
    vertices: Vertices,
    position: Any,
    uniforms: Uniforms,
    triangle: Any,
    pixel: Any,
) -> Any:
    """sRGB of the lit pixels, (n, 4) uint8."""
    backend = current()
    corners = xp.take(backend.asarray(geometry.triangles, "int64"), triangle, axis=0)  # (n, 3)
    flat = xp.reshape(corners, (-1,))
    x, y = pixel % uniforms.width, pixel // uniforms.width
    with other("attribute fetch", size=150 * pixel.shape[0]):
        at = xp.reshape(xp.take(position, flat, axis=0), (-1, 3, 3))
        normals = xp.reshape(xp.take(vertices.normals, flat, axis=0), (-1, 3, 3))
        node = xp.searchsorted(backend.asarray(geometry.triangle_start[1:], "int64"), triangle, side="right")
        centers = xp.stack([x * ONE + HALF, y * ONE + HALF, xp.ones_like(x)], axis=1)  # (n, 3)
        centers = xp.astype(centers, xp.float64)[:, None, :]
        edges = corner_matrix(xp, at)  # (n, 3, 3)
    weights = matmul(centers, edges, name="barycentric weights")[:, 0, :]  # (n, 3)
    facing = xp.sum(weights, axis=1)  # the determinant's sign: negative is counter-clockwise
    weights = xp.where(facing[:, None] < 0, -weights, weights)
    weights = xp.where(weights > 0, weights, xp.zeros_like(weights))
    total = xp.sum(weights, axis=1)[:, None]
    even = xp.ones_like(weights) / 3.0
    weights = xp.where(total > 0, weights / xp.where(total > 0, total, xp.ones_like(total)), even)
    attributes = normals
    if geometry.colors.shape[0]:
        colors = xp.take(backend.asarray(geometry.colors, "float32"), flat, axis=0)
        attributes = xp.concat([normals, xp.reshape(colors, (-1, 3, 4))[:, :, :3]], axis=2)  # (n, 3, 6)
    weights = xp.astype(weights, xp.float32)[:, None, :]
    mixed = matmul(weights, attributes, name="interpolation")[:, 0, :]  # (n, 3 or 6)
    with other("lighting", flop=70 * pixel.shape[0], size=60 * pixel.shape[0]):
        material = xp.take(backend.asarray(uniforms.material, "float32"), node, axis=0)  # (n, 8)
        mirrored = xp.take(backend.asarray(uniforms.flip, "int64"), node, axis=0) == 1
        away = (facing < 0) == mirrored
        normal = xp.where(away[:, None], -mixed[:, :3], mixed[:, :3])
        base = material[:, :3] * mixed[:, 3:] if geometry.colors.shape[0] else material[:, :3]
        view = _view(xp, uniforms, x, y)
        linear = light(xp, uniforms, normal, view, base, material)
    with other("sRGB encode", flop=24 * pixel.shape[0], size=16 * pixel.shape[0]):
        return encode(xp, linear)


def corner_matrix(xp: Any, at: Any) -> Any:
    """Columns are the homogeneous edge functions of (n, 3 corners, 3): the cross products of corners."""
    ax, ay, aw = (at[:, 0, i] for i in range(3))
    bx, by, bw = (at[:, 1, i] for i in range(3))
    cx, cy, cw = (at[:, 2, i] for i in range(3))
    rows = [
        xp.stack([by * cw - bw * cy, cy * aw - cw * ay, ay * bw - aw * by], axis=1),
        xp.stack([bw * cx - bx * cw, cw * ax - cx * aw, aw * bx - ax * bw], axis=1),
        xp.stack([bx * cy - by * cx, cx * ay - cy * ax, ax * by - ay * bx], axis=1),
    ]
    return xp.stack(rows, axis=1)


def light(xp: Any, uniforms: Uniforms, normal: Any, view: Any, base: Any, material: Any) -> Any:
    """Linear RGB that surfaces send to the eye, (n, 3) float32."""
    backend = current()
    ambient = backend.asarray(uniforms.ambient, "float32")
    normal, view = _unit(xp, normal), _unit(xp, view)
    metallic, rough = material[:, 3:4], material[:, 7:8]
    diffuse = base * (1.0 - metallic)
    mirror = base * metallic + 0.04 * (1.0 - metallic)  # reflectance at normal incidence
    alpha2 = (rough * rough) * (rough * rough)
    to_eye = _dot(xp, normal, view)  # (n, 1)
    reflected_y = 2.0 * to_eye * normal[:, 1:2] - view[:, 1:2]
    color = material[:, 4:7] + diffuse * (ambient[0, :] + ambient[1, :] * normal[:, 1:2])
    color = color + mirror * (ambient[0, :] + ambient[1, :] * reflected_y)
    for row in range(uniforms.lights.shape[0]):
        lamp = backend.asarray(uniforms.lights[row], "float32")
        towards = lamp[None, :3]
        cosine = _dot(xp, normal, towards)
        half2 = 2.0 + 2.0 * _dot(xp, view, towards)  # |l + v| squared = 4 (l . h) squared
        half2 = xp.where(half2 < 0.4, xp.zeros_like(half2) + 0.4, half2)
        sum_ = cosine + to_eye
        spread = (sum_ * sum_ / half2) * (alpha2 - 1.0) + 1.0001
        gloss = alpha2 / (spread * spread * half2 * (rough + 0.5))
        facing = xp.where(cosine > 0, cosine, xp.zeros_like(cosine))
        color = color + lamp[None, 3:] * facing * (diffuse + mirror * gloss)
    return color


def encode(xp: Any, linear: Any) -> Any:
    """Linear RGB (n, 3) to sRGB with alpha 255, (n, 4) uint8 (IEC 61966-2-1)."""
    linear = xp.where(linear > 0, linear, xp.zeros_like(linear))
    linear = xp.where(linear < 1, linear, xp.ones_like(linear))
    bright = 1.055 * xp.where(linear > 0.0031308, linear, xp.ones_like(linear)) ** (1 / 2.4) - 0.055
    code = xp.round(xp.where(linear > 0.0031308, bright, 12.92 * linear) * 255.0)
    opaque = xp.zeros_like(code[:, :1]) + 255.0
    return xp.astype(xp.concat([code, opaque], axis=1), xp.uint8)


def _view(xp: Any, uniforms: Uniforms, x: Any, y: Any) -> Any:
    """Towards the eye from each pixel, (n, 3) float32, any length."""
    ray = current().asarray(uniforms.rays, "float32")
    x, y = xp.astype(x, xp.float32)[:, None], xp.astype(y, xp.float32)[:, None]
    return ray[0:1, :] + x * ray[1:2, :] + y * ray[2:3, :]


def _dot(xp: Any, a: Any, b: Any) -> Any:
    """(n, 1)."""
    return (a[:, 0:1] * b[:, 0:1] + a[:, 1:2] * b[:, 1:2]) + a[:, 2:3] * b[:, 2:3]


def _unit(xp: Any, vector: Any) -> Any:
    length2 = _dot(xp, vector, vector)
    tiny = xp.zeros_like(length2) + 1e-30
    return vector / xp.sqrt(xp.where(length2 > tiny, length2, tiny))
