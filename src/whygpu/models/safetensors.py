"""Read the header of a safetensors file without trusting it, and several such files as one.

The format (huggingface/safetensors, README "Format"): 8 bytes with the length of a JSON object, the object
(name to dtype, shape and the bytes from ... to), then the numbers themselves, end to end and without holes.
Every figure is checked against what the file is before it is used.
"""

import gc
import json
import mmap
import os
import re
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from whygpu.engine import UserError
from whygpu.models.gguf import TensorInfo
from whygpu.models.quantisation import BlockType
from whygpu.models.tokenizer_json import read_json

__all__ = ["Safetensors", "Shards", "read_safetensors", "read_shards"]

MAX_HEADER = 1 << 24
"""Bytes of one file's header; the largest models have headers of a few megabytes."""
MAX_TENSORS = 65_536
MAX_DIMS = 8
MAX_DIM = 1 << 40
MAX_SHARDS = 4096

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"

_TYPES = {
    "F32": BlockType("F32", 0, 1, 4),
    "F16": BlockType("F16", 1, 1, 2),
    "BF16": BlockType("BF16", 30, 1, 2),
    # known, so that a file with such tensors can be read; as weights they are refused by name
    **{name: BlockType(name, -1, 1, 1) for name in ("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0")},
    **{name: BlockType(name, -1, 1, 2) for name in ("I16", "U16")},
    **{name: BlockType(name, -1, 1, 4) for name in ("I32", "U32")},
    **{name: BlockType(name, -1, 1, 8) for name in ("I64", "U64", "F64", "C64")},
}


@dataclass(frozen=True, slots=True)
class Safetensors:
    """A checked header over a mapped file."""

    path: Path
    tensors: dict[str, TensorInfo]
    data: mmap.mmap

    def raw(self, tensor: TensorInfo) -> "np.ndarray[Any, np.dtype[np.uint8]]":
        """The tensor's bytes as they are stored, ``(size,)``; a view of the mapped file."""
        return np.frombuffer(self.data, np.uint8, count=tensor.size, offset=tensor.offset)


@dataclass(frozen=True, slots=True)
class Shards:
    """The safetensors files of a folder as one."""

    path: Path
    """The folder."""
    tensors: dict[str, TensorInfo]
    home: dict[str, Safetensors]
    """The file that holds a tensor."""

    def raw(self, tensor: TensorInfo) -> Any:
        """The tensor's bytes as they are stored, ``(size,)`` uint8; a view of the mapped file."""
        return self.home[tensor.name].raw(tensor)


def read_shards(folder: Path) -> Shards:
    """Read the headers of a folder's model: one file, or those that its index names.

    Raises
    ------
    UserError
        Where files are missing, damaged, or do not agree with the index.
    """
    index = read_json(folder / INDEX)
    paths = [folder / SINGLE] if index is None else _named(index, folder)
    if index is None and not paths[0].is_file():
        others = sorted(path for path in folder.glob("*.safetensors") if path.is_file())
        if len(others) != 1:
            found = f"{len(others)} safetensors files but neither {SINGLE} nor {INDEX}" if others else "none"
            raise UserError(f"{folder}: a model's safetensors files are needed; there is {found}")
        paths = others
    tensors: dict[str, TensorInfo] = {}
    home: dict[str, Safetensors] = {}
    for path in paths:
        file = read_safetensors(path)
        for name, info in file.tensors.items():
            if name in tensors:
                raise UserError(f"{path}: tensor {_short(name)} is in {home[name].path.name} too")
            if index is not None and index["weight_map"].get(name) != path.name:
                raise UserError(f"{path}: holds tensor {_short(name)}, which {INDEX} does not place there")
            tensors[name], home[name] = info, file
    if index is not None:
        lost = [name for name in index["weight_map"] if name not in tensors]
        if lost:
            raise UserError(f"{folder}: {INDEX} names tensor {_short(min(lost))}; no file has it")
    return Shards(folder, tensors, home)


def _named(index: dict[str, Any], folder: Path) -> list[Path]:
    """The files that an index names: plain names of files in the same folder."""
    where, places = folder / INDEX, index.get("weight_map")
    if not isinstance(places, dict) or not places or len(places) > MAX_TENSORS:
        raise UserError(f"{where}: weight_map must name up to {MAX_TENSORS} tensors and their files")
    names = set()
    for name in places.values():
        if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+\.safetensors", name):
            raise UserError(f"{where}: {name!r:.80} is no name of a safetensors file in this folder")
        names.add(name)
    if len(names) > MAX_SHARDS:
        raise UserError(f"{where}: names {len(names)} files; at most {MAX_SHARDS} are read")
    for name in sorted(names):
        if not (folder / name).is_file():
            raise UserError(f"{folder / name}: is missing, though {INDEX} names it; the model is incomplete")
    return [folder / name for name in sorted(names)]


