"""Writes small glTF 2.0 files, right or wrong, for tests."""

import base64
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}

TRIANGLE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "f4")
SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], "f4")
SQUARE_INDICES = np.array([0, 1, 2, 0, 2, 3], "u2")
SQUARE_UV = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], "f4")  # the image stands upright


class Writer:
    """Collects buffers; ``json`` is the document, to be changed at will before it is written."""

    def __init__(self) -> None:
        self.json: dict[str, Any] = {"asset": {"version": "2.0"}, "buffers": [{}]}
        self.data = bytearray()
        self.announced: int | None = None  # a buffer length that is a lie

    def add(self, kind: str, item: dict[str, Any]) -> int:
        """Append to a list of the document."""
        items = self.json.setdefault(kind, [])
        items.append(item)
        return len(items) - 1

    def view(self, data: bytes, **properties: Any) -> int:
        """A buffer view of new bytes."""
        self.data += b"\0" * (-len(self.data) % 4)
        start = len(self.data)
        self.data += data
        return self.add(
            "bufferViews", {"buffer": 0, "byteOffset": start, "byteLength": len(data), **properties}
        )

    def accessor(self, values: Any, **properties: Any) -> int:
        """An accessor of (n,) or (n, width) numbers, tightly packed."""
        array = np.ascontiguousarray(values)
        width = 1 if array.ndim == 1 else array.shape[1]
        return self.add(
            "accessors",
            {
                "bufferView": self.view(array.tobytes()),
                "componentType": COMPONENTS[array.dtype.str[1:]],
                "count": len(array),
                "type": TYPES[width],
                **properties,
            },
        )

    def mesh(self, *primitives: dict[str, Any], **properties: Any) -> int:
        """A mesh of primitives."""
        return self.add("meshes", {"primitives": list(primitives), **properties})

    def scene(self, *nodes: dict[str, Any]) -> None:
        """The one scene, of these nodes."""
        self.json["scenes"] = [{"nodes": [self.add("nodes", node) for node in nodes]}]

    def image(self, pixels: Any, kind: str = "PNG", **options: Any) -> int:
        """An image in a buffer view."""
        stream = io.BytesIO()
        Image.fromarray(np.asarray(pixels, np.uint8)).save(stream, kind, **options)
        return self.add(
            "images", {"bufferView": self.view(stream.getvalue()), "mimeType": f"image/{kind.lower()}"}
        )

    def glb(self, path: Path) -> Path:
        """Write a binary file."""
        path.write_bytes(self.bytes())
        return path

    def bytes(self) -> bytes:
        """The binary file."""
        self.json["buffers"][0]["byteLength"] = self.announced or len(self.data)
        text = json.dumps(self.json).encode()
        text += b" " * (-len(text) % 4)
        body = bytes(self.data) + b"\0" * (-len(self.data) % 4)
        length = 12 + 8 + len(text) + 8 + len(body)
        head = struct.pack("<4sII", b"glTF", 2, length)
        return (
            head
            + struct.pack("<II", len(text), 0x4E4F534A)
            + text
            + struct.pack("<II", len(body), 0x004E4942)
            + body
        )

    def gltf(self, path: Path, uri: str | None = None) -> Path:
        """Write a text file; the buffer goes into a data URI, or into a file beside it."""
        self.json["buffers"][0]["byteLength"] = self.announced or len(self.data)
        if uri is None:
            uri = "data:application/octet-stream;base64," + base64.b64encode(self.data).decode()
        self.json["buffers"][0].setdefault("uri", uri)
        path.write_text(json.dumps(self.json))
        return path


def triangle(**primitive: Any) -> Writer:
    """One triangle in one node."""
    writer = Writer()
    attributes = {"POSITION": writer.accessor(TRIANGLE), **primitive.pop("attributes", {})}
    writer.mesh({"attributes": attributes, **primitive})
    writer.scene({"mesh": 0})
    return writer


def square(material: dict[str, Any] | None = None, **attributes: Any) -> Writer:
    """A square that faces +z, with an upright image on it."""
    writer = Writer()
    found = {
        "POSITION": SQUARE,
        "NORMAL": np.tile(np.array([0, 0, 1], "f4"), (4, 1)),
        "TEXCOORD_0": SQUARE_UV,
        **attributes,
    }
    writer.mesh(
        {
            "attributes": {name: writer.accessor(values) for name, values in found.items()},
            "indices": writer.accessor(SQUARE_INDICES),
            **({} if material is None else {"material": writer.add("materials", material)}),
        }
    )
    writer.scene({"mesh": 0})
    return writer
