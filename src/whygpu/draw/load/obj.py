"""OBJ (Wavefront, 1990s): polygons, lines and points, with materials from MTL files.

Read here and not by trimesh, which drops faces that it does not understand and lets vertex colours be no
numbers; who is told what is wrong is told the line.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.load.corners import Corners
from whygpu.draw.load.mtl import materials
from whygpu.draw.load.source import Source, shown
from whygpu.draw.material import Material
from whygpu.draw.scene import Scene
from whygpu.engine import UserError

__all__ = ["load_obj"]

KINDS = {b"f": 3, b"l": 2, b"p": 1}
"""Elements, and how many corners each needs at least."""


@dataclass
class _Elements:
    """Faces, lines or points: their corners one after the other, as text."""

    tokens: list[bytes] = field(default_factory=list)
    counts: array[int] = field(default_factory=lambda: array("q"))
    """Of corners, by element."""
    lines: array[int] = field(default_factory=lambda: array("q"))
    """Where in the file, by element."""
    material: array[int] = field(default_factory=lambda: array("q"))
    smooth: array[int] = field(default_factory=lambda: array("q"))
    """Smoothing group by element, 0: none."""
    known: array[int] = field(default_factory=lambda: array("q"))
    """For elements with negative indices: element, and how many v, vt, vn there were so far."""


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.texts: dict[bytes, list[bytes]] = {b"v": [], b"vt": [], b"vn": []}
        self.lines: dict[bytes, array[int]] = {key: array("q") for key in self.texts}
        self.elements = {key: _Elements() for key in KINDS}
        self.libraries: dict[str, Material] = {}
        self.names: list[str] = [""]
        self.number_of = {"": 0}
        self.smooth = self.used = 0

    def read(self) -> None:
        """Sort the file's lines by what they are."""
        data = self.source.data
        if b"\\\n" in data or b"\\\r\n" in data:
            data = data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
        for number, line in enumerate(data.split(b"\n"), 1):
            words = line.split(None, 1)
            if not words:
                continue
            key, rest = words[0], words[1] if len(words) == 2 else b""
            if key in self.texts:
                self.texts[key].append(rest)
                self.lines[key].append(number)
            elif key in KINDS:
                self._element(key, rest, number)
            elif key in (b"usemtl", b"mtllib", b"s"):
                self._state(key, rest.strip(), number)

    def _element(self, key: bytes, rest: bytes, number: int) -> None:
        elements = self.elements[key]
        corners = rest.split(b"#", 1)[0].split()
        if len(corners) < KINDS[key]:
            raise self.source.fail(
                f"line {number}",
                f"{key.decode()} names {len(corners)} vertices; it must name at least {KINDS[key]}",
            )
        if b"-" in rest:
            elements.known.extend((len(elements.counts), *(len(self.texts[k]) for k in self.texts)))
        elements.tokens += corners
        elements.counts.append(len(corners))
        elements.lines.append(number)
        elements.material.append(self.used)
        elements.smooth.append(self.smooth)

    def _state(self, key: bytes, rest: bytes, number: int) -> None:
        text = rest.decode("utf-8", "replace")
        if key == b"s":
            self.smooth = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        elif key == b"usemtl":
            self.used = self.number_of.setdefault(text, len(self.names))
            if self.used == len(self.names):
                self.names.append(text)
        else:
            folder = self.source.path.parent
            try:
                there = "\0" not in text and (folder / text).is_file()
            except OSError:
                there = False
            if there:  # without its materials an OBJ is still a shape, and is drawn as one
                data = self.source.beside(text, f"line {number}", percent=False)
                self.libraries |= materials(self.source, data, text)

    def numbers(self, key: bytes, least: int) -> NDArray[np.float64]:
        """All ``v``, ``vt`` or ``vn``, (n, width) float64; nan where a line has fewer numbers."""
        texts = self.texts[key]
        rows = [text.split(b"#", 1)[0].split() if b"#" in text else text.split() for text in texts]
        widths = np.fromiter(map(len, rows), np.int64, len(rows))
        if rows and widths.min() < least:
            self._bad(
                key, int(widths.argmin()), f"it has {widths.min()} numbers; at least {least} are needed"
            )
        width = min(int(widths.max(initial=least)), 7)
        self.source.budget.take(40 * width * len(rows), key.decode())
        if (widths == width).all():
            flat = [word for row in rows for word in row]
        else:
            flat = [word for row in rows for word in (row + [b"nan"] * (width - len(row)))[:width]]
        try:
            values = np.array(flat, np.float64).reshape(-1, width)
        except ValueError:
            for i, row in enumerate(rows):
                if not all(map(_is_number, row)):
                    self._bad(key, i, f"{shown(b' '.join(row).decode('latin-1'))} are no numbers")
            raise
        needed = np.isfinite(values[:, :least]).all(1)
        if key == b"v" and width >= 6:  # colours: all three or none
            colors = values[:, 3:6]
            needed &= np.isfinite(colors).all(1) | (widths < 6)
        if not needed.all():
            self._bad(key, int(np.argmin(needed)), "numbers must be finite")
        return values

    def _bad(self, key: bytes, row: int, reason: str) -> None:
        raise self.source.fail(f"line {self.lines[key][row]}", f"{key.decode()}: {reason}")

    def corners(self, key: bytes, sizes: tuple[int, int, int]) -> NDArray[np.int64]:
        """Which position, texture coordinate and normal each corner has, (n, 3) from 0; -1: none."""
        elements = self.elements[key]
        if not elements.tokens:
            return np.zeros((0, 3), np.int64)
        self.source.budget.take(64 * len(elements.tokens), key.decode())
        # 1//3 becomes 1/0/3 and 1// becomes 1/0/0: no index is 0
        text = b" ".join(elements.tokens) + b" "
        text = text.replace(b"//", b"/0/").replace(b"/ ", b"/0 ")
        slashes = np.fromiter((token.count(b"/") for token in text.split()), np.int64, len(elements.tokens))
        try:
            values = np.array(text.replace(b"/", b" ").split(), np.int64)
        except (ValueError, OverflowError) as error:
            raise self._no_indices(key) from error
        found = np.zeros((len(slashes), 3), np.int64)
        if slashes.max() > 2 or len(values) != len(slashes) + int(slashes.sum()):
            raise self._no_indices(key)
        start = np.concatenate([[0], np.cumsum(slashes + 1)[:-1]])
        for part in range(3):
            has = slashes >= part
            found[has, part] = values[start[has] + part]
        counts = np.frombuffer(elements.counts, np.int64)
        totals = np.broadcast_to(np.array(sizes), (len(found), 3))
        if len(elements.known):
            so_far = np.tile(np.array(sizes), (len(counts), 1))
            noted = np.frombuffer(elements.known, np.int64).reshape(-1, 4)
            so_far[noted[:, 0]] = noted[:, 1:]
            totals = np.repeat(so_far, counts, axis=0)
        index = np.where(found < 0, totals + found, found - 1)
        wrong = (index >= np.array(sizes)) | (index < -1) | ((index == -1) & (found != 0))
        wrong[:, 0] |= index[:, 0] < 0
        if wrong.any():
            corner, part = (int(i) for i in np.argwhere(wrong)[0])
            element = int(np.searchsorted(np.cumsum(counts), corner, "right"))
            what = ("vertex", "texture coordinate", "normal")[part]
            raise self.source.fail(
                f"line {elements.lines[element]}",
                f"{key.decode()} names {what} {found[corner, part]}; there are {sizes[part]}",
            )
        return index

    def _no_indices(self, key: bytes) -> UserError:
        elements, token = self.elements[key], 0
        for line, count in zip(elements.lines, elements.counts, strict=True):
            for corner in elements.tokens[token : token + count]:
                parts = corner.split(b"/")
                if len(parts) > 3 or not all(_is_index(part) for part in parts if part) or not parts[0]:
                    text = corner.decode("latin-1")
                    return self.source.fail(
                        f"line {line}", f"{shown(text)} names no vertex; v, v/vt or v/vt/vn"
                    )
            token += count
        return self.source.fail("", f"the corners of {key.decode()} are no indices")


