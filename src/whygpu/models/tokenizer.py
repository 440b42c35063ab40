"""Text to token ids and back, built from a checkpoint's own metadata.

Byte-level BPE (Sennrich et al. 2016; Radford et al. 2019): text becomes UTF-8 bytes, each byte a
printable character, and the merges of the vocabulary join them. The work is done by the
``tokenizers`` library.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from whygpu.engine import UserError
from whygpu.models.pretokenizers import IGNORE_MERGES, PRETOKENIZERS

__all__ = ["Tokenizer", "byte_characters", "tokenizer_from_metadata"]

_CONTROL, _USER_DEFINED = 3, 4  # GGUF's token types

END_OF_TURN = frozenset(
    {"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>", "<|end|>", "</s>"}
)
"""Control tokens that end an answer, whether or not the metadata name them."""


class Tokenizer:
    """Ids for text and text for ids; the special tokens of one model."""

    def __init__(self, inner: Any, tokens: list[str], *, control: frozenset[int], special: Mapping[str, int]):
        self._inner = inner
        self._tokens = tokens
        self._control = control
        self.special = dict(special)
        """``bos``, ``eos``, ``eot`` ... to ids, as far as the metadata name them."""
        self.adds_bos = False
        """Whether raw text begins with the ``bos`` token."""
        named = {special[name] for name in ("eos", "eot", "eom") if name in special}
        self.ends = frozenset(named | {i for i in control if tokens[i] in END_OF_TURN})
        """Ids that end an answer."""

    def __len__(self) -> int:
        return len(self._tokens)

    def encode(self, text: str, *, bos: bool | None = None) -> list[int]:
        """Ids of ``text``; control tokens written out in it (``<|im_start|>``) are recognised.

        ``bos`` says whether to begin with the beginning-of-sequence token; None: as the model wants it.
        """
        ids: list[int] = self._inner.encode(text, add_special_tokens=False).ids
        wanted = self.adds_bos if bos is None else bos
        if wanted and "bos" in self.special and ids[:1] != [self.special["bos"]]:
            return [self.special["bos"], *ids]
        return ids

    def decode(self, ids: Iterable[int], *, control: bool = False) -> str:
        """Text of ``ids``; control tokens are left out unless asked for; bad UTF-8 becomes U+FFFD."""
        return b"".join(self.bytes_of(i, control=control) for i in ids).decode("utf-8", errors="replace")

    def bytes_of(self, token: int, *, control: bool = False) -> bytes:
        """The bytes that one token stands for; a character may need several tokens."""
        if not 0 <= token < len(self._tokens):
            return b""  # a padding row of the embedding table
        if token in self._control:
            return self._tokens[token].encode() if control else b""
        text, known = self._tokens[token], _bytes_of_characters()
        if all(character in known for character in text):
            return bytes(known[character] for character in text)
        return text.encode()  # a user-defined token is written as it is

    def token(self, name: str) -> str:
        """The text of a special token (``bos``, ``eos`` ...), or nothing."""
        return self._tokens[self.special[name]] if name in self.special else ""


def tokenizer_from_metadata(metadata: Mapping[str, Any], where: str) -> Tokenizer:
    """Build the tokenizer that a GGUF file's metadata describe; ``where`` begins every error's line.

    Raises
    ------
    UserError
        For a tokenizer model or pre-tokenizer that is not supported, or a vocabulary that contradicts itself.
    """
    kind = metadata.get("tokenizer.ggml.model")
    if kind != "gpt2":
        raise UserError(f"{where}: tokenizer {kind!r:.60} is not supported; supported: gpt2 (byte-level BPE)")
    tag = metadata.get("tokenizer.ggml.pre")
    if not isinstance(tag, str) or tag not in PRETOKENIZERS:
        raise UserError(
            f"{where}: pre-tokenizer {tag!r:.60} is not supported; supported: {', '.join(PRETOKENIZERS)}"
        )
    tokens = _strings(metadata, "tokenizer.ggml.tokens", where)
    types = [int(t) for t in metadata.get("tokenizer.ggml.token_type", ())]
    if types and len(types) != len(tokens):
        raise UserError(f"{where}: {len(types)} token types for {len(tokens)} tokens")
    control = frozenset(i for i, t in enumerate(types) if t == _CONTROL)
    defined = frozenset(i for i, t in enumerate(types) if t == _USER_DEFINED)
    inner = _byte_level(tokens, _merges(metadata, where), tag, where)
    _add(inner, tokens, control, defined)
    special = _special(metadata, len(tokens), where)
    tokenizer = Tokenizer(inner, tokens, control=control, special=special)
    tokenizer.adds_bos = bool(metadata.get("tokenizer.ggml.add_bos_token", tag in IGNORE_MERGES))
    return tokenizer


def _byte_level(tokens: list[str], merges: list[tuple[str, str]], tag: str, where: str) -> Any:
    from tokenizers import Tokenizer as Inner
    from tokenizers.models import BPE

    vocabulary = {token: i for i, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens):
        raise UserError(
            f"{where}: {len(tokens) - len(vocabulary)} tokens of the vocabulary stand there twice"
        )
    missing = [c for c in byte_characters() if c not in vocabulary]
    if len(missing) > 128:  # some vocabularies lack bytes that UTF-8 never has, none lacks half of them
        raise UserError(f"{where}: the vocabulary lacks {len(missing)} of the 256 bytes; not byte-level BPE")
    try:
        model = BPE(vocab=vocabulary, merges=merges, ignore_merges=tag in IGNORE_MERGES)
    except Exception as error:  # the library raises plain Exception
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{where}: the vocabulary and its merges do not fit together ({reason})") from error
    inner = Inner(model)
    inner.pre_tokenizer = PRETOKENIZERS[tag]()
    return inner


def _add(inner: Any, tokens: list[str], control: frozenset[int], defined: frozenset[int]) -> None:
    """Tokens that are taken whole, before any cutting."""
    from tokenizers import AddedToken

    inner.add_special_tokens(
        [AddedToken(tokens[i], special=True, normalized=False) for i in sorted(control) if tokens[i]]
    )
    inner.add_tokens(
        [AddedToken(tokens[i], special=False, normalized=False) for i in sorted(defined) if tokens[i]]
    )


def _strings(metadata: Mapping[str, Any], key: str, where: str) -> list[str]:
    values = metadata.get(key)
    if not isinstance(values, list) or not values:
        raise UserError(f"{where}: the metadata lacks {key}, a list of strings")
    return values


def _merges(metadata: Mapping[str, Any], where: str) -> list[tuple[str, str]]:
    pairs = []
    for line in metadata.get("tokenizer.ggml.merges", ()):
        left, space, right = str(line).partition(" ")
        if not (left and space and right):
            raise UserError(f"{where}: the merge {line!r:.60} is not two tokens with a space between")
        pairs.append((left, right))
    return pairs


def _special(metadata: Mapping[str, Any], size: int, where: str) -> dict[str, int]:
    found = {}
    for name in ("bos", "eos", "eot", "eom", "unknown", "padding"):
        value = metadata.get(f"tokenizer.ggml.{name}_token_id")
        if value is None:
            continue
        if not isinstance(value, int) or not 0 <= value < size:
            raise UserError(f"{where}: the {name} token {value!r:.40} is not in the vocabulary of {size}")
        found[name] = value
    return found


@functools.cache
def byte_characters() -> str:
    """The 256 printable characters that stand for the bytes 0 to 255 (GPT-2's table).

    Bytes that print in Latin-1 stand for themselves, the others for U+0100, U+0101 ... in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = iter(range(0x100, 0x200))
    return "".join(chr(b) if b in printable else chr(next(moved)) for b in range(256))


@functools.cache
def _bytes_of_characters() -> dict[str, int]:
    return {character: byte for byte, character in enumerate(byte_characters())}
