"""What a GGUF file's metadata say of its model, in our own terms.

Keys: ``gguf_keys.toml``. What each family's files say and leave out: llama.cpp's converter
(conversion/*.py) and loader (src/models/*.cpp).
"""

import functools
import tomllib
from dataclasses import replace
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from whygpu.engine import UserError
from whygpu.models.architecture import FAMILIES, Architecture, Family, family
from whygpu.models.checkpoint import Checkpoint
from whygpu.models.places import check_places
from whygpu.models.quants import to_float32
from whygpu.models.rope import ROPE_TYPES, RopeScaling, yarn_magnitude
from whygpu.models.split import GgufFile, read_whole
from whygpu.models.tensor_names import Names, names_of, places
from whygpu.models.tokenizer_gguf import tokenizer_from_metadata

__all__ = ["open_gguf"]

DIVISORS = "rope_freqs.weight"
LONG_DIVISORS, SHORT_DIVISORS = "rope_factors_long.weight", "rope_factors_short.weight"

PAIRED = frozenset({"llama", "mixtral"})
"""Families whose Q and K rows the converter puts in rotary pairs, as Meta's code turns them."""

LOCAL_PERIOD = {"gemma2": 2, "gemma3": 6}
"""Every n-th layer sees everything, where the file does not say (the converter writes it since 2025)."""
LOCAL_THETA = {"gemma3": 10000.0}
"""Base of the local layers' frequencies, likewise (arXiv 2503.19786, section 2.1)."""
WIDE_SCALE = {"gemma2": 46, "gemma3": 62}
"""Layers of the one size (27B) that scales scores by (d_model / heads) ** -0.5; GGUF has no key for it."""


