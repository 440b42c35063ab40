"""One frame of the Draw view: a camera that orbits, a stage to look at, matrices, a vertex to follow."""

import io
import math
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field

from whygpu import draw, engine
from whygpu.draw.camera import projection_matrix, view_matrix
from whygpu.lab.limits import FRAME_SIDE

__all__ = ["FrameRequest", "Vertex", "frame", "picked"]

EDGE = np.array([243, 154, 75], np.uint8)
REACH = 24
"""Pixels beside the pointed one that are searched for a triangle."""
Vertex = tuple[int, int]
"""A node's number and a vertex of its mesh."""


class FrameRequest(BaseModel):
    """What to draw and from where: ``POST /api/draw``, and each message of the Draw view."""

    model_config = ConfigDict(extra="forbid")

    scene: str = Field("torus-knot", max_length=400)
    width: int = Field(640, ge=16, le=FRAME_SIDE)
    height: int = Field(480, ge=16, le=FRAME_SIDE)
    azimuth: float = Field(30.0, allow_inf_nan=False, description="Degrees about the vertical.")
    elevation: float = Field(18.0, ge=-89, le=89)
    zoom: float = Field(1.0, ge=0.05, le=40, description="2: twice as near.")
    pan_x: float = Field(0.0, ge=-10, le=10, description="In heights of the picture.")
    pan_y: float = Field(0.0, ge=-10, le=10)
    stage: Literal["shaded", "wireframe", "depth", "ids"] = "shaded"
    background: str | None = Field(None, pattern="^#[0-9a-fA-F]{6}$")
    format: Literal["jpeg", "webp", "png"] = "jpeg"


def camera_of(scene: draw.Scene, asked: FrameRequest) -> draw.Camera:
    """The camera on its sphere; the sphere does not change while one orbits."""
    aspect = asked.width / asked.height
    first = draw.framing(scene, aspect, draw.View(30.0, 18.0))
    distance = math.dist(first.eye, first.target) / asked.zoom
    camera = draw.framing(scene, aspect, draw.View(asked.azimuth % 360, asked.elevation, distance=distance))
    if asked.pan_x or asked.pan_y:
        turn = view_matrix(camera)[:3, :3]
        tall = 2 * math.tan(math.radians(camera.fov) / 2) * distance
        shift = -(turn[0] * asked.pan_x + turn[1] * asked.pan_y) * tall
        eye, target = np.asarray(camera.eye) + shift, np.asarray(camera.target) + shift
        camera = replace(camera, eye=tuple(eye.tolist()), target=tuple(target.tolist()))
    return camera


def frame(
    scene: draw.Scene,
    asked: FrameRequest,
    backend: engine.Backend,
    vertex: Vertex | None = None,
    spare: draw.Frame | None = None,
) -> tuple[dict[str, Any], bytes, draw.Frame]:
    """Draw it: what is told beside the picture, the picture, and the frame itself.

    ``spare``: a frame that is no longer needed, whose memory is used again where it fits.
    """
    background = (
        [int(asked.background[at : at + 2], 16) / 255 for at in (1, 3, 5)] if asked.background else None
    )
    camera = camera_of(scene, asked)
    started = perf_counter()
    fits = spare is not None and spare.ids.shape == (asked.height, asked.width)
    drawn = draw.render(
        scene,
        (asked.width, asked.height),
        camera=camera,
        backend=backend,
        background=background,
        out=spare if fits else None,
    )
    rendered = perf_counter()
    picture = _encoded(_stage(drawn, asked.stage), asked.format)
    found = drawn.statistics
    told = {
        "triangles": found.triangles,
        "vertices": found.vertices,
        "pixels_tested": found.pixels_tested,
        "pixels_lit": found.pixels_lit,
        "path": found.path,
        "ms": {name: 1e3 * seconds for name, seconds in found.seconds.items()},
        "render_ms": 1e3 * (rendered - started),
        "encode_ms": 1e3 * (perf_counter() - rendered),
        "basis": "measured",
        **_matrices(scene, camera, asked, vertex),
    }
    return told, picture, drawn


