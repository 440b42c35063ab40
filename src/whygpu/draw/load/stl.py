"""STL, binary and ascii: triangles without anything else.

Read here and not by trimesh, whose reader takes what follows a wrong count for triangles and welds vertices:
an STL's faces are flat.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from whygpu.draw.deform import face_normals
from whygpu.draw.load.source import Source
from whygpu.draw.material import Material
from whygpu.draw.mesh import Mesh
from whygpu.draw.scene import Node, Scene
from whygpu.engine import UserError

__all__ = ["load_stl"]

HEADER, FACET = 84, 50
RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def load_stl(path: Path) -> Scene:
    """Read an STL file; every triangle is flat.

    Raises
    ------
    UserError
        For a count that does not fit the file's size, a facet without three vertices, no triangle at all.
    """
    source = Source(path)
    corners = _binary(source) if _is_binary(source.data) else _ascii(source)  # (T, 3, 3)
    if not len(corners):
        raise source.fail("", "the file holds no triangle; there is nothing to draw")
    positions = np.ascontiguousarray(corners.reshape(-1, 3))
    triangles = np.arange(len(positions), dtype=np.int32).reshape(-1, 3)
    _finite(source, positions)
    try:
        mesh = Mesh(
            positions,
            triangles,
            face_normals(positions, triangles),
            material=Material(double_sided=True),
            name=path.stem,
        )
    except UserError as error:
        raise source.fail("", str(error)) from error
    return Scene((Node(mesh),), name=path.stem)


def _finite(source: Source, positions: Any) -> None:
    finite = np.isfinite(positions).all(1)
    if not finite.all():
        bad = int(np.argmin(finite))
        raise source.fail(
            f"facet {bad // 3}", f"vertex {bad % 3} is {positions[bad].tolist()}; numbers must be finite"
        )


def _is_binary(data: bytes) -> bool:
    """Some binary files begin with ``solid`` too; their size gives them away."""
    if len(data) >= HEADER and len(data) == HEADER + FACET * struct.unpack_from("<I", data, 80)[0]:
        return True
    return data[:80].lstrip()[:5].lower() != b"solid"


def _binary(source: Source) -> Any:
    data = source.data
    if len(data) < HEADER:
        raise source.fail(
            "", f"it has {len(data)} bytes; an STL begins with 'solid' or has at least {HEADER}"
        )
    count = struct.unpack_from("<I", data, 80)[0]
    if HEADER + FACET * count > len(data):
        raise source.fail(
            "byte 80", f"{count:,} triangles are announced, {(len(data) - HEADER) // FACET:,} are there"
        )
    return np.frombuffer(data, RECORD, count, HEADER)["corners"].astype(np.float32)


def _ascii(source: Source) -> Any:
    numbers: list[bytes] = []
    facets = inside = 0
    for number, line in enumerate(source.data.splitlines(), 1):
        words = line.split()
        key = words[0].lower() if words else b""
        if key == b"vertex":
            if len(words) != 4:
                raise source.fail(f"line {number}", "a vertex has three coordinates")
            inside += 1
            numbers += words[1:]
        elif key == b"facet":
            facets, inside = facets + 1, 0
        elif key == b"endfacet" and inside != 3:
            raise source.fail(f"line {number}", f"the facet has {inside} vertices; it must have 3")
    if len(numbers) != 9 * facets:
        raise source.fail("", f"{facets:,} facets with {len(numbers) // 3:,} vertices; each must have 3")
    try:
        with np.errstate(over="ignore"):  # becomes infinite, and is refused
            return np.array(numbers, "S").astype(np.float64).astype(np.float32).reshape(-1, 3, 3)
    except ValueError as error:
        raise source.fail("", f"a coordinate is no number ({error})") from error
