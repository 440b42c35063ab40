"""The header and the elements of a PLY file, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.load.source import Source, shown

__all__ = ["Element", "Layout", "Property", "Reader", "header"]

TYPES = {
    "char": "i1",
    "int8": "i1",
    "uchar": "u1",
    "uint8": "u1",
    "short": "i2",
    "int16": "i2",
    "ushort": "u2",
    "uint16": "u2",
    "int": "i4",
    "int32": "i4",
    "uint": "u4",
    "uint32": "u4",
    "float": "f4",
    "float32": "f4",
    "double": "f8",
    "float64": "f8",
}
FORMATS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
MAX_HEADER = 1 << 20


@dataclass(frozen=True)
class Property:
    """A number, or a list of numbers where ``count`` is its length's type."""

    name: str
    kind: str
    count: str | None = None


@dataclass
class Element:
    """So many of one kind."""

    name: str
    count: int
    properties: list[Property] = field(default_factory=list)


@dataclass
class Layout:
    """What the header says."""

    order: str
    """``<`` or ``>``; empty: ascii."""
    elements: list[Element]
    textures: list[str]
    start: int
    """Of the body, in bytes."""


def header(source: Source) -> Layout:
    """Read the header.

    Raises
    ------
    UserError
        With the number of the line that is wrong.
    """
    data = source.data[:MAX_HEADER]
    end = data.find(b"end_header")
    newline = data.find(b"\n", end)
    if not data.startswith(b"ply") or end < 0 or newline < 0:
        begins = "" if data.startswith(b"ply") else f" and begins with {data[:8]!r}"
        raise source.fail("header", f"a PLY begins with 'ply' and has an end_header; this has none{begins}")
    layout = Layout("?", [], [], newline + 1)
    for number, line in enumerate(data[:end].decode("latin-1").splitlines(), 1):
        words = line.split()
        where = f"line {number}"
        match words:
            case ["format", name, *_] if name in FORMATS:
                layout.order = FORMATS[name]
            case ["element", name, count] if count.isascii() and count.isdigit() and len(count) < 12:
                layout.elements.append(Element(name, int(count)))
            case ["property", "list", count, kind, name] if layout.elements and {count, kind} <= TYPES.keys():
                layout.elements[-1].properties.append(Property(name, TYPES[kind], TYPES[count]))
            case ["property", kind, name] if layout.elements and kind in TYPES:
                layout.elements[-1].properties.append(Property(name, TYPES[kind]))
            case ["comment", "TextureFile", *name]:
                layout.textures.append(" ".join(name))
            case [] | ["ply"] | ["comment" | "obj_info", *_]:
                pass
            case _:
                raise source.fail(where, f"{shown(line.strip())} is no line of a PLY header")
    if layout.order == "?":
        raise source.fail("header", f"it has no format; known: {', '.join(FORMATS)}")
    return layout


