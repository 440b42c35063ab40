"""From what people call a model to its outline: catalogue names, aliases, fine-tunes, or a size alone."""

import difflib
import functools
import re
import tomllib
from importlib.resources import files
from typing import Any

from whygpu.engine import UserError
from whygpu.models.catalogue import get, names
from whygpu.models.outline import Outline, outline, outline_of_figures
from whygpu.models.said import without_storage

__all__ = [
    "find_outline",
    "generic_outline",
    "known_name",
    "outline_names",
    "published",
    "spellings",
    "stated_size",
]

_DECORATION = re.compile(
    r"\b(instruct|chat|it|base|hf|gguf|mlx|awq|gptq|exl2|fp8|bf16|fp16|nvfp4|fp4|int4|int8|uncensored|model|moe|"
    r"dense|text|preview|meta|google|microsoft|ud|quant(ized)?|[248]bit|q\d_[a-z0-9_]+|q\d|dynamic|pretrain|mxfp[48]|"
    r"w4a16|w8a8|thinking|latest|20\d\d|2[345]\d\d|2507|0528|0324|\d+e)\b"
)


_STORED = re.compile(
    r"\b(mostly|all)\b|(?<![a-z0-9])(ud[-_ ])?(i?q\d|tq\d)(_[a-z0-9]+)*"
    r"( ?- ?(extra )?(small|medium|large)( xl)?)?(?![a-z0-9])|"
    r"(?<![a-z0-9])(mxfp4|nvfp4|bf16|f16|f32|fp16|fp8)( moe)?(?![a-z0-9])"
)
"""How weights are stored, as labels say it."""
_SIZE = re.compile(r"\d+(\.\d+)?[bm]")


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files("whygpu.models") / "outlines.toml").read_text("utf-8"))


def outline_names() -> list[str]:
    """Every model whose outline is known: those that can be run here first."""
    return [*names(), *(name for name in _table() if name not in names())]


def published(name: str) -> tuple[float | None, float | None]:
    """Parameters, and those active for one token, that the authors state; None where they are not noted."""
    row = _table().get(name, {})
    return (
        row["published"] * 1e9 if "published" in row else None,
        row["active"] * 1e9 if "active" in row else None,
    )


@functools.cache
def _named(name: str) -> Outline:
    row = _table().get(name)
    if row is None:
        return outline(get(name))
    return outline_of_figures(name, {**row["figures"], "source": row["source"]})


@functools.cache
def _short() -> dict[str, dict[str, str]]:
    return tomllib.loads((files("whygpu.models") / "short_names.toml").read_text("utf-8"))


@functools.lru_cache(maxsize=4096)
def _spoken(label: str) -> str:
    """A label without its storage, in this catalogue's names: "qwen3moe 30B.A3B Q4_K" is qwen3 30b.a3b."""
    text = " ".join(_STORED.sub(" ", re.sub(r"(\d)_(?=\d+b\b)", r"\1.", label.lower())).split())
    text = re.sub(r"^c4ai[- ]", "", text.rsplit("/", 1)[-1])
    plain = re.sub(r"\s*\(.*?\)", "", text).strip()
    if plain in _short()["whole"]:
        return _short()["whole"][plain]
    first, _, rest = plain.partition(" ")
    if rest and re.match(r"e?\d", rest) and first in _short()["first"]:
        return f"{_short()['first'][first]} {rest}"
    return text


def _squash(label: str, *, plain: bool = False) -> str:
    text = label.lower().replace("_", " ")
    text = re.sub(r"\(.*?\)", " ", text).rsplit("/", 1)[-1]
    text = re.sub(r"[-\s]+", " ", text)
    if not plain:
        text = _DECORATION.sub(" ", text)
    return re.sub(r"[^a-z0-9.]", "", text)


@functools.cache
def _index() -> dict[str, str]:
    """Catalogue name by squashed name or alias."""
    found: dict[str, str] = {}
    for name in outline_names():
        for alias in (name, *_table().get(name, {}).get("aliases", ()), *_MORE.get(name, ())):
            for key in (_squash(alias, plain=True), _squash(alias)):
                found.setdefault(key, name)
    return found


