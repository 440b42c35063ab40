"""How text is cut into pieces before byte-level BPE merges them; every family cuts differently.

The tag is GGUF's ``tokenizer.ggml.pre``. Patterns are those of the families' own published
``tokenizer.json`` files. A wrong cut gives wrong ids without any error, so an unknown tag is one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["PRETOKENIZERS", "Pretokenizer"]

_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_BREAKS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_WORD = rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+"
_CASED = (  # a word ends where a capital follows a small letter
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
)

LLAMA_3 = rf"{_WORD}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_BREAKS}"
QWEN_2 = rf"{_WORD}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_BREAKS}"
TEKKEN = rf"{_CASED[0]}|{_CASED[1]}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_BREAKS}"
GPT_4O = (
    rf"{_CASED[0]}{_CONTRACTION}?|{_CASED[1]}{_CONTRACTION}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_BREAKS}"
)


@dataclass(frozen=True, slots=True)
class Pretokenizer:
    """A family's way to cut, and what else its tokenizers have in common."""

    build: Callable[[], Any]
    """Makes the step of the ``tokenizers`` library."""
    composes: bool = False
    """Whether text is first brought into Unicode's composed form (NFC)."""
    ignores_merges: bool = False
    """Whether a piece that is a token is taken as it is, whatever the merges would make of it."""
    adds_bos: bool = False
    """Whether raw text begins with ``bos`` where the file does not say."""


def _gpt_2() -> Any:
    """GPT-2's pattern: contractions, words, numbers, other, each with the space before it."""
    from tokenizers.pre_tokenizers import ByteLevel

    return ByteLevel(add_prefix_space=False, use_regex=True)


def _single_digits() -> Any:
    """Every digit stands alone, then GPT-2's pattern (StarCoder, SmolLM)."""
    from tokenizers.pre_tokenizers import Digits, Sequence

    return Sequence([Digits(individual_digits=True), _gpt_2()])


def _pattern(pattern: str) -> Callable[[], Any]:
    def build() -> Any:
        from tokenizers import Regex
        from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

        bytes_only = ByteLevel(add_prefix_space=False, use_regex=False)
        return Sequence([Split(Regex(pattern), behavior="isolated"), bytes_only])

    return build


_LLAMA_3 = Pretokenizer(_pattern(LLAMA_3), ignores_merges=True, adds_bos=True)
_QWEN_2 = Pretokenizer(_pattern(QWEN_2), composes=True)

PRETOKENIZERS: dict[str, Pretokenizer] = {
    "gpt-2": Pretokenizer(_gpt_2),
    "phi-2": Pretokenizer(_gpt_2),
    "smollm": Pretokenizer(_single_digits),
    "starcoder": Pretokenizer(_single_digits),
    "llama-bpe": _LLAMA_3,
    "llama3": _LLAMA_3,
    "llama-v3": _LLAMA_3,
    "falcon3": _LLAMA_3,
    "dbrx": Pretokenizer(_pattern(LLAMA_3)),  # Phi-4
    "qwen2": _QWEN_2,  # Qwen 2, 2.5 and 3
    "deepseek-r1-qwen": _QWEN_2,
    "tekken": Pretokenizer(_pattern(TEKKEN), ignores_merges=True, adds_bos=True),  # Mistral Nemo
    "gpt-4o": Pretokenizer(_pattern(GPT_4O)),  # Phi-4-mini
}
