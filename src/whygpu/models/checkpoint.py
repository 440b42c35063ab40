"""What a checkpoint file says of a model, in our own names.

``open_checkpoint`` reads a GGUF file's metadata into an ``Architecture`` and checks that exactly the
tensors of that architecture are there, each in its shape: nothing is guessed, nothing left over is ignored.
"""

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from whygpu.engine import UserError
from whygpu.models.architecture import Architecture, family
from whygpu.models.gguf import Gguf, read_gguf
from whygpu.models.quants import dequantise

__all__ = ["Checkpoint", "open_checkpoint"]

ROPE_FACTORS = "rope_freqs.weight"

_TOP = {
    "embedding": "token_embd.weight",
    "positions": "position_embd.weight",
    "norm": "output_norm.weight",
    "norm_bias": "output_norm.bias",
    "head": "output.weight",
}
_BLOCK = {
    "attention_norm": "attn_norm",
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "out": "attn_output",
    "mlp_norm": "ffn_norm",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checked GGUF file: its architecture, and its weights on request."""

    file: Gguf
    architecture: Architecture

    def array(self, name: str) -> Any:
        """The weight array ``name`` of ``Architecture.tensors()`` as float32 NumPy, (n, k) row-major."""
        stored, part = _place(self.architecture, name)
        values = dequantise(self.file, self.file.tensors[stored])[part]
        kind = name.rpartition(".")[2]
        if self.architecture.family == "llama" and kind in ("q", "k"):
            heads = self.architecture.heads if kind == "q" else self.architecture.kv_heads
            return _halves(values, heads)
        return values

    def rope_factors(self) -> Any:
        """Divisors of the rotary frequencies, (head_dim / 2,) float32, or None."""
        if not self.architecture.rope_factors:
            return None
        return dequantise(self.file, self.file.tensors[ROPE_FACTORS])


def open_checkpoint(path: Path | str) -> Checkpoint:
    """Open a GGUF file and check that it is a model that is supported, complete and consistent.

    Raises
    ------
    UserError
        One line that names the file and what is wrong or not supported.
    """
    file = read_gguf(path)
    architecture = _architecture(file)
    _check_tensors(file, architecture)
    return Checkpoint(file, architecture)


def _architecture(file: Gguf) -> Architecture:
    kind = file.value("general.architecture", str)
    known = family(kind, str(file.path))

    def integer(key: str, default: int | None = None) -> int:
        return int(file.value(f"{kind}.{key}", int, default))

    d_model, heads = integer("embedding_length"), integer("attention.head_count")
    if heads < 1 or d_model < 1:
        raise UserError(f"{file.path}: {heads} heads of {d_model} dimensions cannot be")
    head_dim = integer("attention.key_length", d_model // heads)
    _refuse_what_is_not_built(file, kind, head_dim)
    epsilon = "layer_norm_rms_epsilon" if known.norm == "rms" else "layer_norm_epsilon"
    return Architecture(
        name=str(file.metadata.get("general.name", file.path.stem)),
        family=kind,
        layers=integer("block_count"),
        d_model=d_model,
        heads=heads,
        kv_heads=integer("attention.head_count_kv", heads),
        head_dim=head_dim,
        d_ff=integer("feed_forward_length"),
        vocab=_rows(file, _TOP["embedding"]),
        context=integer("context_length"),
        norm_eps=float(file.value(f"{kind}.attention.{epsilon}", float)),
        rope_theta=float(file.value(f"{kind}.rope.freq_base", float, 10000.0)),
        rope_factors=ROPE_FACTORS in file.tensors,
        tied_head=_TOP["head"] not in file.tensors,
        quant=_main_type(file),
        bits_per_weight=_bits_per_weight(file),
        source=f"header of {file.path.name}",
    )


def _refuse_what_is_not_built(file: Gguf, kind: str, head_dim: int) -> None:
    """Name what the file asks for and the forward pass does not do."""
    metadata = file.metadata
    scaling = metadata.get(f"{kind}.rope.scaling.type", "none")
    if scaling != "none":
        raise UserError(f"{file.path}: rope scaling {scaling!r:.40} is not supported; supported: none")
    for key in ("rope.dimension_count", "attention.value_length"):
        found = metadata.get(f"{kind}.{key}", head_dim)
        if found != head_dim:
            raise UserError(f"{file.path}: {kind}.{key} is {found}; only the head's {head_dim} is supported")
    for key in ("expert_count", "attention.sliding_window"):
        if metadata.get(f"{kind}.{key}", 0):
            raise UserError(f"{file.path}: {kind}.{key} is set, which is not supported yet")


def _rows(file: Gguf, name: str) -> int:
    if name not in file.tensors:
        raise UserError(f"{file.path}: tensor {name!r} is missing; the file is incomplete")
    return file.tensors[name].shape[0]


def _weights_by_type(file: Gguf) -> dict[str, int]:
    weights: dict[str, int] = {}
    for tensor in file.tensors.values():
        weights[tensor.type.name] = weights.get(tensor.type.name, 0) + prod(tensor.shape)
    return weights


def _main_type(file: Gguf) -> str:
    weights = _weights_by_type(file)
    return max(weights, key=lambda name: weights[name])


def _bits_per_weight(file: Gguf) -> float:
    return 8 * sum(tensor.size for tensor in file.tensors.values()) / sum(_weights_by_type(file).values())


def _check_tensors(file: Gguf, architecture: Architecture) -> None:
    """Exactly the architecture's tensors, each in its shape."""
    if architecture.layers > len(file.tensors):
        raise UserError(f"{file.path}: claims {architecture.layers} layers in {len(file.tensors)} tensors")
    expected: dict[str, list[tuple[int, ...]]] = {}
    for name, shape in architecture.tensors().items():
        expected.setdefault(_place(architecture, name)[0], []).append(shape)
    if architecture.rope_factors:
        expected[ROPE_FACTORS] = [(architecture.head_dim // 2,)]
    for stored, parts in expected.items():
        shape = (sum(part[0] for part in parts), *parts[0][1:])
        if stored not in file.tensors:
            raise UserError(f"{file.path}: tensor {stored!r} is missing; the file is incomplete")
        found = file.tensors[stored].shape
        if found != shape:
            raise UserError(f"{file.path}: tensor {stored!r} has shape {found}; its metadata say {shape}")
    extra = sorted(set(file.tensors) - set(expected))
    if extra:
        raise UserError(
            f"{file.path}: tensor {extra[0]!r:.80} ({len(extra)} such) is not part of a "
            f"{architecture.family} model as it is supported"
        )


def _place(architecture: Architecture, name: str) -> tuple[str, slice]:
    """The tensor in the file that holds our array ``name``, and which rows of it."""
    if name in _TOP:
        return _TOP[name], slice(None)
    layer, _, kind = name.partition(".")
    ending = "bias" if kind.endswith("_bias") else "weight"
    kind = kind.removesuffix("_bias")
    rows = slice(None)
    stored = _BLOCK[kind]
    if architecture.family == "gpt2" and kind in ("q", "k", "v"):  # one fused matrix: Q, K, V in turn
        width = architecture.heads * architecture.head_dim
        start = "qkv".index(kind) * width
        stored, rows = "attn_qkv", slice(start, start + width)
    return f"blk.{layer}.{stored}.{ending}", rows


def _halves(values: Any, heads: int) -> Any:
    """Rows of each head from pairs (0, 1), (2, 3) ... to pairs (i, i + head_dim / 2).

    GGUF's llama files keep Q and K in the order of Meta's own rotary code, which turns neighbours;
    ``think`` turns the first half of a head against the second, as most later families do.
    """
    n, k = values.shape
    return np.ascontiguousarray(values.reshape(heads, n // heads // 2, 2, k).swapaxes(1, 2)).reshape(n, k)
