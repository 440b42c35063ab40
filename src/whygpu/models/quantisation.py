"""The table of storage formats: GGUF's block types, and bits per weight by name."""

import functools
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from whygpu.engine import UserError

__all__ = ["BlockType", "bits_per_weight", "block_type", "block_types"]


@dataclass(frozen=True, slots=True)
class BlockType:
    """Weights are stored in blocks: ``weights`` of them in ``bytes`` bytes."""

    name: str
    id: int
    weights: int
    bytes: int

    @property
    def bits_per_weight(self) -> float:
        """Scales and zero points included."""
        return 8 * self.bytes / self.weights


def bits_per_weight(name: str) -> float:
    """Bits per weight of a file stored as ``name`` (``Q4_K_M``, ``F16`` ...; case does not matter).

    Raises
    ------
    UserError
        For a name that is not in the table.
    """
    wanted, table = name.upper(), _table()
    for section in ("files", "formats"):
        if wanted in table[section]:
            return float(table[section][wanted])
    for block in block_types().values():
        if block.name == wanted:
            return block.bits_per_weight
    known = sorted({*table["files"], *table["formats"], *table["types"]})
    raise UserError(f"quantisation {name!r} is unknown; known: {', '.join(known)}")


def block_type(number: int) -> BlockType | None:
    """The block type that a GGUF file calls ``number``, or None."""
    return block_types().get(number)


@functools.cache
def block_types() -> dict[int, BlockType]:
    """All block types by their number in GGUF files."""
    rows = _table()["types"]
    return {row["id"]: BlockType(name, row["id"], row["weights"], row["bytes"]) for name, row in rows.items()}


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("whygpu.models") / "quantisation.toml").read_text("utf-8"))
