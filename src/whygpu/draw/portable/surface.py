"""What a pixel shows of a triangle: its attributes interpolated, its textures sampled.

Interpolation is small products (Olano and Greer, 1997): [x, y, 1] times the triangle's (3, 3) matrix of
homogeneous edge functions gives the perspective-correct weights; these times the corners' attributes give the
pixel's. The matrix' rows are also what the weights gain for one pixel to the right and down, so that the
derivatives of texture coordinates are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from whygpu.draw.fast.rules import HALF, ONE
from whygpu.draw.geometry import Geometry
from whygpu.draw.portable.texture import sample
from whygpu.draw.portable.transform import Vertices
from whygpu.draw.uniforms import Uniforms
from whygpu.engine import current, matmul, other

__all__ = ["Surface", "corner_matrix", "corner_positions", "cross", "dot", "interpolate", "textured", "unit"]


@dataclass(frozen=True, eq=False)
class Surface:
    """What is lit, n pixels."""

    node: Any
    """(n,) int64."""
    x: Any
    """(n,) int64: column, and ``y`` row."""
    y: Any
    normal: Any
    """(n, 3) float32, in the world, turned to the eye; of length 1."""
    smooth: Any
    """(n, 3): the same before any normal map."""
    tangent: Any
    """(n, 4), or None: in the node's space, and the side of the bitangent."""
    uv: Any
    """(n, 3, 4) float64, or None: both sets of texture coordinates, their gain to the right and down."""
    place: Any
    """(n, 3) float64, or None: where it is in the world."""
    base: Any
    """(n, 4): linear RGB and alpha."""
    metallic: Any
    """(n, 1)."""
    rough: Any
    """(n, 1)."""
    specular: Any
    """(n, 1): how strongly a dielectric mirrors."""
    occlusion: Any
    """(n, 1): how much ambient light arrives."""
    emissive: Any
    """(n, 3)."""


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


def interpolate(
    xp: Any,
    geometry: Geometry,
    vertices: Vertices,
    position: Any,
    uniforms: Uniforms,
    triangle: Any,
    pixel: Any,
) -> Surface:
    """Attributes of pixels (n,) that show triangles (n,), and their materials' factors."""
    backend = current()
    corners = xp.take(backend.asarray(geometry.triangles, "int64"), triangle, axis=0)  # (n, 3)
    flat = xp.reshape(corners, (-1,))
    x, y = pixel % uniforms.width, pixel // uniforms.width
    node = xp.searchsorted(backend.asarray(geometry.triangle_start[1:], "int64"), triangle, side="right")
    with other("attribute fetch", size=150 * pixel.shape[0]):
        at = xp.reshape(xp.take(position, flat, axis=0), (-1, 3, 3))
        attributes = xp.reshape(_attributes(xp, geometry, vertices, uniforms, flat), (pixel.shape[0], 3, -1))
        edges = corner_matrix(xp, at)  # (n, 3, 3)
        centers = xp.stack([x * ONE + HALF, y * ONE + HALF, xp.ones_like(x)], axis=1)  # (n, 3)
        centers = xp.astype(centers, xp.float64)[:, None, :]
    weights = matmul(centers, edges, name="barycentric weights")[:, 0, :]  # (n, 3)
    facing = xp.sum(weights, axis=1)  # the determinant's sign: negative is counter-clockwise
    sign = xp.where(facing < 0, -xp.ones_like(facing), xp.ones_like(facing))[:, None]
    weights = weights * sign
    weights = xp.where(weights > 0, weights, xp.zeros_like(weights))
    total = xp.sum(weights, axis=1)[:, None]
    inverse = xp.where(total > 0, 1.0 / xp.where(total > 0, total, xp.ones_like(total)), xp.zeros_like(total))
    weights = xp.where(total > 0, weights * inverse, xp.ones_like(weights) / 3.0)
    gains = edges[:, :2, :] * (sign * ONE * inverse)[:, :, None]  # (n, 2, 3): to the right, down
    mixed = matmul(xp.astype(weights, xp.float32)[:, None, :], attributes, name="interpolation")[:, 0, :]
    mirrored = xp.take(backend.asarray(uniforms.flip, "int64"), node, axis=0) == 1
    turned = xp.where((facing < 0) == mirrored, -xp.ones_like(facing), xp.ones_like(facing))
    turned = xp.astype(turned, xp.float32)[:, None]
    smooth = unit(xp, mixed[:, :3] * turned)
    material = xp.take(backend.asarray(uniforms.material, "float32"), node, axis=0)  # (n, 16)
    base, channels = xp.concat([material[:, :3], material[:, 8:9]], axis=1), 3
    if geometry.colors.shape[0]:
        base, channels = base * mixed[:, 3:7], 7
    tangent = None
    if geometry.tangents.shape[0]:
        side = xp.where(mirrored[:, None], -turned, turned)  # a mirrored bitangent points the other way
        tangent = xp.concat(
            [mixed[:, channels : channels + 3] * turned, mixed[:, channels + 3 :] * side], axis=1
        )
    uv = None
    if geometry.uv.shape[0]:
        own = xp.reshape(xp.take(backend.asarray(geometry.uv, "float64"), flat, axis=0), (-1, 3, 4))
        uv = _coordinates(xp, weights, gains, own)
    place = _place(xp, vertices, uniforms, weights, at, flat, x, y)
    metallic, rough, specular = (material[:, i : i + 1] for i in (3, 7, 15))
    return Surface(
        node, x, y, smooth, smooth, tangent, uv, place, base, metallic, rough, specular,
        xp.ones_like(metallic), material[:, 4:7],
    )  # fmt: skip


