"""The models that are known by name: a table in ``catalogue.toml``, each row with its source."""

import difflib
import functools
import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from whygpu.engine import UserError
from whygpu.models.architecture import Architecture
from whygpu.models.quantisation import bits_per_weight
from whygpu.models.rope import RopeScaling

__all__ = ["DEFAULT", "ModelFile", "get", "model_file", "names"]

DEFAULT = "smollm2-135m"
"""The model that thinks where no other is named."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """Where the weights of a catalogue entry can be had, and what they must be."""

    name: str
    size: int
    sha256: str
    licence: str
    requirement: str
    wheel_size: int
    wheel_sha256: str
    wheel_member: str
    hugging_face: str
    revision: str


def names() -> list[str]:
    """All models of the catalogue, in its order."""
    return list(_table())


def get(name: str, *, quant: str | None = None) -> Architecture:
    """The architecture of a catalogue entry.

    Parameters
    ----------
    name
        As in ``names()``; case does not matter.
    quant
        How the weights are stored (``Q4_0``, ``Q4_K_M``, ``F16`` ...); None: as they are published.

    Raises
    ------
    UserError
        For an unknown model (the line names near ones) or an unknown quantisation.
    """
    key = _known(name)
    row: dict[str, Any] = {k: v for k, v in _table()[key].items() if k != "file"}
    stored = str(row["quant"])
    row.setdefault("bits_per_weight", bits_per_weight(stored))
    if "rope_scaling" in row:
        row["rope_scaling"] = RopeScaling(**row["rope_scaling"])
    if "window" in row:  # every n-th layer sees everything, the others the window; 0: all have the window
        period = row.pop("global_every", 0)
        row["local_layers"] = tuple(i for i in range(row["layers"]) if not period or (i + 1) % period)
    architecture = Architecture(name=key, **row)
    if quant is None or quant.upper() == stored:
        return architecture
    return replace(architecture, quant=quant.upper(), bits_per_weight=bits_per_weight(quant))


def model_file(name: str) -> ModelFile | None:
    """Where the weights of a catalogue entry can be fetched; None where only its shapes are known."""
    row = _table()[_known(name)].get("file")
    return ModelFile(**row) if row else None


def _known(name: str) -> str:
    key = name.lower()
    if key in _table():
        return key
    near = difflib.get_close_matches(key, names(), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names())}"
    raise UserError(f"model {name[:80]!r} is unknown; {hint}")


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files("whygpu.models") / "catalogue.toml").read_text("utf-8"))
