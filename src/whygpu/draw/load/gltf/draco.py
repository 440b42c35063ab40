"""KHR_draco_mesh_compression, through the package DracoPy (extra ``draco``).

A primitive's accessors then have no bytes of their own: what is decompressed takes their place, and
everything else goes on as without compression.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whygpu.draw.load.gltf import schema
from whygpu.draw.load.gltf.accessors import COMPONENT, WIDTH, Accessors
from whygpu.draw.load.gltf.document import Document

__all__ = ["decompress"]

HEADER, METADATA = 11, 0x8000
SEQUENTIAL, EDGEBREAKER = 0, 1


def decompress(
    document: Document,
    accessors: Accessors,
    given: schema.Primitive,
    draco: schema.DracoPrimitive,
    where: str,
) -> None:
    """Decompress a primitive and hand its arrays to ``accessors``.

    Raises
    ------
    UserError
        Where DracoPy is missing, the data is broken, or is not what the accessors say.
    """
    here = f"{where}.extensions.KHR_draco_mesh_compression"
    data = document.view(draco.bufferView, f"{here}.bufferView")[0].tobytes()
    if given.indices is None:
        raise document.fail(f"{where}.indices", "this property is required with Draco compression")
    index: schema.Accessor = document.item("accessors", given.indices, f"{where}.indices")
    _check_faces(document, data, index.count, here)
    mesh = _decoded(document, data, here)
    faces = np.asarray(mesh.faces).reshape(-1, 1)
    _put(document, accessors, given.indices, faces, f"{where}.indices")
    for name, number in draco.attributes.items():
        if name not in given.attributes:
            raise document.fail(f"{here}.attributes", f"{name} is not among the primitive's attributes")
        attribute = next((a for a in mesh.attributes if a["unique_id"] == number), None)
        if attribute is None:
            raise document.fail(f"{here}.attributes.{name}", f"the data has no attribute {number}")
        values = np.asarray(attribute["data"])
        _put(document, accessors, given.attributes[name], values, f"{where}.attributes.{name}")


def _decoded(document: Document, data: bytes, where: str) -> Any:
    try:
        import DracoPy
    except ImportError as error:
        raise document.fail(
            where, "this mesh is compressed with Draco; install the package: pip install 'whygpu[draco]'"
        ) from error
    try:
        mesh = DracoPy.decode(data)
    except Exception as error:  # DracoPy's own exceptions derive from nothing narrower
        raise document.fail(where, f"the Draco data is broken ({error})") from error
    if not hasattr(mesh, "faces"):
        raise document.fail(where, "the Draco data holds points without triangles")
    return mesh


def _put(document: Document, accessors: Accessors, index: int, values: Any, where: str) -> None:
    accessor: schema.Accessor = document.item("accessors", index, where)
    columns, rows = WIDTH[accessor.type]
    if values.shape != (accessor.count, columns * rows):
        raise document.fail(
            where,
            f"the Draco data has {values.shape}, accessors[{index}] says {accessor.count, columns * rows}",
        )
    accessors.put(index, values.astype(COMPONENT[accessor.componentType]))


def _check_faces(document: Document, data: bytes, corners: int, where: str) -> None:
    """Compare the number of triangles before anything is allocated (Draco bitstream, sections 2 to 4)."""
    if len(data) < HEADER + 2 or data[:5] != b"DRACO" or data[7] != 1 or data[8] not in (0, 1):
        raise document.fail(where, "the data is no Draco triangle mesh")
    if int.from_bytes(data[9:11], "little") & METADATA:
        raise document.fail(where, "the Draco data carries metadata; compress without")
    at = HEADER
    if data[8] == EDGEBREAKER:
        _, at = _varint(data, at + 1)  # after the kind of traversal: the number of vertices
    faces, _ = _varint(data, at)
    if 3 * faces != corners:
        raise document.fail(
            where,
            f"the Draco data has {faces:,} triangles; {corners:,} indices are announced",
        )


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 63:
        value |= (data[at] & 0x7F) << shift
        at += 1
        if not data[at - 1] & 0x80:
            break
        shift += 7
    return value, at
