"""A glTF file taken apart: the JSON, checked, and the buffers that it names."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from pydantic_core import from_json

from whygpu.draw.load.gltf import schema
from whygpu.draw.load.source import Source, shown
from whygpu.engine import UserError

__all__ = ["SUPPORTED", "Document"]

SUPPORTED = (
    "KHR_texture_transform",
    "KHR_materials_unlit",
    "KHR_lights_punctual",
    "KHR_mesh_quantization",
    "KHR_materials_emissive_strength",
    "KHR_draco_mesh_compression",
    "EXT_texture_webp",
)
"""Extensions that a file may require."""

MAGIC, JSON, BINARY = b"glTF", 0x4E4F534A, 0x004E4942
OBJECT_SIZE = 1024
"""About the bytes that one object of the JSON takes once it is checked."""


class Document:
    """The JSON of a ``.gltf`` or ``.glb`` file and its buffers, read when first asked for.

    Raises
    ------
    UserError
        ``file: JSON path: reason; what would be right``.
    """

    def __init__(self, path: Path) -> None:
        self.source = Source(path)
        text, self._binary = self._split(path.suffix.lower() == ".glb")
        self.model = self._parse(text)
        self._buffers: dict[int, NDArray[np.uint8]] = {}
        self._require()

    def fail(self, where: str, reason: str) -> UserError:
        """The error at a JSON path."""
        return self.source.fail(where, reason)

    def item(self, kind: str, index: int, where: str) -> Any:
        """``model.kind[index]``, where ``where`` names the index."""
        items = getattr(self.model, kind)
        if index >= len(items):
            there = f"from 0 to {len(items) - 1}" if items else "none at all"
            raise self.fail(where, f"there is no {kind}[{index}]; there are {len(items)}, {there}")
        return items[index]

    def view(self, index: int, where: str) -> tuple[NDArray[np.uint8], int | None]:
        """The bytes of a buffer view, and its stride."""
        view: schema.BufferView = self.item("bufferViews", index, where)
        here = f"bufferViews[{index}]"
        if view.extensions.EXT_meshopt_compression is not None and self._is_placeholder(view.buffer):
            raise self.fail(
                here,
                "it is compressed with EXT_meshopt_compression, which is not read; "
                "decompress the file first (gltfpack without -c)",
            )
        data = self.buffer(view.buffer, f"{here}.buffer")
        end = view.byteOffset + view.byteLength
        if end > len(data):
            raise self.fail(here, f"it ends at byte {end:,} of a buffer of {len(data):,}")
        return data[view.byteOffset : end], view.byteStride

    def buffer(self, index: int, where: str) -> NDArray[np.uint8]:
        """The bytes of a buffer."""
        buffer: schema.Buffer = self.item("buffers", index, where)
        if index not in self._buffers:
            here = f"buffers[{index}]"
            if buffer.uri is not None:
                data: bytes | memoryview = self.source.uri(buffer.uri, f"{here}.uri")
            elif index == 0 and self._binary is not None:
                data = self._binary
            else:
                raise self.fail(here, "it has no uri and the file no binary chunk for it")
            if len(data) < buffer.byteLength:
                raise self.fail(
                    f"{here}.byteLength",
                    f"{buffer.byteLength:,} bytes are announced, {len(data):,} are there",
                )
            self._buffers[index] = np.frombuffer(data, np.uint8, buffer.byteLength)
        return self._buffers[index]

    def _is_placeholder(self, index: int) -> bool:
        """Whether a buffer has no data of its own (meshopt's fallback buffers may have)."""
        buffers = self.model.buffers
        return index >= len(buffers) or (buffers[index].uri is None and (index > 0 or self._binary is None))

    def _split(self, binary: bool) -> tuple[memoryview, memoryview | None]:
        """The JSON text and the binary chunk (section 4, GLB file format)."""
        data = memoryview(self.source.data)
        if not binary:
            if data[:4] == MAGIC:
                raise self.fail("", "a binary glTF; rename it to .glb")
            return data, None
        if data[:4] != MAGIC:
            begins = f"it begins with {bytes(data[:8])!r}" if data else "it is empty"
            raise self.fail("", f"no binary glTF: {begins}; a .glb begins with {MAGIC!r}")
        if len(data) < 20:
            raise self.fail("", f"it ends after {len(data)} bytes; a .glb has at least 20")
        version, length = struct.unpack_from("<II", data, 4)
        if version != 2:
            raise self.fail("", f"a binary glTF of version {version}; version 2 is read, convert the file")
        if length > len(data):
            raise self.fail("", f"{length:,} bytes are announced, {len(data):,} are there; it is cut short")
        chunks: list[tuple[int, memoryview]] = []
        at = 12
        while at + 8 <= length:
            size, kind = struct.unpack_from("<II", data, at)
            if at + 8 + size > length:
                raise self.fail("", f"chunk {len(chunks)} at byte {at} has {size:,} bytes, past the end")
            chunks.append((kind, data[at + 8 : at + 8 + size]))
            at += 8 + size
            if len(chunks) == 2:
                break  # what follows is for extensions
        if not chunks or chunks[0][0] != JSON:
            raise self.fail("", "its first chunk is not JSON; this is no glTF 2.0 file")
        body = chunks[1][1] if len(chunks) == 2 and chunks[1][0] == BINARY else None
        return chunks[0][1], body

    def _parse(self, text: memoryview) -> schema.Gltf:
        data = bytes(text)
        data = data.removeprefix(b"\xef\xbb\xbf")
        try:
            tree = from_json(data, allow_inf_nan=False)
        except ValueError as error:
            raise self.fail("", f"its JSON cannot be read: {shown(str(error), 120)[1:-1]}") from error
        if not isinstance(tree, dict):
            raise self.fail("", "its JSON is no object; a glTF file is one")
        self._version(tree)
        counts = [len(value) for value in tree.values() if isinstance(value, list)]
        self.source.budget.take(OBJECT_SIZE * sum(counts), "the JSON")
        try:
            return schema.Gltf.model_validate(tree)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = "".join(
                f"[{part}]" if isinstance(part, int) else f".{shown(part)[1:-1]}" for part in first["loc"]
            ).lstrip(".")
            reason = f"{first['msg'][:1].lower()}{first['msg'][1:]}, it is {shown(first['input'])}"
            if first["type"] == "missing":
                reason = "this property is required"
            raise self.fail(where, reason) from error

    def _version(self, tree: dict[str, Any]) -> None:
        asset = tree.get("asset")
        version = asset.get("version") if isinstance(asset, dict) else None
        needed = asset.get("minVersion", "2.0") if isinstance(asset, dict) else "2.0"
        if isinstance(version, str) and version.startswith("2.") and needed in ("2.0", version[:3]):
            return
        if any(isinstance(tree.get(kind), dict) for kind in ("scenes", "nodes", "meshes", "accessors")) or (
            isinstance(version, str) and version.startswith(("0.", "1."))
        ):
            raise self.fail(
                "asset.version", "this is glTF 1 (objects by name); glTF 2.0 is read, convert the file"
            )
        if version is None:
            raise self.fail("asset.version", 'it is missing; a glTF 2.0 file says "2.0"')
        raise self.fail("asset.version", f"glTF {shown(version)} (at least {shown(needed)}); 2.0 is read")

    def _require(self) -> None:
        for i, name in enumerate(self.model.extensionsRequired):
            if name not in SUPPORTED:
                hint = "; decompress it first (gltfpack without -c)" if "meshopt" in name else ""
                raise self.fail(
                    f"extensionsRequired[{i}]",
                    f"the file needs {shown(name)}, which is not read{hint}; read are {', '.join(SUPPORTED)}",
                )