def _attributes(xp: Any, geometry: Geometry, vertices: Vertices, uniforms: Uniforms, flat: Any) -> Any:
    """Normal, then colour and tangent where there are any, of each corner; (3 n, 3 to 11) float32."""
    parts = [xp.take(vertices.normals, flat, axis=0)]
    for values in (geometry.colors, geometry.tangents):
        if values.shape[0]:
            parts.append(xp.take(current().asarray(values, "float32"), flat, axis=0))
    return xp.concat(parts, axis=1)


def _coordinates(xp: Any, weights: Any, gains: Any, corners: Any) -> Any:
    """Texture coordinates and their exact derivatives (n, 3, 4): of u = U / S by the quotient rule, S = 1."""
    rows = xp.concat([weights[:, None, :], gains], axis=1)  # (n, 3, 3)
    mixed = matmul(rows, corners, name="texture coordinates")  # (n, 3, 4)
    scale = xp.sum(gains, axis=2)[:, :, None]  # (n, 2, 1): what S gains
    here = mixed[:, :1, :]
    return xp.concat([here, mixed[:, 1:, :] - here * scale], axis=1)


def _place(
    xp: Any, vertices: Vertices, uniforms: Uniforms, weights: Any, at: Any, flat: Any, x: Any, y: Any
) -> Any:
    """Where pixels lie in the world, (n, 3) float64; None where no light asks."""
    if not uniforms.located:
        return None
    far = at[:, :, 2]
    if uniforms.orthographic:
        clipped = vertices.clip[:, 2] * 0.5 + 0.5
        depth = xp.where(vertices.outside, clipped, xp.astype(vertices.depth, xp.float64))
        far = xp.reshape(xp.take(depth, flat, axis=0), (-1, 3))
    far = (weights[:, 0] * far[:, 0] + weights[:, 1] * far[:, 1]) + weights[:, 2] * far[:, 2]
    distance = (float(uniforms.distance[0]) + float(uniforms.distance[1]) * far)[:, None]
    sight = current().asarray(uniforms.sight, "float64")  # (6, 3)
    x, y = (xp.astype(a, xp.float64)[:, None] for a in (x, y))
    start = (sight[0, :] + x * sight[1, :]) + y * sight[2, :]
    return start + distance * ((sight[3, :] + x * sight[4, :]) + y * sight[5, :])


def textured(xp: Any, geometry: Geometry, uniforms: Uniforms, surface: Surface) -> Surface:
    """The surface with its textures: each multiplies a factor, one bends the normal."""
    if surface.uv is None:
        return surface
    textures = geometry.textures
    uv, uv_x, uv_y = (surface.uv[:, i, :] for i in range(3))
    material = xp.take(current().asarray(uniforms.material, "float32"), surface.node, axis=0)
    s = surface
    with other("texture sampling", flop=150 * uv.shape[0], size=64 * uv.shape[0]):
        for slot in range(5):
            if not textures.samplers[:, slot, 1].any():
                continue
            rgba, has = sample(xp, textures, slot, s.node, uv, uv_x, uv_y)
            one = xp.ones_like(rgba)
            rgba = xp.where(has, rgba, one)
            if slot == 0:
                s = replace(s, base=s.base * rgba)
            elif slot == 1:
                s = replace(s, rough=s.rough * rgba[:, 1:2], metallic=s.metallic * rgba[:, 2:3])
            elif slot == 2 and s.tangent is not None:
                bent = _bent(xp, s, uniforms, rgba, material[:, 12:13])
                s = replace(s, normal=xp.where(has, bent, s.normal))
            elif slot == 3:
                s = replace(s, occlusion=1.0 + material[:, 13:14] * (rgba[:, :1] - 1.0))
            elif slot == 4:
                s = replace(s, emissive=s.emissive * rgba[:, :3])
    return s


def _bent(xp: Any, surface: Surface, uniforms: Uniforms, texel: Any, scale: Any) -> Any:
    """The normal that a normal map says, from tangent space to the world; (n, 3) of length 1."""
    linear = xp.take(current().asarray(uniforms.linear, "float32"), surface.node, axis=0)  # (n, 3, 3)
    t = surface.tangent
    tangent = (t[:, 0:1] * linear[:, 0, :] + t[:, 1:2] * linear[:, 1, :]) + t[:, 2:3] * linear[:, 2, :]
    tangent = unit(xp, tangent)
    side = xp.where(t[:, 3:4] < 0, -xp.ones_like(scale), xp.ones_like(scale))
    bitangent = cross(xp, surface.normal, tangent) * side
    x, y, z = ((texel[:, i : i + 1] * 2.0 - 1.0) for i in range(3))
    return unit(xp, (tangent * (x * scale) + bitangent * (y * scale)) + surface.normal * z)


def cross(xp: Any, a: Any, b: Any) -> Any:
    """(n, 3)."""
    ax, ay, az = (a[:, i] for i in range(3))
    bx, by, bz = (b[:, i] for i in range(3))
    return xp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=1)


def dot(xp: Any, a: Any, b: Any) -> Any:
    """(n, 1)."""
    return (a[:, 0:1] * b[:, 0:1] + a[:, 1:2] * b[:, 1:2]) + a[:, 2:3] * b[:, 2:3]


def unit(xp: Any, vector: Any) -> Any:
    """Vectors (n, 3) brought to length 1; zero stays zero."""
    length2 = dot(xp, vector, vector)
    tiny = xp.zeros_like(length2) + 1e-30
    return vector / xp.sqrt(xp.where(length2 > tiny, length2, tiny))
