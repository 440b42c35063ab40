"""Where a checkpoint keeps each of our weight arrays, and how its rows come from the file's.

Files fuse what we keep apart (Q, K and V; gate and up), keep experts apart that we stack, turn matrices round
and order the rows of rotary heads in two ways. A ``Place`` says which of these apply to one array, so that
reading is one function for all families and formats.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from whygpu.engine import UserError
from whygpu.models.gguf import TensorInfo
from whygpu.models.quantisation import BlockType
from whygpu.models.quants import DEQUANTISERS

__all__ = ["Place", "TensorFile", "check_places", "read_rows"]


class TensorFile(Protocol):
    """A file, or several as one, whose header has been checked."""

    @property
    def path(self) -> Path:
        """What an error's line begins with."""

    @property
    def tensors(self) -> dict[str, TensorInfo]:
        """Every tensor by name."""

    def raw(self, tensor: TensorInfo) -> Any:
        """A tensor's bytes as they are stored, (size,) uint8."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one array is kept."""

    tensors: tuple[str, ...]
    """The tensor in the file; several where each expert has its own."""
    shape: tuple[int, ...]
    """Ours: (n,), (n, k) or (experts, n, k)."""
    first: int = 0
    """Row of the file's matrix where ours begins; more than 0 only in fused ones."""
    heads: int = 0
    """Heads whose rows the file has in rotary pairs (0, 1), (2, 3) ..., as Meta's code turns them; 0: none.
    ``think`` turns the first half of a head against the second, as most later families do."""
    transposed: bool = False
    """Whether the file has (k, n)."""
    offset: float = 0.0
    """What the file left out: to be added to each number."""


def read_rows(file: TensorFile, place: Place) -> tuple[Any, BlockType]:
    """The stored rows of an array, in our order, and their block type.

    uint8, (..., n, bytes of a row); a vector's rows have one number each. A view of the file where it can be.
    """
    parts = [_rows_of(file, name, place) for name in place.tensors]
    kinds = {kind.name: kind for _, kind in parts}
    if len(kinds) > 1:
        raise UserError(
            f"{file.path}: the experts of {place.tensors[0]!r:.80} are stored in different types "
            f"({', '.join(sorted(kinds))}); one is supported"
        )
    kind = parts[0][1]
    if len(place.tensors) > 1:
        return np.stack([raw for raw, _ in parts]), kind
    return parts[0]


def _rows_of(file: TensorFile, name: str, place: Place) -> tuple[Any, BlockType]:
    info = file.tensors[name]
    kind = info.type
    if kind.name not in DEQUANTISERS:
        raise UserError(
            f"{file.path}: tensor {name!r:.80} is stored as {kind.name}, which is not supported; "
            f"supported: {', '.join(DEQUANTISERS)}"
        )
    rows = info.shape if len(info.shape) == 1 else info.shape[:-1]
    raw = file.raw(info).reshape(*rows, -1)  # (..., rows, bytes of a row)
    if place.transposed and len(info.shape) > 1:
        k, n = info.shape
        raw = raw.reshape(k, n, kind.bytes).swapaxes(0, 1).reshape(n, k * kind.bytes)
    wanted = place.shape[-2] if len(place.shape) > 1 else place.shape[0]
    raw = raw[..., place.first : place.first + wanted, :]
    if place.heads:
        # pairs (0, 1), (2, 3) ... of each head to (i, i + half)
        pairs = raw.reshape(place.heads, wanted // place.heads // 2, 2, -1)
        raw = pairs.swapaxes(1, 2).reshape(wanted, -1)
    return raw, kind


def check_places(file: TensorFile, places: Mapping[str, Place], extra: Mapping[str, tuple[int, ...]]) -> None:
    """Make sure that exactly these tensors are there, each in its shape.

    Parameters
    ----------
    extra
        Tensors beside the weight arrays that are read too, with their shapes.

    Raises
    ------
    UserError
        One line that names the first that is missing, has another shape or is not known.
    """
    expected = dict(extra)
    for name, places_here in _by_tensor(places.values()).items():
        expected[name] = _shape_of(places_here)
    for name, shape in expected.items():
        if name not in file.tensors:
            raise UserError(f"{file.path}: tensor {name!r} is missing; the checkpoint is incomplete")
        found = file.tensors[name].shape
        if found != shape:
            raise UserError(f"{file.path}: tensor {name!r:.80} has shape {found}; its metadata say {shape}")
    left = [name for name in file.tensors if name not in expected]
    if left:
        raise UserError(
            f"{file.path}: tensor {min(left)!r:.80} ({len(left)} such) is not part of this architecture "
            "as it is supported"
        )


def _by_tensor(places: Iterable[Place]) -> dict[str, list[Place]]:
    """Which places share a tensor."""
    sharing: dict[str, list[Place]] = {}
    for place in places:
        for name in place.tensors:
            sharing.setdefault(name, []).append(place)
    return sharing


def _shape_of(places: list[Place]) -> tuple[int, ...]:
    """Of the file's tensor: its parts end to end, perhaps turned round."""
    shape = places[0].shape[1:] if len(places[0].tensors) > 1 else places[0].shape
    if len(shape) == 1:
        return (sum(prod(place.shape) for place in places),)
    rows = sum(place.shape[-2] for place in places)
    return (shape[-1], rows) if places[0].transposed else (*shape[:-2], rows, shape[-1])
