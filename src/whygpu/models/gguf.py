"""Read the header of a GGUF file without trusting it.

Written from the format's specification (ggml, docs/gguf.md). Everything that the file says is checked
against what the file is before it is used: counts against caps and against the bytes that are left,
offsets against the file's size, names against each other, and a deadline over all of it. A file
that lies gives one line and takes neither time nor memory.
"""

import mmap
import os
import struct
import time
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from whygpu.engine import UserError
from whygpu.models.quantisation import BlockType, block_type, block_types

__all__ = ["Gguf", "TensorInfo", "read_gguf"]

MAX_HEADER = 1 << 27
"""Bytes of the whole header; real ones have up to about 30 MB, nearly all of it vocabulary."""
MAX_ENTRIES = 65_536
"""Metadata entries; real files have a few dozen."""
MAX_TENSORS = 32_768
"""Real files have up to a few thousand."""
MAX_STRING = 1 << 20
"""Bytes of one string; the longest in real files are chat templates."""
MAX_STRINGS = 1_500_000
"""Strings in the whole file: vocabulary and merges of the largest models have about 800,000."""
MAX_ARRAY_BYTES = 1 << 26
MAX_DIMS = 4
MAX_DIM = 1 << 40
MAX_ALIGNMENT = 1 << 16
DEADLINE = 10.0
"""Seconds for the whole header: the last resort, for slow disks too; the caps above come first."""

