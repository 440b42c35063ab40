"""A GGUF file in several parts: ``name-00001-of-00003.gguf`` and its sisters, read as one.

The first part has the metadata, each has a share of the tensors (the first perhaps none). Written by
llama.cpp's gguf-split: ``split.no`` counts from 0, file names from 1, ``split.tensors.count`` is of all.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whygpu.engine import UserError
from whygpu.models.gguf import Gguf, TensorInfo, read_gguf

__all__ = ["SPLIT_NAME", "GgufFile", "SplitGguf", "read_whole", "sisters"]

SPLIT_NAME = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
MAX_PARTS = 4096
"""Parts of one model; the largest in use have a few dozen."""


@dataclass(frozen=True, slots=True)
class SplitGguf:
    """Several checked files as one."""

    parts: tuple[Gguf, ...]
    tensors: dict[str, TensorInfo]
    """Of all parts; offsets are those in the tensor's own part."""
    home: dict[str, Gguf]
    """The part that holds a tensor."""

    @property
    def path(self) -> Path:
        """That of the first part."""
        return self.parts[0].path

    @property
    def metadata(self) -> dict[str, Any]:
        """That of the first part."""
        return self.parts[0].metadata

    def raw(self, tensor: TensorInfo) -> Any:
        """The tensor's bytes as they are stored, ``(size,)`` uint8; a view of the mapped file."""
        return self.home[tensor.name].raw(tensor)

    def value(self, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """As ``Gguf.value``."""
        return self.parts[0].value(key, kind, default)


GgufFile = Gguf | SplitGguf


def sisters(path: Path) -> list[Path]:
    """All parts of the model that ``path`` is one of, by the numbers in its name; without those, itself.

    Raises
    ------
    UserError
        For numbers that cannot be.
    """
    match = SPLIT_NAME.fullmatch(path.name)
    if match is None:
        return [path]
    count = int(match["count"])
    if not 1 <= int(match["number"]) <= count <= MAX_PARTS:
        raise UserError(f"{path}: part {match['number']} of {match['count']} cannot be")
    ending = path.suffix
    return [path.with_name(f"{match['stem']}-{i:05}-of-{count:05}{ending}") for i in range(1, count + 1)]


def read_whole(path: Path) -> GgufFile:
    """Read a GGUF file's header, and those of its sisters if it is the first part of a split one.

    Raises
    ------
    UserError
        Where ``path`` is a later part, a part is missing, or the parts do not agree.
    """
    first = read_gguf(path)
    count = first.value("split.count", int, 1)
    paths = sisters(path)
    if count <= 1 and len(paths) == 1:
        return first
    if "split.count" not in first.metadata or count != len(paths):
        raise UserError(
            f"{path}: its name says {len(paths)} parts, its header {count}; rename it as gguf-split named it"
        )
    if first.value("split.no", int) != 0 or path != paths[0]:
        raise UserError(f"{path}: is a later part of a split file; name the first, {paths[0].name}")
    parts = [first, *(_part(paths, number) for number in range(1, count))]
    return _join(tuple(parts))


def _part(paths: list[Path], number: int) -> Gguf:
    path, count = paths[number], len(paths)
    if not path.is_file():
        raise UserError(f"{path}: part {number + 1} of {count} is missing; put it beside {paths[0].name}")
    part = read_gguf(path)
    if (part.value("split.no", int), part.value("split.count", int)) != (number, count):
        raise UserError(f"{path}: is not part {number + 1} of {count}, whatever its name says")
    return part


def _join(parts: tuple[Gguf, ...]) -> SplitGguf:
    path = parts[0].path
    tensors: dict[str, TensorInfo] = {}
    home: dict[str, Gguf] = {}
    for part in parts:
        for name, info in part.tensors.items():
            if name in tensors:
                raise UserError(f"{part.path}: tensor {name!r:.80} is in {home[name].path.name} too")
            tensors[name], home[name] = info, part
    totals = {part.value("split.tensors.count", int) for part in parts}
    if totals != {len(tensors)}:
        claimed = " or ".join(map(str, sorted(totals)))
        raise UserError(f"{path}: its parts hold {len(tensors)} tensors; they claim {claimed} of all")
    return SplitGguf(parts, tensors, home)