_MORE = {
    "llama-3-8b": ("llama 3 8b", "llama3 8b"),
    "llama-3.1-8b": ("llama 3.1 8b", "llama3.1 8b", "llama 8b"),
    "llama-2-7b": ("llama 2 7b", "llama 7b v2", "llama2 7b", "orca 2 7b", "codellama 7b"),
    "llama-3.2-1b": ("llama 3.2 1b",),
    "mistral-7b": (
        "mistral 7b",
        "zephyr 7b",
        "openhermes 2.5 mistral 7b",
        "openchat 3.5",
        "openchat 7b",
        "starling 7b",
        "neural chat 7b",
    ),
    "mixtral-8x7b": ("mixtral", "8x7b", "dolphin mixtral 8x7b", "mixtral 47b"),
    "tinyllama": ("tinyllama 1.1b",),
    "qwen2.5-0.5b": ("qwen 2.5 0.5b", "qwen 2.5 coder 0.5b"),
    "qwen3-0.6b": ("qwen 3 0.6b",),
    "qwen3-30b-a3b": ("qwen 3 30b a3b", "qwen 3 30b", "qwen3 coder 30b a3b", "qwen3 coder 30b"),
    "phi-3-mini": ("phi 3 mini", "phi 3.5 mini", "phi 3 3.8b", "phi 3.5 mini 3.8b", "phi 3 mini 3.8b"),
    "gemma-2-2b": ("gemma 2 2b", "gemma2 2b"),
    "gemma-3-1b": ("gemma 3 1b", "gemma3 1b"),
    "gpt2-small": ("gpt2", "gpt 2", "gpt 2 117m", "gpt 2 124m", "gpt2 124m"),
    "gpt2-medium": ("gpt 2 345m", "gpt 2 350m", "gpt2 355m"),
    "gpt2-large": ("gpt 2 774m", "gpt2 774m"),
    "gpt2-xl": ("gpt 2 1558m", "gpt 2 1.5b", "gpt2 1.5b", "gpt2 xl"),
    "gpt-3-175b": ("gpt 3", "gpt 3 175b", "gpt3 175b", "davinci"),
    "smollm2-135m": ("smollm2 135m", "smollm 135m"),
}
"""Aliases of the models that can be run here; those of the others stand in outlines.toml."""


def find_outline(label: str, *, parameters: float | None = None) -> Outline:
    """The outline that a model's name means, however it is written.

    Parameters
    ----------
    parameters
        What is known of its size. Where the name is unknown, or names another size, a generic one of that
        size serves, so that a measurement of an unlisted model can still be predicted.

    Raises
    ------
    UserError
        Where neither the name nor the size tells; the line names the nearest known models.
    """
    known, exact = _known(label)
    if known is not None:
        found = _named(known)
        if exact or parameters is None or 0.75 < found.parameters / parameters < 1.35:
            return found
    size, active = _stated(label)
    if parameters or size:
        return generic_outline(label, parameters or size or 0.0, active)
    near = difflib.get_close_matches(label.lower(), outline_names(), n=3, cutoff=0.4)
    hint = f"near names: {', '.join(near)}" if near else "list them: whygpu models"
    raise UserError(f"model {label[:60]!r} is unknown and its name says no size; {hint}")


def spellings(name: str) -> tuple[str, ...]:
    """A catalogue name, its aliases and what llama.cpp prints for its architecture."""
    printed = [
        key for section in _short().values() for key, value in section.items() if name.startswith(value)
    ]
    return (name, *_table().get(name, {}).get("aliases", ()), *_MORE.get(name, ()), *printed)


def known_name(label: str) -> str | None:
    """The catalogue name that ``label`` means, or None."""
    return _known(label)[0]


