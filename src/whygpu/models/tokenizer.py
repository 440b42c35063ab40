"""Text to token ids and back; the work is done by the ``tokenizers`` library.

Two ways to write bytes as tokens are in use. *Byte-level* (Radford et al. 2019): every byte is a
printable character of its own, and tokens are strings of those. *SentencePiece* (Kudo and Richardson
2018): tokens are text in which U+2581 stands for a space; characters without a token become one
token for each UTF-8 byte (``<0xE2>``).
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from whygpu.engine import UserError

__all__ = ["SPACE", "Tokenizer", "Vocabulary", "byte_characters", "guarded"]

T = TypeVar("T")

SPACE = "\u2581"
"""SentencePiece's character for a space."""

END_OF_TURN = frozenset(
    {
        "<|im_end|>",  # ChatML: SmolLM, Qwen
        "<|endoftext|>",  # GPT-2, Qwen, Phi
        "<|eot_id|>",  # Llama 3
        "<|eom_id|>",
        "<|end_of_text|>",
        "<|end|>",  # Phi-3
        "<end_of_turn>",  # Gemma
        "</s>",  # Llama 2, TinyLlama, Mistral, Mixtral
    }
)
"""Control tokens that end an answer, whether or not the metadata name them."""

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens of a model and how they read as bytes."""

    tokens: list[str]
    """By id; a gap is an empty text."""
    style: Literal["byte-level", "sentencepiece"]
    control: frozenset[int]
    """Tokens that are not text: they are left out of an answer."""
    defined: frozenset[int] = frozenset()
    """Tokens that are text, written as it is, and taken whole before any cutting."""
    space_prefix: bool = False
    """Whether encoding puts a space before the text (SentencePiece's dummy prefix)."""

    def bytes_of(self, token: int) -> bytes:
        """The bytes of a token that is no control token."""
        text = self.tokens[token]
        if self.style == "sentencepiece":
            byte = None if token in self.defined else _BYTE_TOKEN.fullmatch(text)
            return bytes([int(byte[1], 16)]) if byte else text.replace(SPACE, " ").encode()
        known = _bytes_of_characters()
        if token not in self.defined and all(character in known for character in text):
            return bytes(known[character] for character in text)
        return text.encode()


class Tokenizer:
    """Ids for text and text for ids; the special tokens of one model."""

    def __init__(
        self,
        inner: Any,
        vocabulary: Vocabulary,
        *,
        special: Mapping[str, int],
        adds_bos: bool,
        adds_eos: bool = False,
        ends: Iterable[int] = (),
    ) -> None:
        self._inner = inner
        self.vocabulary = vocabulary
        self.special = dict(special)
        """``bos``, ``eos``, ``eot`` ... to ids, as far as the checkpoint names them."""
        self.adds_bos = adds_bos
        """Whether raw text begins with the ``bos`` token."""
        self.adds_eos = adds_eos
        """Whether the model was trained on texts that end with ``eos``; a prompt to continue has none."""
        named = {special[name] for name in ("eos", "eot", "eom") if name in special}
        added = vocabulary.control | vocabulary.defined
        self.ends = frozenset({*named, *ends} | {i for i in added if vocabulary.tokens[i] in END_OF_TURN})
        """Ids that end an answer."""

    def __len__(self) -> int:
        return len(self.vocabulary.tokens)

    def encode(self, text: str, *, bos: bool | None = None, eos: bool | None = False) -> list[int]:
        """Ids of ``text``; control tokens written out in it (``<|im_start|>``) are recognised.

        ``bos`` and ``eos`` say whether to begin and end with the beginning-of-sequence and
        end-of-sequence tokens; None: as the model wants it.

        Raises
        ------
        UserError
            For text that is not valid Unicode (half of a surrogate pair).
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UserError(f"the text is not valid Unicode at character {error.start}") from error
        ids: list[int] = guarded(lambda: self._inner.encode(text, add_special_tokens=False).ids, "tokenizer")
        if (self.adds_bos if bos is None else bos) and "bos" in self.special:
            first = self.special["bos"]
            ids = ids if ids[:1] == [first] else [first, *ids]
        if (self.adds_eos if eos is None else eos) and "eos" in self.special:
            ids = [*ids, self.special["eos"]]
        return ids

    def decode(self, ids: Iterable[int], *, control: bool = False) -> str:
        """Text of ``ids``; control tokens are left out unless asked for; bad UTF-8 becomes U+FFFD."""
        raw = b"".join(self.bytes_of(i, control=control) for i in ids)
        if self.vocabulary.space_prefix:
            raw = raw.removeprefix(b" ")
        return raw.decode("utf-8", errors="replace")

    def bytes_of(self, token: int, *, control: bool = False) -> bytes:
        """The bytes that one token stands for; a character may need several tokens."""
        if not 0 <= token < len(self):
            return b""  # a padding row of the embedding table
        if token in self.vocabulary.control:
            return self.vocabulary.tokens[token].encode() if control else b""
        return self.vocabulary.bytes_of(token)

    def token(self, name: str) -> str:
        """The text of a special token (``bos``, ``eos`` ...), or nothing."""
        return self.vocabulary.tokens[self.special[name]] if name in self.special else ""


def guarded(work: Callable[[], T], where: str) -> T:
    """Do something with the library; whatever it raises becomes one line that begins with ``where``.

    It raises plain ``Exception``, and its Rust code panics with a ``BaseException`` on some bad input.
    """
    try:
        return work()
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
            raise UserError(f"{where}: {reason}") from error
        raise


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
