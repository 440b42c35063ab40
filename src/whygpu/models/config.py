"""From ``config.json`` to an ``Architecture``, by the table ``config.toml``.

Every field must be known: one that is not understood might change the result. What the weights themselves
prove (shapes, biases, a tied head) may be left out of the file; what they cannot prove must be stated, or
be listed in the table as left out by the family's published files, and then ``Architecture.source`` says so.
"""

import functools
import tomllib
from collections.abc import Collection
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from whygpu.engine import UserError
from whygpu.models.architecture import FAMILIES, Architecture
from whygpu.models.config_rope import ropes
from whygpu.models.tokenizer_json import read_json

__all__ = ["Config", "read_config"]

NESTED = ("text_config", "llm_config", "language_config")
"""Where models of several parts keep their language model's fields."""
MAX_LAYERS = 4096
NEEDED = object()
"""In place of a default: the field must be there."""


def read_config(folder: Path) -> "Config":
    """Read ``config.json`` of a folder.

    Raises
    ------
    UserError
        Where it is missing, damaged, of a model that is not supported, or quantised.
    """
    path = folder / "config.json"
    found = read_json(path)
    if found is None:
        raise UserError(f"{folder}: has no config.json; a folder with a model in safetensors files is needed")
    inner = next((found[key] for key in NESTED if isinstance(found.get(key), dict)), None)
    for part in (found, inner or {}):
        if part.get("quantization_config") is not None:
            raise UserError(
                f"{path}: the weights are quantised (quantization_config); "
                "float32, float16 and bfloat16 are read"
            )
    return Config(path, found if inner is None else inner)