@functools.lru_cache(maxsize=4096)
def _known(label: str) -> tuple[str | None, bool]:
    """A catalogue name, and whether the label is its name or alias and not only contains it."""
    index, spoken = _index(), _spoken(label)
    bare = without_storage(label)
    keys = [_squash(text, plain=plain) for plain in (True, False) for text in (label, spoken)]
    for key in (*keys, _squash(bare), _squash(_spoken(bare))):
        if key in index:
            return index[key], True
    text = _squash(spoken)
    inside = [key for key in index if len(key) >= 7 and _SIZE.search(key) and _contains(text, key)]
    return (index[max(inside, key=len)], False) if inside else (None, False)


def _contains(text: str, key: str) -> bool:
    """Whether ``key`` stands in ``text`` with no digit of a longer number at either end."""
    at = text.find(key)
    if at < 0:
        return False
    before, after = text[at - 1 : at], text[at + len(key) : at + len(key) + 1]
    return not (key[0].isdigit() and (before.isdigit() or before == ".")) and not after.isdigit()


def _stated(label: str) -> tuple[float | None, float | None]:
    """Parameters and active ones that a label itself states: "30B-A3B", "MoE 5.1B active", "8x7B", "124M"."""
    text = re.sub(r"(\d)_(?=\d+b\b)", r"\1.", label.lower())
    active = re.search(r"(?<![a-z\d])a(\d+(?:\.\d+)?)b\b|(\d+(?:\.\d+)?)\s*b active", text)
    total = re.search(r"(?<![a-z\d.])(\d+(?:\.\d+)?)\s*([bm])(?![a-z])(?! active)", text)
    used = float(next(part for part in active.groups() if part)) * 1e9 if active else None
    mixed = re.search(r"(?<![\d.])(\d{1,3})x(\d+(?:\.\d+)?)b", text)
    if mixed and used is None:  # "8x7B": two of eight experts by custom
        count, each = int(mixed.group(1)), float(mixed.group(2)) * 1e9
        return 0.85 * count * each, 1.8 * each
    if total is None:
        return None, used
    return float(total.group(1)) * (1e9 if total.group(2) == "b" else 1e6), used


def stated_size(label: str) -> float | None:
    """Parameters that a label states, or None."""
    return _stated(label)[0]


def generic_outline(label: str, parameters: float, active: float | None = None) -> Outline:
    """A Llama-like model of that size: width by the usual proportion of depth to width (1:128), GQA of 8.

    For measurements of models that the catalogue lacks: its weights are right, its cache about right.

    Raises
    ------
    UserError
        For a size outside 1e6 to 1e14.
    """
    if not 1e6 <= parameters <= 1e14:
        raise UserError(f"{label[:60]}: {parameters:g} parameters; 1e6 to 1e14 are possible")
    used = min(active or parameters, parameters)
    depth = (
        1.4 if used < 0.9 * parameters else 1.0
    )  # mixtures are deeper than dense models of their active size
    width = max(64, round((used * 128 / 13 / depth) ** (1 / 3) / 64) * 64)
    layers = max(2, round(depth * width / 128))
    vocab = 128256 if parameters > 2e9 else 50257
    heads = max(1, width // 128) if width >= 256 else 2
    kv_heads = next(n for n in (8, 4, 2, 1) if heads % n == 0 or n == 1)
    tied = parameters < 4e9
    mixers = layers * width * (2 * width + 2 * kv_heads * 128)
    left = used - mixers - vocab * width * (1 if tied or used < parameters else 2)
    d_ff = max(64, round(left / (3 * width * layers)))
    shape: dict[str, Any] = {
        "layers": layers,
        "d_model": width,
        "heads": heads,
        "vocab": vocab,
        "context": 131072,
        "kv_heads": kv_heads,
        "head_dim": 128 if width >= 256 else 0,
        "d_ff": d_ff,
        "tied_head": tied,
        "source": "size alone: a generic shape (assumed)",
    }
    if active and active < parameters * 0.9:
        rest = parameters - mixers - 2 * vocab * width
        expert = max(64, round(d_ff / 8))
        experts = max(9, round(rest / (3 * width * layers * expert)))
        shape |= {"experts": experts, "experts_used": 8, "expert_d_ff": expert, "d_ff": 0, "tied_head": False}
    return outline_of_figures(label, shape)