def picked(scene: draw.Scene, asked: FrameRequest, ids: Any, x: int, y: int) -> Vertex | None:
    """The vertex nearest to a pixel, of the triangle seen there or close by; None where nothing is."""
    rows, columns = np.nonzero(ids[max(y - REACH, 0) : y + REACH + 1, max(x - REACH, 0) : x + REACH + 1] >= 0)
    if not rows.size:
        return None
    rows, columns = rows + max(y - REACH, 0), columns + max(x - REACH, 0)
    nearest = int(np.argmin((rows - y) ** 2 + (columns - x) ** 2))
    triangle, node = int(ids[rows[nearest], columns[nearest]]), 0
    while triangle >= len(scene.nodes[node].mesh.triangles):
        triangle -= len(scene.nodes[node].mesh.triangles)
        node += 1
    corners = [int(corner) for corner in np.asarray(scene.nodes[node].mesh.triangles)[triangle]]
    camera = camera_of(scene, asked)

    def away(corner: int) -> float:
        place = _chain(scene, camera, asked, (node, corner))["pixel"]
        return math.dist(place, (x, y)) if place else math.inf

    return node, min(corners, key=away)


def _matrices(
    scene: draw.Scene, camera: draw.Camera, asked: FrameRequest, vertex: Vertex | None
) -> dict[str, Any]:
    node = vertex[0] if vertex else 0
    model = scene.nodes[node].transform if scene.nodes else np.eye(4)
    return {
        "matrices": {
            "model": model.tolist(),
            "view": view_matrix(camera).tolist(),
            "projection": projection_matrix(camera, asked.width / asked.height).tolist(),
        },
        "chain": _chain(scene, camera, asked, vertex) if vertex else None,
    }


def _chain(scene: draw.Scene, camera: draw.Camera, asked: FrameRequest, vertex: Vertex) -> dict[str, Any]:
    """One vertex through every stage: (x, y, z, w) in each space, and the pixel it falls on."""
    node = scene.nodes[vertex[0]]
    place = np.append(np.asarray(node.mesh.positions[vertex[1]], np.float64), 1.0)[:, None]  # (4, 1)
    with engine.scope("draw", "picked vertex"):
        world = engine.matmul(node.transform, place, name="model matrix")
        eye = engine.matmul(view_matrix(camera), world, name="view matrix")
        clip = engine.matmul(
            projection_matrix(camera, asked.width / asked.height), eye, name="projection matrix"
        )
    w = float(clip[3, 0])
    seen = w > 0
    ndc = (clip[:3, 0] / w).tolist() if seen else None
    pixel = None
    if ndc is not None:
        pixel = [(ndc[0] + 1) / 2 * asked.width, (1 - ndc[1]) / 2 * asked.height]
    return {
        "vertex": vertex[1],
        "node": vertex[0],
        "local": place[:, 0].tolist(),
        "world": world[:, 0].tolist(),
        "eye": eye[:, 0].tolist(),
        "clip": clip[:, 0].tolist(),
        "ndc": ndc,
        "pixel": pixel,
    }


def _stage(drawn: draw.Frame, stage: str) -> Any:
    """(height, width, 3) uint8: the picture, or what a stage before it left."""
    if stage == "shaded":
        return drawn.rgba[..., :3]
    lit = drawn.ids >= 0
    base = np.where(lit[..., None], np.uint8(0), drawn.rgba[..., :3])
    if stage == "depth":
        depth = drawn.depth
        low, high = (float(depth[lit].min()), float(depth[lit].max())) if lit.any() else (0.0, 1.0)
        grey = np.uint8(235) - (205 * (depth - low) / max(high - low, 1e-9)).clip(0, 205).astype(np.uint8)
        return np.where(lit[..., None], grey[..., None], base)
    if stage == "ids":
        mixed = drawn.ids.astype(np.uint32) * np.uint32(2654435761)  # Knuth's multiplicative hash
        parts = [(mixed >> shift & 0x7F).astype(np.uint8) + np.uint8(96) for shift in (8, 16, 24)]
        return np.where(lit[..., None], np.stack(parts, -1), base)
    # the borders of what is seen: where a neighbour shows another triangle; cheaper than lines of their own
    edges = np.zeros_like(lit)
    edges[:, 1:] |= drawn.ids[:, 1:] != drawn.ids[:, :-1]
    edges[1:] |= drawn.ids[1:] != drawn.ids[:-1]
    surface = (drawn.rgba[..., :3] >> 2) + np.uint8(24)
    drawn_edges = np.where(edges[..., None], EDGE, surface)
    return np.where((lit | edges)[..., None], drawn_edges, base)


def _encoded(rgb: Any, form: str) -> bytes:
    stream = io.BytesIO()
    image = Image.fromarray(np.ascontiguousarray(rgb))
    if form == "webp":
        image.save(stream, "WEBP", quality=80, method=0)
    elif form == "png":
        image.save(stream, "PNG", compress_level=1)
    else:
        image.save(stream, "JPEG", quality=85)
    return stream.getvalue()
