"""Vertices: model, view and projection as one product, then from clip space to the picture's grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whygpu.draw.fast.rules import BOTTOM, FAR, LEFT, LIMIT, NEAR, RIGHT, TOP
from whygpu.draw.geometry import Geometry
from whygpu.draw.uniforms import Uniforms
from whygpu.engine import current, matmul, other

__all__ = ["Vertices", "to_screen", "transform"]


@dataclass(frozen=True, eq=False)
class Vertices:
    """Transformed vertices, as arrays of the backend."""

    clip: Any
    """(V, 4) float64: clip space."""
    screen: Any
    """(V, 2) int64: snapped position in sub-pixel units, y down; only where not ``outside``."""
    depth: Any
    """(V,) float32: 0 at the near plane, 1 at the far plane."""
    w: Any
    """(V,) float32: clip w times ``Uniforms.depth_scale``."""
    outside: Any
    """(V,) bool: must be clipped."""
    outcode: Any
    """(V,) int64: the sides of the view volume that it lies beyond."""
    normals: Any
    """(V, 3) float32: in the world, any length."""


def transform(geometry: Geometry, uniforms: Uniforms) -> Vertices:
    """Run every node's vertices through its matrices: two products a node."""
    backend = current()
    xp = backend.xp
    clips = [xp.zeros((0, 4), dtype=xp.float64, device=backend.device)]
    normals = [xp.zeros((0, 3), dtype=xp.float32, device=backend.device)]
    for node in range(len(uniforms.clip)):
        own = slice(int(geometry.vertex_start[node]), int(geometry.vertex_start[node + 1]))
        position = backend.asarray(geometry.positions[own], "float64")  # (v, 3)
        grid = backend.asarray(uniforms.grid[node], "float64")  # (3,)
        position = (position + grid) - grid  # now every product below is exact
        one = xp.ones((position.shape[0], 1), dtype=xp.float64, device=backend.device)
        homogeneous = xp.concat([position, one], axis=1)  # (v, 4)
        matrix = backend.asarray(uniforms.clip[node], "float64")  # (4, 4)
        clips.append(matmul(homogeneous, matrix, name="model-view-projection"))  # (v, 4)
        normal = backend.asarray(geometry.normals[own], "float32")  # (v, 3)
        turn = backend.asarray(uniforms.normal[node], "float32")  # (3, 3)
        normals.append(matmul(normal, turn, name="normal transform"))  # (v, 3)
    clip = xp.concat(clips, axis=0)
    with other("divide, snap", flop=12 * clip.shape[0], size=64 * clip.shape[0]):
        outside, outcode = _outcodes(xp, clip, uniforms)
        screen, depth, w = to_screen(xp, clip, outside, uniforms)
    return Vertices(clip, screen, depth, w, outside, outcode, xp.concat(normals, axis=0))


def to_screen(xp: Any, clip: Any, outside: Any, uniforms: Uniforms) -> tuple[Any, Any, Any]:
    """Divide by w, snap x and y to the sub-pixel grid; zeros where ``outside``.

    Returns screen (N, 2) int64, depth (N,) float32, w (N,) float32.
    """
    scale_x, center_x, scale_y, center_y = (float(v) for v in uniforms.viewport[:4])
    one = xp.ones_like(clip[:, 3])
    inverse = one / xp.where(outside, one, clip[:, 3])
    x = xp.round(clip[:, 0] * inverse * scale_x + center_x)
    y = xp.round(clip[:, 1] * inverse * scale_y + center_y)
    z = clip[:, 2] * inverse * 0.5 + 0.5
    nothing = xp.zeros_like(x)
    pair = xp.stack([xp.where(outside, nothing, x), xp.where(outside, nothing, y)], axis=1)
    pair = xp.clip(pair, -float(LIMIT), float(LIMIT))
    w = clip[:, 3] * uniforms.depth_scale
    return xp.astype(pair, xp.int64), xp.astype(z, xp.float32), xp.astype(w, xp.float32)


def _outcodes(xp: Any, clip: Any, uniforms: Uniforms) -> tuple[Any, Any]:
    """Which vertices must be clipped, (V,) bool, and what they lie beyond, (V,) int64."""
    guard_x, guard_y = (float(v) for v in uniforms.viewport[4:])
    x, y, z, w = (clip[:, i] for i in range(4))
    beyond = {NEAR: z < -w, FAR: z > w, LEFT: x < -w, RIGHT: x > w, BOTTOM: y < -w, TOP: y > w}
    outcode = xp.zeros(x.shape, dtype=xp.int64, device=current().device)
    for bit, is_beyond in beyond.items():
        outcode = outcode + xp.astype(is_beyond, xp.int64) * bit
    inside = (z >= -w) & (z <= w) & (xp.abs(x) <= guard_x * w) & (xp.abs(y) <= guard_y * w) & (w > 0)
    return ~inside, outcode
