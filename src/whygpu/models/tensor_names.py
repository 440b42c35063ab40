"""From our names of the weight arrays to a checkpoint's, by the table ``tensor_names.toml``."""

import functools
import tomllib
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from whygpu.models.architecture import Architecture
from whygpu.models.places import Place

__all__ = ["Names", "names_of", "places"]

FUSED = (
    *(("q", "qkv"), ("k", "qkv"), ("v", "qkv")),
    *(("gate", "gate_up"), ("up", "gate_up")),
    *(("expert_gate", "expert_gate_up"), ("expert_up", "expert_gate_up")),
)
"""What a file may keep in one matrix, in its order, and what the table calls that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """One row of the table: how one kind of checkpoint names things."""

    embedding: str
    norm: str
    head: str
    block: str
    blocks: dict[str, str]
    positions: str = ""
    prefixes: tuple[str, ...] = ("",)
    """What may stand before everything but the head."""
    norm_offset: float = 0.0
    """What the file's norm gains lack."""
    transposed: frozenset[str] = frozenset()
    """Names of matrices that are kept as (k, n)."""
    ignored: tuple[str, ...] = ()
    """Patterns of tensors that are not weights of the language model."""
    pairs: frozenset[str] = field(default=frozenset())
    """Our arrays whose heads the file has in rotary pairs (``Place.heads``)."""


def names_of(kind: str, family: str) -> Names:
    """The row of a kind of checkpoint (``gguf``, ``hugging_face``) and a family."""
    row = dict(_row(kind, family if family in _table()[kind] else "default"))
    for key in ("prefixes", "ignored"):
        if key in row:
            row[key] = tuple(row[key])
    row["transposed"] = frozenset(row.get("transposed", ()))
    return Names(**row)


def _row(kind: str, family: str) -> dict[str, Any]:
    row: dict[str, Any] = _table()[kind][family]
    if "like" not in row:
        return row
    base = _row(kind, row["like"])
    own = {key: value for key, value in row.items() if key != "like"}
    return {**base, **own, "blocks": {**base["blocks"], **own.get("blocks", {})}}


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("whygpu.models") / "tensor_names.toml").read_text("utf-8"))


def places(a: Architecture, names: Names, there: Container[str]) -> dict[str, Place]:
    """Where each of ``a.tensors()`` is, in a checkpoint whose tensors are ``there``."""
    prefix = next((p for p in names.prefixes if f"{p}{names.embedding}.weight" in there), names.prefixes[0])
    top = {
        "embedding": f"{prefix}{names.embedding}",
        "positions": f"{prefix}{names.positions}",
        "norm": f"{prefix}{names.norm}",
        "head": names.head,
    }
    if f"{names.head}.weight" not in there and f"{prefix}{names.head}.weight" in there:
        top["head"] = f"{prefix}{names.head}"
    found = {}
    for name, shape in a.top_tensors().items():
        stored = top[name.removesuffix("_bias")] + (".bias" if name.endswith("_bias") else ".weight")
        found[name] = Place((stored,), shape, offset=names.norm_offset if name == "norm" else 0.0)
    for layer in range(a.layers):
        start = prefix + names.block.format(layer=layer)
        for name, place in _block_places(a, names, there, layer, start):
            found[f"{layer}.{name}"] = place
    return found


def _block_places(
    a: Architecture, names: Names, there: Container[str], layer: int, start: str
) -> Iterator[tuple[str, Place]]:
    shapes, block = a.block_tensors(layer), a.blocks[layer]
    fused = _fused(names, there, start)
    heads = {"q": block.heads, "k": block.kv_heads}
    for name, shape in shapes.items():
        kind, ending = name.removesuffix("_bias"), ".bias" if name.endswith("_bias") else ".weight"
        matrix = fused.get(kind)
        stored = names.blocks[matrix or kind]
        axis = max(len(shape) - 2, 0)
        before = [other for other, whole in FUSED if whole == matrix and other in shapes]
        first = sum(shapes[other][axis] for other in before[: before.index(kind)]) if matrix else 0
        tensors: tuple[str, ...] = (f"{start}{stored}{ending}",)
        if "{expert}" in stored:
            tensors = tuple(f"{start}{stored.format(expert=expert)}{ending}" for expert in range(shape[0]))
        yield (
            name,
            Place(
                tensors,
                shape,
                first=first,
                heads=heads[kind] if kind in names.pairs else 0,
                transposed=stored in names.transposed,
                offset=names.norm_offset if kind.endswith("norm") else 0.0,
            ),
        )


def _fused(names: Names, there: Container[str], start: str) -> dict[str, str]:
    """Which arrays of a block are parts of which larger matrix."""
    apart = {
        whole
        for part, whole in FUSED
        if part in names.blocks
        and f"{start}{names.blocks[part].format(expert=0)}.weight" in there
        # where the whole goes by a part's own name (ffn_up), that part tells nothing
        and names.blocks[part] != names.blocks.get(whole)
    }
    return {
        part: whole
        for part, whole in FUSED
        if whole in names.blocks and whole not in apart and f"{start}{names.blocks[whole]}.weight" in there
    }
