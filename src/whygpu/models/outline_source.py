"""The outline that a person's MODEL means: a name, a file, a folder, a Hugging Face id. Headers only."""

import json
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from whygpu.engine import UserError
from whygpu.models.gguf import read_gguf
from whygpu.models.hub import Unavailable, is_hub_id, reachable
from whygpu.models.lookup import find_outline, known_name, spellings, stated_size
from whygpu.models.outline import Outline, outline_of_figures
from whygpu.models.outline_config import outline_of_config, outline_of_config_file
from whygpu.models.remote import remote_header
from whygpu.models.safetensors import read_safetensors
from whygpu.models.said import Note, said_context, said_storage, says_mixture, unknown_words

__all__ = ["Source", "named_source", "outline_source"]


@dataclass(frozen=True, slots=True)
class Source:
    """An outline, and how its weights are stored where a file says so."""

    outline: Outline
    quant: str | None = None
    bits: float | None = None
    """Average bits a weight: the tensors' bytes over their numbers."""
    notes: tuple[Note, ...] = ()
    """What of the name was taken otherwise, or not at all."""


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
        if path.exists():
            return _of_file(path, model)
        if not lowered.endswith(".gguf") or known_name(path.stem) is None:
            raise UserError(f"{model}: no such file")
        held = named_source(path.stem)
        return replace(held, notes=(Note("no_file", {"file": model}), *held.notes))
    if known_name(model) is None and is_hub_id(model):
        try:
            return _hub(model)
        except Unavailable:
            if stated_size(model) is None:
                raise
    return named_source(model)


def named_source(label: str) -> Source:
    """What a name says: the model, its storage, its context; notes tell what else it said.

    Raises
    ------
    UserError
        Where it names no model and no size, or a mixture without the size that a token uses.
    """
    shape, known = find_outline(label), known_name(label)
    notes: list[Note] = []
    if says_mixture(label) and not shape.is_mixture:
        raise UserError(
            f"model {label[:60]!r} is called a mixture (MoE), but not how much a token uses;"
            " write 30B-A3B or 8x7B"
        )
    if known is None or shape.name != known:
        size = f"{shape.parameters / 1e9:.3g}"
        notes.append(Note("generic", {"model": label[:60], "size": size}))
    else:
        words = unknown_words(label, spellings(known))
        if words:
            notes.append(Note("words", {"said": label[:60], "words": ", ".join(words), "taken": shape.name}))
    tokens = said_context(label)
    if tokens and not 0.9 < tokens / shape.context < 1.1:
        notes.append(
            Note(
                "context",
                {"said": f"{tokens:,}", "used": f"{max(tokens, shape.context):,}", "model": shape.name},
            )
        )
        shape = replace(shape, context=max(tokens, shape.context))
    return Source(shape, said_storage(label), notes=tuple(notes))


def _of_file(path: Path, label: str) -> Source:
    if path.suffix == ".gguf":
        return _gguf(path, label)
    if path.suffix == ".safetensors":
        held = read_safetensors(path)
        shape = outline_of_config_file(path.parent)
        size = sum(t.size for t in held.tensors.values())
        numbers = sum(prod(t.shape) for t in held.tensors.values())
        return Source(shape, None, 8 * size / numbers if numbers else None)
    shape = outline_of_config_file(path)
    file = path / "config.json" if path.is_dir() else path
    return Source(shape, _stored_as(json.loads(file.read_text(encoding="utf-8"))))


def _stored_as(config: dict[str, Any]) -> str | None:
    """How a ``config.json`` says that its weights are stored: only where they are quantised."""
    held = config.get("quantization_config") or config.get("compression_config")
    if not isinstance(held, dict):
        return None
    bits = held.get("bits") or (4 if held.get("load_in_4bit") else 8 if held.get("load_in_8bit") else None)
    method = str(held.get("quant_method", ""))
    if isinstance(bits, int) and 1 <= bits <= 8:
        return f"{bits}-bit"
    return said_storage(method) or said_storage(str(held.get("format", "")))


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


def _hub(name: str) -> Source:
    """From ``config.json`` of a Hugging Face id: the cache's copy, or fetched alone."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    repo = name.partition(":")[0]
    found = huggingface_hub.try_to_load_from_cache(repo, "config.json")
    if not isinstance(found, str):
        if not reachable(huggingface_hub.constants.ENDPOINT):
            raise Unavailable(
                f"{name}: not a known model, and Hugging Face cannot be reached; known ones: whygpu models"
            )
        try:
            found = huggingface_hub.hf_hub_download(repo, "config.json")
        except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
            raise Unavailable(f"{name}: its config.json cannot be had ({str(error)[:120]})") from error
    values = json.loads(Path(found).read_text(encoding="utf-8"))
    shape = outline_of_config(values, repo.rpartition("/")[2], f"config.json of {repo}")
    return Source(shape, said_storage(name.rpartition("/")[2]) or _stored_as(values))