def read_safetensors(path: Path | str) -> Safetensors:
    """Map a safetensors file and check its whole header.

    Raises
    ------
    UserError
        One line that names the file and what is wrong with it.
    """
    path = Path(path)
    data = _map(path)
    collecting = gc.isenabled()
    gc.disable()  # it would look through all tensors many times, and none of them is garbage: a quarter
    try:
        return _read(path, data)
    finally:
        if collecting:
            gc.enable()


def _read(path: Path, data: mmap.mmap) -> Safetensors:
    header, start = _header(path, data)
    if len(header) > MAX_TENSORS:
        _fail(path, f"has {len(header)} tensors; at most {MAX_TENSORS} are read")
    infos = [_info(path, name, value, start) for name, value in header.items() if name != "__metadata__"]
    _check_layout(path, infos, start, len(data))
    return Safetensors(path, {info.name: info for info in infos}, data)


def _fail(path: Path, what: str) -> NoReturn:
    raise UserError(f"{path}: {what}")


def _map(path: Path) -> mmap.mmap:
    try:
        if path.exists() and not path.is_file():
            _fail(path, "is not a regular file; a safetensors file is needed")
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < 8:
                _fail(path, "is too short to be a safetensors file")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error


def _header(path: Path, data: mmap.mmap) -> tuple[dict[str, Any], int]:
    """The JSON object, and where the numbers begin."""
    size = int.from_bytes(data[:8], "little")
    if size > len(data) - 8:
        _fail(path, f"is truncated or no safetensors file: a header of {size} bytes does not fit into it")
    if size > MAX_HEADER:
        _fail(path, f"has a header of {size} bytes; at most {MAX_HEADER} are read")
    try:
        header = json.loads(data[8 : 8 + size], object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
        raise UserError(f"{path}: its header is no valid JSON ({reason})") from error
    if not isinstance(header, dict):
        _fail(path, "its header is no JSON object")
    return header, 8 + size


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1) if len(names) < 4096 else "a name"
        raise ValueError(f"{_short(twice)} stands there twice")
    return found


def _info(path: Path, name: str, value: Any, start: int) -> TensorInfo:
    if not isinstance(value, dict) or value.keys() != _FIELDS:
        _fail(path, f"tensor {_short(name)} must have a dtype, a shape and data_offsets, and nothing else")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    kind = _TYPES.get(dtype) if isinstance(dtype, str) else None
    if kind is None:
        known = ", ".join(_TYPES)
        _fail(path, f"tensor {_short(name)} has dtype {dtype!r:.40}, which is unknown; known: {known}")
    if not _whole_numbers(shape) or len(shape) > MAX_DIMS:
        right = f"up to {MAX_DIMS} numbers from 0 to {MAX_DIM} are possible"
        _fail(path, f"tensor {_short(name)} has shape {shape!r:.80}; {right}")
    if not _whole_numbers(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        right = "a beginning and an end are needed"
        _fail(path, f"tensor {_short(name)} has data_offsets {offsets!r:.80}; {right}")
    size, needed = offsets[1] - offsets[0], prod(shape) * kind.bytes
    if size != needed:
        right = f"its shape {shape!r:.80} of {kind.name} takes {needed}"
        _fail(path, f"tensor {_short(name)} has {size} bytes; {right}")
    return TensorInfo(name, tuple(shape), kind, start + offsets[0], size)


_FIELDS = {"dtype", "shape", "data_offsets"}


def _whole_numbers(values: Any) -> bool:
    if not isinstance(values, list):
        return False
    return all(type(value) is int and 0 <= value <= MAX_DIM for value in values)


def _check_layout(path: Path, infos: list[TensorInfo], start: int, end: int) -> None:
    """Tensors lie end to end, and fill the file."""
    placed = sorted(infos, key=lambda info: (info.offset, info.size))
    for info in placed:
        if info.offset + info.size > end:
            _fail(
                path, f"is truncated or lies: tensor {_short(info.name)} ends beyond the file's {end} bytes"
            )
    before, free = "the header", start
    edges = [(info.name, info.offset, info.size) for info in placed]
    for after, begin, size in (*edges, ("the end", end, 0)):
        if begin < free:
            _fail(path, f"tensor {_short(after)} overlaps tensor {_short(before)}")
        if begin > free:
            gap = f"{begin - free} bytes between {_short(before)} and {_short(after)}"
            _fail(path, f"has {gap} that belong to nothing")
        before, free = after, begin + size


def _short(name: str) -> str:
    return repr(name if len(name) <= 64 else name[:61] + "...")
