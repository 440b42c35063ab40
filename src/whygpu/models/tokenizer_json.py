"""The tokenizer of a safetensors folder: ``tokenizer.json``, with ``tokenizer_config.json`` beside it.

``tokenizer.json`` is the ``tokenizers`` library's own format: it says all of text to ids. What it does
not say, which tokens begin and end a text, stands in ``tokenizer_config.json`` and
``generation_config.json``.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from whygpu.engine import UserError
from whygpu.models.tokenizer import SPACE, Tokenizer, Vocabulary, guarded

__all__ = ["read_json", "tokenizer_from_folder"]

MAX_BYTES = 1 << 27
"""Of a JSON file; the largest published tokenizer.json has 34 MB."""

_MODELS = ("BPE", "Unigram")


def tokenizer_from_folder(folder: Path | str) -> Tokenizer:
    """Build the tokenizer of a folder with ``tokenizer.json``.

    Raises
    ------
    UserError
        Where the file is missing, damaged, or of a kind that is not supported.
    """
    folder = Path(folder)
    path = folder / "tokenizer.json"
    saved = read_json(path)
    if saved is None:
        raise UserError(f"{folder}: has no tokenizer.json; a safetensors model needs one")
    config = read_json(folder / "tokenizer_config.json") or {}
    model = saved.get("model")
    kind = model.get("type") if isinstance(model, dict) else None
    if kind not in _MODELS:
        raise UserError(
            f"{path}: tokenizer model {kind!r:.60} is not supported; supported: {', '.join(_MODELS)}"
        )
    inner = _library(path)
    style = _style(saved, path)
    vocabulary = _vocabulary(inner, style, saved)
    special = _special(config, inner, str(folder / "tokenizer_config.json"))
    before, after = _template(inner)
    if "bos" not in special and before:
        special["bos"] = before[0]
    return Tokenizer(
        inner,
        vocabulary,
        special=special,
        adds_bos=_says(config, "add_bos_token", bool(before) and before[0] == special.get("bos")),
        adds_eos=_says(config, "add_eos_token", bool(after) and after[-1] == special.get("eos")),
        ends=_ends(folder / "generation_config.json", len(vocabulary.tokens)),
    )


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object from a file; None where there is no such file.

    Raises
    ------
    UserError
        For a file that is too large, cannot be read, or holds no JSON object.
    """
    try:
        if not path.is_file():
            return None
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path}: has more than {MAX_BYTES} bytes; it is damaged or hostile")
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
        raise UserError(f"{path}: is not valid JSON ({reason})") from error
    if not isinstance(found, dict):
        raise UserError(f"{path}: holds no JSON object")
    return found


def _library(path: Path) -> Any:
    from tokenizers import Tokenizer as Inner

    inner = guarded(lambda: Inner.from_file(str(path)), f"{path}: cannot be used")
    inner.no_truncation()
    inner.no_padding()
    return inner


def _style(saved: Mapping[str, Any], path: Path) -> Literal["byte-level", "sentencepiece"]:
    """How tokens read as bytes: what the decoder undoes."""
    steps = {str(step.get("type")) for step in _steps(saved.get("decoder"), "decoders")}
    if "ByteLevel" in steps:
        return "byte-level"
    if steps & {"ByteFallback", "Metaspace"}:
        return "sentencepiece"
    found = ", ".join(sorted(steps)) or "none"
    raise UserError(
        f"{path}: decoder {found[:100]!r} is not supported; supported: ByteLevel, ByteFallback, Metaspace"
    )


def _steps(part: Any, key: str) -> list[dict[str, Any]]:
    """A normaliser's or decoder's steps: itself, or those of a sequence."""
    if not isinstance(part, dict):
        return []
    inside = part.get(key) if part.get("type") == "Sequence" else [part]
    return [step for step in inside if isinstance(step, dict)] if isinstance(inside, list) else []


def _vocabulary(inner: Any, style: Any, saved: Mapping[str, Any]) -> Vocabulary:
    by_text: dict[str, int] = inner.get_vocab(with_added_tokens=True)
    size = max(by_text.values(), default=-1) + 1
    if size > 2 * len(by_text) + 4096:
        raise UserError(f"tokenizer.json: token id {size - 1} in a vocabulary of {len(by_text)}")
    tokens = [""] * size
    for text, i in by_text.items():
        tokens[i] = text
    added = inner.get_added_tokens_decoder()
    model = saved["model"]
    unknown = (
        by_text.get(model.get("unk_token"))
        if isinstance(model.get("unk_token"), str)
        else model.get("unk_id")
    )
    control = {i for i, token in added.items() if token.special}
    if isinstance(unknown, int) and style == "sentencepiece":
        control.add(unknown)
    return Vocabulary(
        tokens,
        style,
        frozenset(control),
        frozenset(i for i, token in added.items() if not token.special),
        space_prefix=style == "sentencepiece" and _has_prefix(saved),
    )


def _has_prefix(saved: Mapping[str, Any]) -> bool:
    """Whether decoding takes away a space that encoding put before the text."""
    for step in _steps(saved.get("decoder"), "decoders"):
        if step.get("type") == "Strip" and step.get("content") == " " and step.get("start"):
            return True
        if step.get("type") == "Metaspace" and step.get("prepend_scheme", "always") != "never":
            return True
    return any(
        step.get("type") == "Prepend" and step.get("prepend") == SPACE
        for step in _steps(saved.get("normalizer"), "normalizers")
    )


def _special(config: Mapping[str, Any], inner: Any, where: str) -> dict[str, int]:
    found = {}
    for key, name in (
        ("bos_token", "bos"),
        ("eos_token", "eos"),
        ("unk_token", "unknown"),
        ("pad_token", "padding"),
    ):
        value = config.get(key)
        text = value.get("content") if isinstance(value, dict) else value
        if text is None:
            continue
        number = inner.token_to_id(text) if isinstance(text, str) else None
        if number is None:
            raise UserError(f"{where}: {key} {text!r:.60} is not in the vocabulary")
        found[name] = number
    return found


def _template(inner: Any) -> tuple[list[int], list[int]]:
    """The ids that the file's own post-processor puts before and behind a text."""
    plain = guarded(lambda: inner.encode("a", add_special_tokens=False).ids, "tokenizer.json")
    full = guarded(lambda: inner.encode("a", add_special_tokens=True).ids, "tokenizer.json")
    for start in range(len(full) - len(plain) + 1):
        if full[start : start + len(plain)] == plain:
            return full[:start], full[start + len(plain) :]
    return [], []


def _says(config: Mapping[str, Any], key: str, default: bool) -> bool:
    value = config.get(key)
    return value if isinstance(value, bool) else default


def _ends(path: Path, size: int) -> list[int]:
    """The ids at which the model's own generation settings stop."""
    value = (read_json(path) or {}).get("eos_token_id")
    ids = value if isinstance(value, list) else [] if value is None else [value]
    for i in ids:
        if type(i) is not int or not 0 <= i < size:
            raise UserError(f"{path}: eos_token_id {i!r:.40} is not in the vocabulary of {size}")
    return ids
