"""PLY (Turk, 1994), ascii and binary of both byte orders: faces, strips, edges or points, with colours.

Read here and not by trimesh, which trusts the counts of the header and takes what it does not know for faces.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.load.colors import linear
from whygpu.draw.load.corners import fans
from whygpu.draw.load.gltf.topology import TRIANGLE_STRIP
from whygpu.draw.load.gltf.topology import triangles as in_order
from whygpu.draw.load.images import decode
from whygpu.draw.load.ply_elements import Reader, header
from whygpu.draw.load.source import Source, shown
from whygpu.draw.material import Material, Texture
from whygpu.draw.mesh import Mesh
from whygpu.draw.scene import Node, Scene
from whygpu.engine import UserError

__all__ = ["load_ply"]

UV = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"), ("texcoord_u", "texcoord_v"))


def load_ply(path: Path) -> Scene:
    """Read a PLY file: triangles where it has faces or strips, lines where it has edges, else points.

    Colours are taken as sRGB; polygons become fans; without normals the surface is smooth.

    Raises
    ------
    UserError
        For a header that is none, counts that the file does not hold, indices of no vertex.
    """
    source = Source(path)
    layout = header(source)
    reader = Reader(source, layout)
    columns: dict[str, dict[str, Any]] = {}
    for element in layout.elements:
        columns[element.name] = reader.read(element)
    if "vertex" not in columns or not all(axis in columns["vertex"] for axis in "xyz"):
        raise source.fail("header", "it has no element vertex with properties x, y and z")
    vertex = columns["vertex"]
    positions = _stack(vertex, "x", "y", "z")
    shape: dict[str, Any] = {}
    triangles = _triangles(source, columns, len(positions))
    if triangles is not None and len(triangles):
        shape["triangles"] = triangles
    elif "edge" in columns and {"vertex1", "vertex2"} <= columns["edge"].keys():
        shape["lines"] = _inside(
            source, "edge", _stack(columns["edge"], "vertex1", "vertex2"), len(positions)
        )
    elif len(positions):
        shape["points"] = np.arange(len(positions), dtype=np.int32)
    else:
        raise source.fail("", "the file holds no vertex; there is nothing to draw")
    normals = _stack(vertex, "nx", "ny", "nz") if "nx" in vertex else None
    colors = _colors(source, vertex)
    uv = next((_stack(vertex, *pair) for pair in UV if set(pair) <= vertex.keys()), None)
    if uv is not None:
        uv[:, 1] = 1 - uv[:, 1]  # the file's v runs up, ours down
    material = _material(source, layout.textures, uv is not None, colors)
    if "triangles" not in shape and normals is None:
        material = Material((1.0, 1.0, 1.0), unlit=True, name="points")
    source.budget.take(100 * len(positions), "vertex")
    try:
        mesh = Mesh(
            positions,
            normals=normals,
            colors=colors,
            uv=(uv, None),
            material=material,
            name=path.stem,
            **shape,
        )
    except UserError as error:
        raise source.fail("", str(error)) from error
    return Scene((Node(mesh),), name=path.stem)


def _stack(columns: dict[str, Any], *names: str) -> NDArray[Any]:
    return np.stack([columns[name] for name in names if name in columns], axis=1).astype(np.float64)


def _triangles(source: Source, columns: dict[str, Any], vertices: int) -> NDArray[np.int32] | None:
    """From the faces' lists, or from triangle strips in which -1 begins a new one; (T, 3)."""
    for name in ("vertex_indices", "vertex_index"):
        if name in columns.get("face", {}):
            corners, counts = columns["face"][name]
            if (counts < 3).any():
                face = int(np.argmax(counts < 3))
                raise source.fail(
                    f"face {face}", f"it names {counts[face]} vertices; it must name at least 3"
                )
            source.budget.take(24 * len(corners), "face")
            return _inside(source, "face", corners, vertices)[fans(counts)]
        if name in columns.get("tristrips", {}):
            strip = columns["tristrips"][name][0].astype(np.int64)
            source.budget.take(64 * len(strip), "tristrips")
            ends = np.flatnonzero(strip < 0)
            pieces = np.split(strip, ends)
            found = [in_order(TRIANGLE_STRIP, piece[piece >= 0]) for piece in pieces]
            return _inside(source, "tristrips", np.concatenate(found), vertices)
    return None


def _inside(source: Source, what: str, indices: NDArray[Any], vertices: int) -> NDArray[np.int32]:
    low, high = (indices.min(), indices.max()) if indices.size else (0, -1)
    if not (low >= 0 and high < vertices):
        bad = low if low < 0 else high
        raise source.fail(what, f"it names vertex {bad:.0f}; there are {vertices:,}, from 0")
    return indices.astype(np.int32)


def _colors(source: Source, vertex: dict[str, Any]) -> NDArray[np.float32] | None:
    """Linear RGBA; integers are fractions of their type's largest value."""
    prefix = next((p for p in ("", "diffuse_") if f"{p}red" in vertex), None)
    names = [f"{prefix}{part}" for part in ("red", "green", "blue")]
    if prefix is None or not set(names) <= vertex.keys():
        return None
    columns = [vertex[name] for name in (*names, "alpha") if name in vertex]
    values = np.stack([c / np.iinfo(c.dtype).max if c.dtype.kind in "iu" else c for c in columns], axis=1)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values).all(1)))
        raise source.fail(f"vertex {row}", f"its colour is {values[row].tolist()}; numbers must be finite")
    return linear(np.clip(values, 0, 1))


def _material(source: Source, textures: list[str], has_uv: bool, colors: Any) -> Material:
    texture = None
    if textures and has_uv:
        data = source.beside(textures[0], "comment TextureFile", percent=False)
        texture = Texture(decode(source, data, f"TextureFile {shown(textures[0])}"), name=textures[0])
    clear = colors is not None and colors.shape[1] == 4 and bool((colors[:, 3] < 1).any())
    white = (1.0, 1.0, 1.0) if texture is not None or colors is not None else Material.base_color
    return Material(
        white,
        double_sided=True,
        alpha_mode="blend" if clear else "opaque",
        base_color_texture=texture,
    )