class Config:
    """The fields of one ``config.json``; each access is checked and noted."""

    def __init__(self, path: Path, fields: dict[str, Any]) -> None:
        self.path, self.fields = path, fields
        self.kind = fields.get("model_type")
        if not isinstance(self.kind, str) or self.kind not in _table()["types"]:
            self.fail(
                f"model_type {self.kind!r:.60} is not supported; supported: {', '.join(_table()['types'])}"
            )
        self.row = _table()["types"][self.kind]
        self.family = FAMILIES[self.row["family"]]
        self._names = {**_table()["default"]["fields"], **self.row.get("fields", {})}
        self._omitted = self.row.get("omitted", {})
        self._seen = {"model_type"}
        self.filled: dict[str, Any] = {}
        """Fields that the file leaves out, and what the table has for them."""

    def fail(self, what: str) -> NoReturn:
        """Raise with the file's name."""
        raise UserError(f"{self.path}: {what}")

    def get(self, name: str, default: Any = NEEDED) -> Any:
        """A field as it is; ``null`` counts as left out where there is a default."""
        self._seen.add(name)
        value = self.fields.get(name)
        if value is not None:
            return value
        if name in self._omitted and name not in self.fields:
            self.filled[name] = self._omitted[name]
            return self._omitted[name]
        if default is NEEDED:
            self.fail(f"the field {name} is missing or null; {self.kind} models need it")
        return default

    def integer(self, name: str, default: Any = NEEDED) -> int:
        """A whole number from 0."""
        value = self.get(name, default)
        if type(value) is not int or not 0 <= value < 1 << 40:
            self.fail(f"{name} is {value!r:.40}; a whole number is needed")
        return value

    def number(self, name: str, default: Any = NEEDED) -> float:
        """A finite number."""
        value = self.get(name, default)
        if type(value) not in (int, float) or not isfinite(value):
            self.fail(f"{name} is {value!r:.40}; a number is needed")
        return float(value)

    def flag(self, name: str, default: Any = NEEDED) -> bool:
        """A truth value."""
        value = self.get(name, default)
        if type(value) is not bool:
            self.fail(f"{name} is {value!r:.40}; true or false is needed")
        return value

    def layers_listed(self, name: str, layers: int) -> tuple[int, ...]:
        """A list of layer numbers, perhaps none."""
        value = self.get(name, [])
        if not isinstance(value, list) or any(type(v) is not int or not 0 <= v < layers for v in value):
            self.fail(f"{name} is {value!r:.40}; a list of layers below {layers} is needed")
        return tuple(value)

    def architecture(self, tensors: Collection[str], head: str, **stored: Any) -> Architecture:
        """The architecture of these fields, with weights of these names.

        Parameters
        ----------
        tensors
            Names in the safetensors files.
        head
            The name of the head's tensor; without it the head is tied.
        stored
            ``quant``, ``bits_per_weight``, ``name`` and ``extra_biases``, as the tensors show.
        """
        names = self._names
        layers, d_model = self.integer(names["layers"]), self.integer(names["d_model"])
        heads = self.integer(names["heads"])
        if not 1 <= layers <= MAX_LAYERS or heads < 1:
            self.fail(f"{layers} layers of {heads} heads cannot be; 1 to {MAX_LAYERS} layers are read")
        head_dim = self.integer("head_dim", d_model // heads)
        d_ff = self.integer(names["d_ff"], 4 * d_model if self.kind == "gpt2" else NEEDED)
        context = self.integer(names["context"])
        shapes: dict[str, Any] = {
            "layers": layers,
            "d_model": d_model,
            "heads": heads,
            "kv_heads": self.integer(names["kv_heads"], heads),
            "head_dim": head_dim,
            "d_ff": d_ff,
            "vocab": self.integer(names["vocab"]),
            "context": context,
            "norm_eps": self.number(names["norm_eps"]),
        }
        self._check_activation(names["activation"])
        parts: dict[str, Any] = {
            **(ropes(self, head_dim, context) if self.family.positions == "rope" else {}),
            **self._windows(layers),
            **self._gemma(),
            **self._experts(layers, d_ff),
        }
        mixtures = layers - len(parts.get("dense_layers", ()))
        if layers + 3 * mixtures * parts.get("experts", 0) > len(tensors):  # before anything is made for each
            self.fail(
                f"{layers} layers (of {parts.get('experts', 0)} experts) in {len(tensors)} tensors cannot be"
            )
        tied = self._is_tied(head in tensors)
        self._check_rest()
        left_out = "".join(f"; left out there: {name} = {value}" for name, value in self.filled.items())
        source = f"{self.path.name} of {self.path.parent.name}{left_out}"
        return Architecture(
            family=self.family.name, **shapes, **parts, tied_head=tied, source=source, **stored
        )

    def _check_activation(self, field: str) -> None:
        right = _table()["activations"][self.family.activation]
        if field != "hidden_act":
            self._seen.add("hidden_act")  # gemma's files have both; the other one counts
        value = self.get(field)
        if value not in right:
            self.fail(
                f"{field} {value!r:.40} is not supported in {self.kind} models; supported: {', '.join(right)}"
            )

    def _windows(self, layers: int) -> dict[str, Any]:
        """Which layers see how much."""
        row = self.row
        types = self.get("layer_types", None) if row["window"] != "none" else None
        pattern = self.get(
            "sliding_window_pattern", self.get("_sliding_window_pattern", row.get("period", 0))
        )
        window = self.integer("sliding_window", 0) if row["window"] != "none" else 0
        after = self.get("max_window_layers", None)
        if row.get("switch") and not self.flag("use_sliding_window", False):
            window = 0
        if types is not None:
            kinds = ("full_attention", "sliding_attention")
            if not isinstance(types, list) or len(types) != layers or any(t not in kinds for t in types):
                self.fail(f"layer_types must name {' or '.join(kinds)} for each of {layers} layers")
            local = tuple(i for i, kind in enumerate(types) if kind == "sliding_attention")
            if local and not window:
                self.fail("layer_types has sliding_attention, but there is no sliding_window")
        elif row["window"] == "all":
            local = tuple(range(layers))
        elif row.get("period"):
            if type(pattern) is not int or pattern < 1:
                self.fail(f"sliding_window_pattern is {pattern!r:.40}; 1 or more is needed")
            local = tuple(i for i in range(layers) if (i + 1) % pattern)
        else:
            first = self.integer("max_window_layers") if window else after
            local = tuple(range(min(first, layers), layers)) if window else ()
        return {"window": window, "local_layers": local} if window and local else {}

    def _gemma(self) -> dict[str, Any]:
        """Score scale and soft caps."""
        if self.family.name not in ("gemma2", "gemma3"):
            return {}
        scale = self.number("query_pre_attn_scalar")
        if scale <= 0:
            self.fail(f"query_pre_attn_scalar is {scale}; it must be above 0")
        caps = {"logit_cap": self.number("final_logit_softcapping", 0.0)}
        if self.family.name == "gemma2":
            caps["attention_cap"] = self.number("attn_logit_softcapping", 0.0)
        return {"attention_scale": scale**-0.5, **caps}

    def _experts(self, layers: int, d_ff: int) -> dict[str, Any]:
        if not self.family.experts:
            return {}
        if self.kind == "mixtral":
            return {
                "experts": self.integer("num_local_experts"),
                "experts_used": self.integer("num_experts_per_tok"),
                "expert_d_ff": d_ff,
            }
        step = self.integer("decoder_sparse_step", 1)
        if step < 1:
            self.fail("decoder_sparse_step is 0; it must be 1 or more")
        dense = {i for i in range(layers) if (i + 1) % step} | set(
            self.layers_listed("mlp_only_layers", layers)
        )
        either = "num_experts" if "num_experts" in self.fields else "num_local_experts"
        return {
            "experts": self.integer(either),
            "experts_used": self.integer("num_experts_per_tok"),
            "expert_d_ff": self.integer("moe_intermediate_size"),
            "experts_normalised": self.flag("norm_topk_prob"),
            "dense_layers": tuple(sorted(dense)),
        }

    def _is_tied(self, has_head: bool) -> bool:
        """Whether the head is the embedding again: as the file says; if it does not, as the tensors show."""
        stated = self.get("tie_word_embeddings", None)
        if stated is None:
            return not has_head
        return self.flag("tie_word_embeddings")

    def _check_rest(self) -> None:
        """No field may be left that is not understood."""
        must = {**_table()["default"]["must"], **self.row.get("must", {})}
        ignored = set(_table()["ignored"]["fields"])
        for name, value in self.fields.items():
            if name in self._seen or name in ignored:
                continue
            if name not in must:
                self.fail(f"the field {name[:60]!r} is not understood; what it asks for is not supported")
            if ("null" if value is None else value) not in must[name]:
                right = " or ".join(str(v).lower() for v in must[name])
                self.fail(f"{name} is {value!r:.40}, which is not supported; supported: {right}")


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("whygpu.models") / "config.toml").read_text("utf-8"))
