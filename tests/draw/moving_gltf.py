"""A small glTF file that moves."""

import base64
import json
import struct
from pathlib import Path
from typing import Any


def moving_triangle(path: Path) -> None:
    """A glTF file: a triangle that goes from x = 0 to x = 4 within two seconds, a camera, two animations."""
    floats = [0, 0, 0, 1, 0, 0, 0, 1, 0, *(0, 2), *(0, 0, 0, 4, 0, 0), *(0, 0, 0, 0, 2, 0)]
    data = base64.b64encode(struct.pack(f"<{len(floats)}f", *floats)).decode()
    spans = [(0, 36), (36, 8), (44, 24), (68, 24)]
    kinds = ["VEC3", "SCALAR", "VEC3", "VEC3"]

    def accessor(view: int, kind: str, count: int) -> dict[str, Any]:
        extra = {"min": [0, 0, 0], "max": [1, 1, 0]} if view == 0 else {}
        extra = {"min": [0], "max": [2]} if view == 1 else extra
        return {"bufferView": view, "componentType": 5126, "count": count, "type": kind, **extra}

    def animation(name: str, output: int) -> dict[str, Any]:
        channel = {"sampler": 0, "target": {"node": 0, "path": "translation"}}
        return {"name": name, "samplers": [{"input": 1, "output": output}], "channels": [channel]}

    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0}, {"camera": 0, "translation": [2, 0, 9]}],
        "cameras": [{"name": "eye", "type": "perspective", "perspective": {"yfov": 0.7, "znear": 0.1}}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "animations": [animation("Slide", 2), animation("Rise", 3)],
        "accessors": [accessor(i, kind, 3 if i == 0 else 2) for i, kind in enumerate(kinds)],
        "bufferViews": [{"buffer": 0, "byteOffset": at, "byteLength": size} for at, size in spans],
        "buffers": [{"byteLength": 92, "uri": f"data:application/octet-stream;base64,{data}"}],
    }
    path.write_text(json.dumps(document))