class Reader:
    """Reads elements one after the other; each column is one array, a list's is (values, lengths)."""

    def __init__(self, source: Source, layout: Layout) -> None:
        self.source = source
        self.order = layout.order
        self.at = layout.start
        self.rows = source.data[layout.start :].split(b"\n") if not layout.order else []
        self.row = 0

    def read(self, element: Element) -> dict[str, Any]:
        """The columns of ``element`` by name."""
        if not element.count or not element.properties:
            return {p.name: _empty(p) for p in element.properties}
        least = sum(np.dtype(p.count or p.kind).itemsize for p in element.properties)
        there = len(self.source.data) - self.at if self.order else 2 * (len(self.rows) - self.row)
        if element.count * (least if self.order else 1) > there:
            raise self.source.fail(
                f"element {element.name}",
                f"{element.count:,} are announced, at most"
                f" {there // (least if self.order else 1):,} are there",
            )
        self.source.budget.take(8 * element.count * len(element.properties), f"element {element.name}")
        if not self.order:
            return self._ascii(element)
        if all(p.count is None for p in element.properties):
            return self._records(element)
        return self._same_lengths(element) or self._lists(element)

    def _records(self, element: Element) -> dict[str, Any]:
        dtype = np.dtype([(str(i), self.order + p.kind) for i, p in enumerate(element.properties)])
        found = np.frombuffer(self.source.data, dtype, element.count, self.at)
        self.at += dtype.itemsize * element.count
        return {p.name: _native(found[str(i)]) for i, p in enumerate(element.properties)}

    def _same_lengths(self, element: Element) -> dict[str, Any] | None:
        """Most files have triangles alone: lists all as long as the first one's are records."""
        fields: list[Any] = []
        at = self.at
        for i, p in enumerate(element.properties):
            if p.count is None:
                fields.append((f"{i}", self.order + p.kind))
            else:
                length = self._length(element, p, at)
                fields += [(f"{i}n", self.order + p.count), (f"{i}", self.order + p.kind, (length,))]
            at = self.at + np.dtype(fields).itemsize
        dtype = np.dtype(fields)
        if self.at + dtype.itemsize * element.count > len(self.source.data):
            return None
        found = np.frombuffer(self.source.data, dtype, element.count, self.at)
        for i, p in enumerate(element.properties):
            if p.count is not None and (found[f"{i}n"] != found[f"{i}"].shape[1]).any():
                return None
        self.at += dtype.itemsize * element.count
        columns: dict[str, Any] = {}
        for i, p in enumerate(element.properties):
            values = _native(found[f"{i}"])
            lengths = np.full(element.count, values.shape[1] if p.count else 0, np.int64)
            columns[p.name] = (values.reshape(-1), lengths) if p.count else values
        return columns

    def _lists(self, element: Element) -> dict[str, Any]:
        """Lists of different lengths, one after the other."""
        pieces: list[list[bytes]] = [[] for _ in element.properties]
        lengths: list[list[int]] = [[] for _ in element.properties]
        data, at = self.source.data, self.at
        for _ in range(element.count):
            for i, p in enumerate(element.properties):
                count = 1
                if p.count is not None:
                    count = self._length(element, p, at)
                    at += np.dtype(p.count).itemsize
                    lengths[i].append(count)
                size = count * np.dtype(p.kind).itemsize
                if at + size > len(data):
                    raise self.source.fail(
                        f"element {element.name}", "the file ends inside of it; it is cut short"
                    )
                pieces[i].append(data[at : at + size])
                at += size
        self.at = at
        columns: dict[str, Any] = {}
        for i, p in enumerate(element.properties):
            values = _native(np.frombuffer(b"".join(pieces[i]), self.order + p.kind))
            columns[p.name] = (values, np.array(lengths[i], np.int64)) if p.count else values
        return columns

    def _length(self, element: Element, p: Property, at: int) -> int:
        dtype = np.dtype(self.order + str(p.count))
        if at + dtype.itemsize > len(self.source.data):
            raise self.source.fail(f"element {element.name}", "the file ends inside of it; it is cut short")
        count = float(np.frombuffer(self.source.data, dtype, 1, at)[0])
        room = (len(self.source.data) - at) // np.dtype(p.kind).itemsize
        if not 0 <= count <= room or count != int(count):
            raise self.source.fail(
                f"element {element.name}",
                f"a list {p.name} of {count:g} numbers at byte {at:,}; the file has room for {room:,}",
            )
        return int(count)

    def _ascii(self, element: Element) -> dict[str, Any]:
        """One line an element, blank lines passed over."""
        plain = all(p.count is None for p in element.properties)
        words: list[list[bytes]] = []
        where = f"element {element.name}"
        while len(words) < element.count:
            if self.row >= len(self.rows):
                raise self.source.fail(where, f"{element.count:,} are announced, {len(words):,} are there")
            row = self.rows[self.row].split()
            self.row += 1
            if row:
                if len(row) < len(element.properties) or (plain and len(row) != len(element.properties)):
                    raise self.source.fail(
                        f"{where} {len(words)}",
                        f"it has {len(row)} numbers; {len(element.properties)} are needed",
                    )
                words.append(row)
        try:
            if plain:
                table = np.array([word for row in words for word in row], np.float64)
                table = table.reshape(element.count, -1)
                return {p.name: _typed(table[:, i], p.kind) for i, p in enumerate(element.properties)}
            return self._ascii_lists(element, words)
        except (ValueError, OverflowError, IndexError) as error:
            raise self.source.fail(where, f"a line of it is no list of numbers ({error})") from error

    def _ascii_lists(self, element: Element, words: list[list[bytes]]) -> dict[str, Any]:
        values: list[list[bytes]] = [[] for _ in element.properties]
        lengths: list[list[int]] = [[] for _ in element.properties]
        for number, row in enumerate(words):
            at = 0
            for i, p in enumerate(element.properties):
                count = 1
                if p.count is not None:
                    count = int(row[at])
                    at += 1
                    lengths[i].append(count)
                if not 0 <= count <= len(row) - at:
                    raise self.source.fail(
                        f"element {element.name} {number}",
                        f"a list {p.name} of {count} numbers; the line has {len(row) - at}",
                    )
                values[i] += row[at : at + count]
                at += count
        columns: dict[str, Any] = {}
        for i, p in enumerate(element.properties):
            column = _typed(np.array(values[i], np.float64), p.kind)
            columns[p.name] = (column, np.array(lengths[i], np.int64)) if p.count else column
        return columns


def _native(values: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(values, values.dtype.newbyteorder("="))


def _typed(values: NDArray[np.float64], kind: str) -> NDArray[Any]:
    """Numbers of an ascii file in the type that the header gives them, so that colours have their range."""
    if kind[0] == "f":
        return values
    limits = np.iinfo(kind)
    if not ((values >= limits.min) & (values <= limits.max)).all():
        raise ValueError(f"a number is outside {limits.min} to {limits.max}")
    return values.astype(kind)


def _empty(p: Property) -> Any:
    nothing = np.zeros(0, p.kind)
    return (nothing, np.zeros(0, np.int64)) if p.count else nothing