def open_gguf(path: Path) -> Checkpoint:
    """Open a GGUF file; see ``open_checkpoint``."""
    file = read_whole(path)
    header = _Header(file)
    names = names_of("gguf", header.family.name)
    architecture = header.architecture(names)
    if architecture.family in PAIRED:
        names = replace(names, pairs=frozenset({"q", "k"}))
    found = places(architecture, names, file.tensors)
    extra = {
        name: (architecture.blocks[0].rope.dims // 2,)
        for name in (DIVISORS, LONG_DIVISORS, SHORT_DIVISORS)
        if name in file.tensors and architecture.blocks[0].rope
    }
    check_places(file, found, extra)
    template = file.metadata.get("tokenizer.chat_template")
    return Checkpoint(
        path,
        file,
        architecture,
        found,
        lambda: tokenizer_from_metadata(file.metadata, str(path)),
        template if isinstance(template, str) else None,
    )


class _Header:
    """Reads one file's metadata; every access is checked, what is not understood is refused."""

    def __init__(self, file: GgufFile) -> None:
        self.file = file
        self.kind = file.value("general.architecture", str)
        self.family = self._family()
        self._check_keys()
        self.layers = self.integer("block_count")
        if not 1 <= self.layers <= len(file.tensors):
            self.fail(f"claims {self.layers} layers in {len(file.tensors)} tensors")

    def fail(self, what: str) -> NoReturn:
        raise UserError(f"{self.file.path}: {what}")

    def _family(self) -> Family:
        if self.kind == "mixtral":  # no such name in GGUF: it is a llama with experts there
            family("", str(self.file.path))
        found = family(self.kind, str(self.file.path))
        experts = self.file.metadata.get(f"{self.kind}.expert_count", 0)
        return FAMILIES["mixtral"] if self.kind == "llama" and experts else found

    def _check_keys(self) -> None:
        """Every key of the architecture must be one whose meaning is known."""
        for key, value in self.file.metadata.items():
            if not key.startswith(f"{self.kind}."):
                continue
            name = key.removeprefix(f"{self.kind}.")
            if name in _keys()["read"] or name in _keys()["ignored"]:
                continue
            right = _keys()["neutral"].get(name)
            if right is None:
                self.fail(f"{key[:80]!r} is not understood; what it asks for is not supported")
            if not np.isscalar(value) or value not in right:
                known = " or ".join(map(str, right))
                self.fail(f"{key} is {value!r:.40}, which is not supported; supported: {known}")

    def integer(self, key: str, default: int | None = None) -> int:
        return int(self.file.value(f"{self.kind}.{key}", int, default))

    def number(self, key: str, default: float | None = None) -> float:
        return float(self.file.value(f"{self.kind}.{key}", (int, float), default))

    def each(self, key: str, default: int | None = None) -> tuple[int, ...]:
        """One whole number a layer: the file has one for all, or an array."""
        value = self.file.metadata.get(f"{self.kind}.{key}", default)
        if isinstance(value, np.ndarray):
            if value.ndim != 1 or len(value) != self.layers or value.dtype.kind not in "iub":
                self.fail(f"{self.kind}.{key} is no array of {self.layers} whole numbers, one a layer")
            return tuple(int(v) for v in value)
        return (self.integer(key, default),) * self.layers

    def architecture(self, names: Names) -> Architecture:
        """Everything that the metadata and the tensors' names say."""
        heads = self.each("attention.head_count")
        shared = self.each("attention.head_count_kv") if self._has("attention.head_count_kv") else heads
        d_ff, d_model = self.each("feed_forward_length"), self.integer("embedding_length")
        if min(heads) < 1 or d_model < 1:
            self.fail(f"{min(heads)} heads of {d_model} dimensions cannot be")
        head_dim = self.integer("attention.key_length", d_model // heads[0])
        if self.integer("attention.value_length", head_dim) != head_dim:
            self.fail("values of another length than keys are not supported")
        epsilon = "layer_norm_rms_epsilon" if self.family.norm == "rms" else "layer_norm_epsilon"
        return Architecture(
            name=str(self.file.metadata.get("general.name", self.file.path.stem)),
            family=self.family.name,
            layers=self.layers,
            d_model=d_model,
            heads=max(heads),
            kv_heads=max(shared),
            head_dim=head_dim,
            d_ff=max(d_ff),
            layer_heads=_if_varied(heads),
            layer_kv_heads=_if_varied(shared) or (shared if _if_varied(heads) else ()),
            layer_d_ff=_if_varied(d_ff),
            vocab=self._rows(f"{names.embedding}.weight"),
            context=self.integer("context_length"),
            norm_eps=self.number(f"attention.{epsilon}"),
            attention_scale=self._attention_scale(d_model, heads[0]),
            attention_cap=self._cap("attn_logit_softcapping"),
            logit_cap=self._cap("final_logit_softcapping"),
            extra_biases=self._extra_biases(names),
            tied_head=f"{names.head}.weight" not in self.file.tensors,
            quant=self._main_type(),
            bits_per_weight=self._bits_per_weight(),
            source=f"header of {self.file.path.name}",
            **self._positions(head_dim),
            **self._windows(),
            **self._experts(max(d_ff), names),
        )

    def _has(self, key: str) -> bool:
        return f"{self.kind}.{key}" in self.file.metadata

    def _rows(self, name: str) -> int:
        if name not in self.file.tensors:
            self.fail(f"tensor {name!r} is missing; the file is incomplete")
        return self.file.tensors[name].shape[0]

    def _cap(self, key: str) -> float:
        """A soft cap; gemma2, which is nothing without, must state its own."""
        return self.number(key, None if self.family.name == "gemma2" else 0.0)

    def _attention_scale(self, d_model: int, heads: int) -> float:
        if self._has("attention.scale"):
            return self.number("attention.scale")
        wide = WIDE_SCALE.get(self.family.name) == self.layers
        return float((d_model // heads) ** -0.5) if wide else 0.0

    def _extra_biases(self, names: Names) -> frozenset[str]:
        """Biases that the family need not have, by the tensors of the first layer."""
        start = names.block.format(layer=0)
        stored = {name: names.blocks[name] for name in ("q", "k", "v", "out", "gate", "up", "down")}
        if f"{start}{names.blocks['qkv']}.bias" in self.file.tensors:
            stored |= dict.fromkeys("qkv", names.blocks["qkv"])
        there = {name for name, kept in stored.items() if f"{start}{kept}.bias" in self.file.tensors}
        return frozenset(there - self.family.biases)

    def _windows(self) -> dict[str, Any]:
        """Which layers see how much. A window that is stated counts, though llama.cpp passes over phi3's."""
        needed = None if self.family.name == "gemma2" else 0
        window = self.integer("attention.sliding_window", needed)
        if not window:
            return {}
        key = "attention.sliding_window_pattern"
        if isinstance(self.file.metadata.get(f"{self.kind}.{key}"), np.ndarray):
            local = tuple(i for i, is_local in enumerate(self.each(key)) if is_local)
        else:
            period = self.integer(key, LOCAL_PERIOD.get(self.family.name, 0))
            local = tuple(i for i in range(self.layers) if not period or (i + 1) % period)
        return {"window": window, "local_layers": local} if local else {}

    def _experts(self, d_ff: int, names: Names) -> dict[str, Any]:
        if not self.family.experts:
            if self._has("expert_count") and self.integer("expert_count"):
                self.fail(f"{self.kind}.expert_count is set, but {self.kind} models have no experts")
            return {}
        used, tensors = self.integer("expert_used_count"), self.file.tensors
        own = self.family.name == "mixtral"  # its experts are as wide as the file says MLPs are
        router = names.block + names.blocks["router"] + ".weight"
        return {
            "experts": self.integer("expert_count"),
            "experts_used": used,
            "expert_d_ff": d_ff if own else self.integer("expert_feed_forward_length"),
            # llama.cpp scales the shares of both families to sum to 1, whatever the file says
            "experts_normalised": bool(self.file.value(f"{self.kind}.expert_weights_norm", bool, True)),
            "dense_layers": tuple(i for i in range(self.layers) if router.format(layer=i) not in tensors),
        }

    def _positions(self, head_dim: int) -> dict[str, Any]:
        if self.family.positions != "rope":
            return {}
        dims = self.integer("rope.dimension_count", head_dim)
        if dims != head_dim and self.family.name in PAIRED:
            self.fail(f"{self.kind}.rope.dimension_count is {dims}; only the head's {head_dim} is supported")
        local = self.number("rope.freq_base_swa", LOCAL_THETA.get(self.family.name, 0.0))
        return {
            "rope_theta": self.number("rope.freq_base", 10000.0),  # GGUF's own default
            "rope_dims": 0 if dims == head_dim else dims,
            "rope_theta_local": local if self._has("attention.sliding_window") else 0.0,
            "rope_scaling": self._scaling(),
        }

    def _scaling(self) -> RopeScaling | None:
        tensors = self.file.tensors
        kind = self.file.value(f"{self.kind}.rope.scaling.type", str, "none")
        if LONG_DIVISORS in tensors and kind in ("none", "longrope"):
            return RopeScaling(
                kind="longrope",
                original_context=self.integer("rope.scaling.original_context_length"),
                divisors=self._numbers(SHORT_DIVISORS),
                long_divisors=self._numbers(LONG_DIVISORS),
                magnitude=self.number("rope.scaling.attn_factor"),
            )
        if self.number("rope.scaling.attn_factor", 1.0) != 1.0:
            self.fail(f"{self.kind}.rope.scaling.attn_factor without {LONG_DIVISORS} is not supported")
        if DIVISORS in tensors and kind == "none":
            return RopeScaling(kind="divisors", divisors=self._numbers(DIVISORS))
        if kind == "none":
            return None
        if kind not in ("linear", "yarn"):
            self.fail(f"rope scaling {kind!r:.40} is not supported; supported: none, {', '.join(ROPE_TYPES)}")
        factor = self.number("rope.scaling.factor")
        if kind == "linear":
            return None if factor in (0.0, 1.0) else RopeScaling(kind="linear", factor=factor)
        return RopeScaling(
            kind="yarn",
            factor=factor,
            original_context=self.integer("rope.scaling.original_context_length"),
            beta_fast=self.number("rope.scaling.yarn_beta_fast", 32.0),
            beta_slow=self.number("rope.scaling.yarn_beta_slow", 1.0),
            magnitude=yarn_magnitude(factor),
        )

    def _numbers(self, name: str) -> tuple[float, ...]:
        """A short vector beside the weights."""
        if name not in self.file.tensors:
            self.fail(f"tensor {name!r} is missing; the file is incomplete")
        info = self.file.tensors[name]
        if len(info.shape) != 1 or info.shape[0] > 4096 or info.type.name not in ("F32", "F16", "BF16"):
            self.fail(f"tensor {name!r} is no short vector of floating-point numbers")
        values = to_float32(self.file.raw(info), info.type.name, info.type.weights, info.type.bytes)
        if not (np.isfinite(values).all() and (values > 0).all()):
            self.fail(f"tensor {name!r} holds numbers that are not above 0")
        return tuple(float(v) for v in values)

    def _weights_by_type(self) -> dict[str, int]:
        weights: dict[str, int] = {}
        for tensor in self.file.tensors.values():
            weights[tensor.type.name] = weights.get(tensor.type.name, 0) + prod(tensor.shape)
        return weights

    def _main_type(self) -> str:
        weights = self._weights_by_type()
        return max(weights, key=lambda name: weights[name])

    def _bits_per_weight(self) -> float:
        size = sum(tensor.size for tensor in self.file.tensors.values())
        return 8 * size / sum(self._weights_by_type().values())


def _if_varied(values: tuple[int, ...]) -> tuple[int, ...]:
    return values if len(set(values)) > 1 else ()


@functools.cache
def _keys() -> dict[str, Any]:
    return tomllib.loads((files("whygpu.models") / "gguf_keys.toml").read_text("utf-8"))
