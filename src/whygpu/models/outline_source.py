"""The outline that a person's MODEL means: a name, a file, a folder, a Hugging Face id. Headers only."""

import json
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from whygpu.engine import UserError
from whygpu.models.gguf import read_gguf
from whygpu.models.hub import is_hub_id, reachable
from whygpu.models.lookup import find_outline, known_name
from whygpu.models.outline import Outline, outline_of_figures
from whygpu.models.outline_config import outline_of_config, outline_of_config_file
from whygpu.models.remote import remote_header
from whygpu.models.safetensors import read_safetensors

__all__ = ["Source", "outline_source"]


@dataclass(frozen=True, slots=True)
class Source:
    """An outline, and how its weights are stored where a file says so."""

    outline: Outline
    quant: str | None = None
    bits: float | None = None
    """Average bits a weight: the tensors' bytes over their numbers."""


def outline_source(model: str) -> Source:
    """What ``model`` means.

    A path to a GGUF or safetensors file, a ``config.json`` or its folder; else a known name; else a Hugging
    Face
    id, of which only ``config.json`` (or, for ``...gguf``, the header by range requests) is fetched.

    Raises
    ------
    UserError
        Where it is none of these, or the file is damaged.
    """
    path = Path(model)
    lowered = model.lower()
    if lowered.startswith(("http://", "https://")):
        with remote_header(model) as file:
            return _of_file(file, model)
    if lowered.endswith((".gguf", ".safetensors", ".json")) or path.is_dir():
        if not path.exists():
            raise UserError(f"{model}: no such file")
        return _of_file(path, model)
    if known_name(model) is None and is_hub_id(model):
        return Source(_hub(model))
    return Source(find_outline(model))


def _of_file(path: Path, label: str) -> Source:
    if path.suffix == ".gguf":
        return _gguf(path, label)
    if path.suffix == ".safetensors":
        held = read_safetensors(path)
        shape = outline_of_config_file(path.parent)
        size = sum(t.size for t in held.tensors.values())
        numbers = sum(prod(t.shape) for t in held.tensors.values())
        return Source(shape, None, 8 * size / numbers if numbers else None)
    return Source(outline_of_config_file(path))


def _gguf(path: Path, label: str) -> Source:
    file = read_gguf(path)
    kind = file.metadata.get("general.architecture")
    if not isinstance(kind, str):
        raise UserError(f"{label}: general.architecture is missing; it is needed")

    def key(name: str, default: Any = None) -> Any:
        value = file.metadata.get(f"{kind}.{name}", default)
        if isinstance(value, list | tuple) and value:
            value = round(sum(value) / len(value))
        if value is None:
            raise UserError(f"{label}: {kind}.{name} is missing; it is needed")
        return int(value)

    tensors = file.tensors
    vocab = tensors["token_embd.weight"].shape[0] if "token_embd.weight" in tensors else key("vocab_size")
    layers = key("block_count") - int(file.metadata.get(f"{kind}.nextn_predict_layers", 0) or 0)
    heads = key("attention.head_count")
    figures: dict[str, Any] = {
        "layers": layers,
        "d_model": key("embedding_length"),
        "heads": heads,
        "vocab": vocab,
        "context": key("context_length", 2048),
        "kv_heads": key("attention.head_count_kv", heads),
        "d_ff": key("feed_forward_length", 0),
        "head_dim": key("attention.key_length", 0),
        "tied_head": "output.weight" not in tensors,
        "gated": any("ffn_gate" in name for name in tensors) or kind in ("phi3", "chatglm"),
        "window": key("attention.sliding_window", 0),
        "experts": key("expert_count", 0),
        "experts_used": key("expert_used_count", 0),
        "expert_d_ff": key("expert_feed_forward_length", key("feed_forward_length", 0)),
        "dense_first": key("leading_dense_block_count", 0),
        "source": label,
        "shared_d_ff": key(
            "expert_shared_feed_forward_length",
            key("expert_shared_count", 0) * key("expert_feed_forward_length", 0),
        ),
    }
    if f"{kind}.attention.kv_lora_rank" in file.metadata:
        rope = key("rope.dimension_count", 64)
        figures |= {
            "kv_rank": key("attention.kv_lora_rank"),
            "q_rank": key("attention.q_lora_rank", 0),
            "rope_dim": rope,
            "nope_dim": key("attention.key_length_mla", key("attention.key_length", 192)) - rope,
            "v_dim": key("attention.value_length_mla", key("attention.value_length", 128)),
            "head_dim": 0,
        }
    shape = outline_of_figures(path.stem if path.name == Path(label).name else Path(label).stem, figures)
    numbers = sum(prod(t.shape) for t in tensors.values())
    size = sum(t.size for t in tensors.values())
    shape = replace(
        shape, small=max(0, shape.small + (numbers - shape.parameters)) if numbers else shape.small
    )
    return Source(shape, _common(tensors.values()), 8 * size / numbers if numbers else None)


def _common(tensors: Any) -> str:
    """The block type that holds most weights."""
    held: dict[str, int] = {}
    for tensor in tensors:
        held[tensor.type.name] = held.get(tensor.type.name, 0) + prod(tensor.shape)
    return max(held, key=lambda name: held[name]) if held else "F16"


def _hub(name: str) -> Outline:
    """From ``config.json`` of a Hugging Face id: the cache's copy, or fetched alone."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    repo = name.partition(":")[0]
    found = huggingface_hub.try_to_load_from_cache(repo, "config.json")
    if not isinstance(found, str):
        if not reachable(huggingface_hub.constants.ENDPOINT):
            raise UserError(
                f"{name}: not a known model, and Hugging Face cannot be reached; known ones: whygpu models"
            )
        try:
            found = huggingface_hub.hf_hub_download(repo, "config.json")
        except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
            raise UserError(f"{name}: its config.json cannot be had ({str(error)[:120]})") from error
    values = json.loads(Path(found).read_text(encoding="utf-8"))
    return outline_of_config(values, repo.rpartition("/")[2], f"config.json of {repo}")
