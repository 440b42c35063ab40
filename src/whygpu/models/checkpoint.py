"""A checkpoint: an architecture, and its weights on request, whatever the files are called inside.

``open_checkpoint`` reads a GGUF file (whole, or the first of a split one) or a folder of safetensors files,
and checks that exactly the tensors of its architecture are there, each in its shape: nothing is guessed,
nothing left over is ignored.
"""

import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whygpu.engine import UserError
from whygpu.models.architecture import Architecture
from whygpu.models.places import Place, TensorFile, read_rows
from whygpu.models.quantisation import BlockType
from whygpu.models.quants import to_float32
from whygpu.models.tokenizer import Tokenizer

__all__ = ["Checkpoint", "open_checkpoint"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Checked files: the architecture, and the weights on request."""

    path: Path
    """The file or folder that was opened."""
    file: TensorFile
    architecture: Architecture
    places: Mapping[str, Place]
    """Of each of ``Architecture.tensors()``."""
    tokenizer: Callable[[], Tokenizer]
    """Builds the tokenizer that belongs to the weights."""
    chat_template: str | None
    """Jinja text, where the checkpoint has one."""

    def kind(self, name: str) -> str:
        """How the weight array ``name`` is stored: the name of its block type."""
        place = self.places[name]
        return "F32" if place.offset else self.file.tensors[place.tensors[0]].type.name

    def stored(self, name: str) -> tuple[Any, str]:
        """The weight array ``name`` as it is stored, rows in the order of ``array``.

        Returns
        -------
        rows, kind
            uint8, (n, bytes of a row), or (experts, n, bytes of a row) of stacked experts; a vector's rows
            have one number each. The name of the block type.
        """
        raw, kind = self._rows(name)
        return raw, kind.name

    def array(self, name: str) -> Any:
        """The weight array ``name`` of ``Architecture.tensors()`` as float32 NumPy, row-major."""
        raw, kind = self._rows(name)
        return _floats(raw, kind).reshape(self.places[name].shape)

    def part(self, name: str, axis: int, start: int, stop: int) -> Any:
        """``array(name)`` from ``start`` to ``stop`` along ``axis``; no more is turned into float32.

        What is read of the file beyond that: the rest of the blocks in which a row's part begins and ends,
        and the rows of an array that the file keeps in another order.
        """
        raw, kind = self._rows(name)  # (..., n, bytes of a row)
        shape = list(self.places[name].shape)
        if axis and axis == len(shape) - 1:
            first, last = start // kind.weights, -(-stop // kind.weights)
            raw = raw[..., first * kind.bytes : last * kind.bytes]
            wide = _floats(raw, kind).reshape(*shape[:-1], (last - first) * kind.weights)
            skipped = first * kind.weights
            return np.ascontiguousarray(wide[..., start - skipped : stop - skipped])
        shape[axis] = stop - start
        cut = (slice(None),) * axis + (slice(start, stop),)
        return _floats(raw[cut], kind).reshape(shape)

    def embeddings(self, ids: Sequence[int]) -> Any:
        """The embedding vectors of some tokens: (len(ids), d) float32 NumPy, as stored (not scaled)."""
        raw, kind = self._rows("embedding")
        return _floats(raw[np.asarray(ids, dtype=np.int64)], kind).reshape(len(ids), -1)

    def let_go(self, name: str) -> None:
        """Give the memory of a stored array's pages back; they are read again when they are needed.

        Where they lie in a mapped file, and the system can do that; else nothing happens.
        """
        for tensor in self.places[name].tensors:
            raw = self.file.raw(self.file.tensors[tensor])
            mapped = raw.base if isinstance(raw.base, mmap.mmap) else getattr(raw.base, "obj", None)
            if not isinstance(mapped, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
                return
            start = self.file.tensors[tensor].offset // mmap.PAGESIZE * mmap.PAGESIZE
            end = self.file.tensors[tensor].offset + raw.size
            mapped.madvise(mmap.MADV_DONTNEED, start, end - start)

    def _rows(self, name: str) -> tuple[Any, BlockType]:
        place = self.places[name]
        raw, kind = read_rows(self.file, place)
        if not place.offset:
            return raw, kind
        shifted = _floats(raw, kind) + np.float32(place.offset)
        return shifted.view(np.uint8).reshape(-1, 4), _F32


_F32 = BlockType("F32", 0, 1, 4)


def _floats(raw: Any, kind: BlockType) -> Any:
    return to_float32(np.ascontiguousarray(raw).reshape(-1), kind.name, kind.weights, kind.bytes)


def open_checkpoint(path: Path | str) -> Checkpoint:
    """Open a GGUF file or a folder of safetensors files; check that it is supported, complete and consistent.

    Raises
    ------
    UserError
        One line that names the file and what is wrong or not supported.
    """
    path = Path(path)
    if path.is_dir():
        from whygpu.models.checkpoint_safetensors import open_folder

        return open_folder(path)
    if path.suffix.lower() in (".safetensors", ".json"):
        raise UserError(f"{path}: name the folder that holds config.json and the safetensors files")
    from whygpu.models.checkpoint_gguf import open_gguf

    return open_gguf(path)