_BOOL, _STRING, _ARRAY = 7, 8, 9
_NUMBERS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    _BOOL: struct.Struct("<B"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_U32, _U64 = _NUMBERS[4], _NUMBERS[10]


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where a tensor lies in the file and how it is stored."""

    name: str
    shape: tuple[int, ...]
    """Row-major: the last axis is contiguous (the file lists it first)."""
    type: BlockType
    offset: int
    """Bytes from the start of the file."""
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Gguf:
    """A checked header over a mapped file."""

    path: Path
    version: int
    metadata: dict[str, Any]
    """Strings, numbers, lists of strings, and NumPy arrays of numbers."""
    tensors: dict[str, TensorInfo]
    data: mmap.mmap

    def raw(self, tensor: TensorInfo) -> "np.ndarray[Any, np.dtype[np.uint8]]":
        """The tensor's bytes as they are stored, ``(size,)``; a view of the mapped file."""
        return np.frombuffer(self.data, np.uint8, count=tensor.size, offset=tensor.offset)

    def value(self, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """A metadata value of the given kind; without a default it must be there.

        Raises
        ------
        UserError
            Where it is missing or of another kind.
        """
        found = self.metadata.get(key, default)
        if found is None:
            raise UserError(f"{self.path}: the metadata lacks {key}; the file is incomplete")
        if isinstance(found, bool) and kind is not bool:
            raise UserError(f"{self.path}: {key} is a truth value, where a number or text belongs")
        if not isinstance(found, kind):
            wanted = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
            raise UserError(f"{self.path}: {key} is a {type(found).__name__}; it must be {wanted}")
        return found


def read_gguf(path: Path | str, *, deadline: float = DEADLINE) -> Gguf:
    """Map a GGUF file (version 2 or 3, little-endian) and check its whole header.

    Raises
    ------
    UserError
        One line that names the file and what is wrong with it: missing, not GGUF, byte-swapped,
        truncated, or a header that contradicts itself or the file.
    """
    path = Path(path)
    return _Reader(path, _map(path), time.monotonic() + deadline).read()


def _map(path: Path) -> mmap.mmap:
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # opening a pipe would wait for ever
            raise UserError(f"{path}: is not a regular file; a GGUF file is needed")
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise UserError(f"{path}: the file is empty; a GGUF file is needed")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except IsADirectoryError as error:
        raise UserError(f"{path}: is a folder; name the .gguf file in it") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error


class _Reader:
    """A cursor over the mapped bytes that never passes their end."""

    def __init__(self, path: Path, data: mmap.mmap, deadline: float) -> None:
        self.path, self.data, self.deadline = path, data, deadline
        self.end, self.at, self.strings = len(data), 0, 0
        self.header_end = min(self.end, MAX_HEADER)

    def fail(self, what: str) -> NoReturn:
        raise UserError(f"{self.path}: {what}")

    def read(self) -> Gguf:
        version, tensors, entries = self.preamble()
        metadata: dict[str, Any] = {}
        for _ in range(entries):
            key = self.string("a metadata key")
            if key in metadata:
                self.fail(f"the metadata key {_short(key)} stands there twice")
            metadata[key] = self.entry(key, self.number(_U32, f"the type of {_short(key)}"))
        infos = [self.tensor() for _ in range(tensors)]
        return Gguf(self.path, version, metadata, self.place(infos, self.alignment(metadata)), self.data)

    def preamble(self) -> tuple[int, int, int]:
        """Magic, version and counts."""
        if self.data[:4] != b"GGUF":
            self.fail(f"not a GGUF file: it begins with {bytes(self.data[:4])!r}, not b'GGUF'")
        self.at = 4
        version = int(self.number(_U32, "the version"))
        if version & 0xFFFF == 0:
            self.fail("is byte-swapped (made for a big-endian machine); a little-endian file is needed")
        if version not in (2, 3):
            self.fail(f"GGUF version {version} is not supported; supported: 2, 3")
        tensors = int(self.number(_U64, "the number of tensors"))
        entries = int(self.number(_U64, "the number of metadata entries"))
        if tensors > MAX_TENSORS:
            self.fail(f"claims {tensors} tensors; at most {MAX_TENSORS} are read")
        if entries > MAX_ENTRIES:
            self.fail(f"claims {entries} metadata entries; at most {MAX_ENTRIES} are read")
        # a tensor takes 8 + 4 + 4 + 8 bytes or more, an entry 8 + 4 + 1
        self.need(24 * tensors + 13 * entries, f"{tensors} tensors and {entries} metadata entries")
        return version, tensors, entries

    def need(self, size: int, what: str) -> None:
        """The header must have ``size`` more bytes."""
        if size > self.header_end - self.at:
            left = self.end - self.at
            if size <= left:
                self.fail(f"the header is longer than {MAX_HEADER} bytes; the file is damaged or hostile")
            self.fail(f"is truncated or lies: {what} would need {size} bytes, {left} are left")

    def tick(self) -> None:
        if time.monotonic() > self.deadline:
            self.fail("the header takes too long to read; the file is damaged or hostile")

    def number(self, kind: struct.Struct, what: str) -> Any:
        self.need(kind.size, what)
        (value,) = kind.unpack_from(self.data, self.at)
        self.at += kind.size
        return value

    def string(self, what: str) -> str:
        size = self.number(_U64, f"the length of {what}")
        if size > MAX_STRING:
            self.fail(f"{what} claims {size} bytes; at most {MAX_STRING} are read")
        self.need(size, what)
        self.strings += 1
        if self.strings > MAX_STRINGS:
            self.fail(f"has more than {MAX_STRINGS} strings; the file is damaged or hostile")
        raw = self.data[self.at : self.at + size]
        self.at += size
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.fail(f"{what} is not valid UTF-8")

    def many_strings(self, count: int, what: str) -> list[str]:
        """``count`` strings in a row: the bulk of a header, so without a call for each."""
        if self.strings + count > MAX_STRINGS:
            self.fail(f"has more than {MAX_STRINGS} strings; the file is damaged or hostile")
        self.strings += count
        found: list[str] = []
        data, length, at, end = self.data, _U64.unpack_from, self.at, self.header_end
        try:
            for start in range(0, count, 4096):
                self.tick()
                for _ in range(start, min(start + 4096, count)):
                    begin = at + 8
                    stop = begin + length(data, at)[0]
                    if stop > end or stop - begin > MAX_STRING:
                        raise ValueError
                    found.append(str(data[begin:stop], "utf-8"))
                    at = stop
        except (ValueError, struct.error):
            self.at = at
            self.string(what)  # says what is wrong with it
            raise
        self.at = at
        return found

    def entry(self, key: str, kind: int) -> Any:
        """One metadata value."""
        self.tick()
        what = f"the value of {_short(key)}"
        if kind == _STRING:
            return self.string(what)
        if kind == _ARRAY:
            return self.array(key)
        if kind not in _NUMBERS:
            self.fail(f"{what} has type {kind}; GGUF defines 0 to 12")
        value = self.number(_NUMBERS[kind], what)
        if kind == _BOOL:
            if value > 1:
                self.fail(f"{what} is {value}; a truth value is 0 or 1")
            return bool(value)
        return value

    def array(self, key: str) -> Any:
        """Strings as a list, numbers as a NumPy array; arrays of arrays are refused."""
        what = f"the array {_short(key)}"
        kind = self.number(_U32, f"the type of {what}")
        count = self.number(_U64, f"the length of {what}")
        if kind == _STRING:
            self.need(8 * count, f"{count} strings of {what}")
            if count > MAX_STRINGS:
                self.fail(f"{what} claims {count} strings; at most {MAX_STRINGS} are read")
            return self.many_strings(int(count), f"a string of {what}")
        if kind == _ARRAY:
            self.fail(f"{what} holds arrays; no model that is supported has such")
        if kind not in _NUMBERS:
            self.fail(f"{what} has elements of type {kind}; GGUF defines 0 to 12")
        form = _NUMBERS[kind]
        size = form.size * count
        self.need(size, f"{count} numbers of {what}")
        if size > MAX_ARRAY_BYTES:
            self.fail(f"{what} takes {size} bytes; at most {MAX_ARRAY_BYTES} are read")
        values = np.frombuffer(self.data, np.dtype(form.format), count=count, offset=self.at).copy()
        self.at += size
        return values

    def tensor(self) -> TensorInfo:
        """One tensor's entry; its offset is still relative to the data."""
        self.tick()
        name = self.string("a tensor's name")
        what = f"tensor {_short(name)}"
        dims = self.number(_U32, f"{what}'s number of dimensions")
        if not 1 <= dims <= MAX_DIMS:
            self.fail(f"{what} has {dims} dimensions; 1 to {MAX_DIMS} are possible")
        shape = tuple(int(self.number(_U64, f"{what}'s shape")) for _ in range(dims))
        if not all(1 <= dim <= MAX_DIM for dim in shape):
            self.fail(f"{what} has shape {shape}; each dimension must be 1 to {MAX_DIM}")
        number = self.number(_U32, f"{what}'s type")
        offset = int(self.number(_U64, f"{what}'s offset"))
        block = block_type(number)
        if block is None:
            known = ", ".join(b.name for b in block_types().values())
            self.fail(f"{what} has type {number}, which is unknown; known: {known}")
        if shape[0] % block.weights:
            self.fail(f"{what} has rows of {shape[0]}, not a multiple of {block.name}'s {block.weights}")
        size = prod(shape) // block.weights * block.bytes
        return TensorInfo(name, shape[::-1], block, offset, size)

    def alignment(self, metadata: dict[str, Any]) -> int:
        value = metadata.get("general.alignment", 32)
        power_of_two = type(value) is int and value > 0 and value & (value - 1) == 0
        if not power_of_two or value > MAX_ALIGNMENT:
            self.fail(f"general.alignment is {value!r:.40}; a power of two up to {MAX_ALIGNMENT} is needed")
        return int(value)

    def place(self, infos: list[TensorInfo], alignment: int) -> dict[str, TensorInfo]:
        """Check that the tensors lie inside the file and apart from each other."""
        start = -(-self.at // alignment) * alignment
        placed: dict[str, TensorInfo] = {}
        free, before = start, "the header"
        for info in sorted(infos, key=lambda info: info.offset):
            what = f"tensor {_short(info.name)}"
            if info.name in placed:
                self.fail(f"{what} stands there twice")
            if info.offset % alignment:
                self.fail(f"{what} lies at {info.offset}, not at a multiple of the alignment {alignment}")
            begin = start + info.offset
            if begin < free:
                self.fail(f"{what} overlaps {before}")
            free, before = begin + info.size, what
            if free > self.end:
                self.fail(f"is truncated or lies: {what} ends at byte {free}, the file at {self.end}")
            placed[info.name] = TensorInfo(info.name, info.shape, info.type, begin, info.size)
        return {info.name: placed[info.name] for info in infos}


def _short(name: str) -> str:
    return repr(name if len(name) <= 64 else name[:61] + "...")