def load_obj(path: Path) -> Scene:
    """Read an OBJ file: one mesh for each material that it uses.

    Polygons become fans of triangles. Faces without normals are flat, or smooth within the smoothing group
    that the file puts them in. Colours after positions and in MTL files are taken as sRGB. A material library
    that is missing leaves the shape grey; a texture that is missing is an error.

    Raises
    ------
    UserError
        With the number of the line that is wrong.
    """
    source = Source(path)
    reader = _Reader(source)
    reader.read()
    values = reader.numbers(b"v", 3)
    uv, normals = reader.numbers(b"vt", 1), reader.numbers(b"vn", 3)
    sizes = len(values), len(uv), len(normals)
    made = Corners(source, values, uv, normals)
    nodes = []
    faces = reader.elements[b"f"]
    corner = reader.corners(b"f", sizes)
    used = np.frombuffer(faces.material, np.int64) if len(faces.material) else np.zeros(0, np.int64)
    counts = np.frombuffer(faces.counts, np.int64) if len(faces.counts) else np.zeros(0, np.int64)
    smooth = np.frombuffer(faces.smooth, np.int64) if len(faces.smooth) else np.zeros(0, np.int64)
    for number in dict.fromkeys(used.tolist()):
        own = used == number
        name = reader.names[number]
        material = reader.libraries.get(name) or Material(name=name or "default", double_sided=True)
        part = corner if own.all() else corner[np.repeat(own, counts)]
        nodes.append(made.faces(part, counts[own], smooth[own], material, name or path.stem))
    for key in (b"l", b"p"):
        corner = reader.corners(key, sizes)
        if len(corner):
            ends = np.array(reader.elements[key].counts, np.int64)
            nodes.append(made.strokes(corner, ends, key == b"l", path.stem))
    if not nodes:
        raise source.fail("", "the file holds no face, line or point; there is nothing to draw")
    return Scene(tuple(nodes), name=path.stem)


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _is_index(word: bytes) -> bool:
    return word.lstrip(b"+-").isdigit() and len(word) < 19
