"""A folder as transformers saves it: config.json, safetensors files, tokenizer.json."""

import re
from collections.abc import Iterator
from math import prod
from pathlib import Path

from whygpu.engine import UserError
from whygpu.models.checkpoint import Checkpoint
from whygpu.models.config import Config, read_config
from whygpu.models.places import check_places
from whygpu.models.safetensors import Shards, read_shards
from whygpu.models.tensor_names import Names, names_of, places
from whygpu.models.tokenizer_json import read_json, tokenizer_from_folder

__all__ = ["open_folder"]

MAX_TEMPLATE = 1 << 20
"""Bytes of a template's file."""


def open_folder(folder: Path) -> Checkpoint:
    """Open a folder of safetensors files; see ``open_checkpoint``."""
    config = read_config(folder)
    file = read_shards(folder)
    names = names_of("hugging_face", config.family.name)
    head = next((n for n in _heads(names) if n in file.tensors), f"{names.head}.weight")
    architecture = config.architecture(
        file.tensors,
        head,
        name=folder.resolve().name,
        extra_biases=_extra_biases(config, names, file),
        **_storage(file),
    )
    found = places(architecture, names, file.tensors)
    used = {name for place in found.values() for name in place.tensors}
    weights = {
        name: info
        for name, info in file.tensors.items()
        if name in used or not _is_ignored(name, names, head if architecture.tied_head else "")
    }
    kept = Shards(file.path, weights, file.home)
    check_places(kept, found, {})
    return Checkpoint(
        folder, kept, architecture, found, lambda: tokenizer_from_folder(folder), _chat_template(folder)
    )


def _heads(names: Names) -> Iterator[str]:
    """What the head's tensor may be called."""
    yield f"{names.head}.weight"
    for prefix in names.prefixes:
        yield f"{prefix}{names.head}.weight"
        yield f"{prefix.removesuffix('model.')}{names.head}.weight"


def _is_ignored(name: str, names: Names, duplicate: str) -> bool:
    """Whether a tensor is none of the language model's weights, or the tied head written out again."""
    return name == duplicate or any(re.search(pattern, name) for pattern in names.ignored)


def _extra_biases(config: Config, names: Names, file: Shards) -> frozenset[str]:
    """Biases that the family need not have, by the tensors of the first layer."""
    found = set()
    for prefix in names.prefixes:
        start = prefix + names.block.format(layer=0)
        for name in ("q", "k", "v", "out", "gate", "up", "down"):
            if f"{start}{names.blocks.get(name, '')}.bias" in file.tensors:
                found.add(name)
    return frozenset(found) - config.family.biases


def _storage(file: Shards) -> dict[str, object]:
    """The type that most weights are stored in, and the average bits a weight."""
    weights: dict[str, int] = {}
    for info in file.tensors.values():
        weights[info.type.name] = weights.get(info.type.name, 0) + prod(info.shape)
    count = sum(weights.values())
    if not count:
        raise UserError(f"{file.path}: its safetensors files hold no numbers; the model is incomplete")
    size = sum(info.size for info in file.tensors.values())
    return {"quant": max(weights, key=lambda name: weights[name]), "bits_per_weight": 8 * size / count}


def _chat_template(folder: Path) -> str | None:
    """The file's own template: ``chat_template.jinja``, or in ``tokenizer_config.json``."""
    path = folder / "chat_template.jinja"
    if path.is_file():
        try:
            if path.stat().st_size > MAX_TEMPLATE:
                raise UserError(f"{path}: has more than {MAX_TEMPLATE} bytes; it is damaged or hostile")
            return path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: cannot be read ({error})") from error
    template = (read_json(folder / "tokenizer_config.json") or {}).get("chat_template")
    if isinstance(template, list):  # several, by name
        named = {t.get("name"): t.get("template") for t in template if isinstance(t, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None
