"""How text is cut into pieces before byte-level BPE merges them; every family cuts differently.

The tag is GGUF's ``tokenizer.ggml.pre``. Patterns are those of the families' own published
``tokenizer.json`` files. A wrong cut gives wrong ids without any error, so an unknown tag is one.
"""

from collections.abc import Callable
from typing import Any

__all__ = ["IGNORE_MERGES", "PRETOKENIZERS"]

LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def gpt_2() -> Any:
    """GPT-2's pattern: contractions, words, numbers, other, each with the space before it."""
    from tokenizers.pre_tokenizers import ByteLevel

    return ByteLevel(add_prefix_space=False, use_regex=True)


def single_digits() -> Any:
    """Every digit stands alone, then GPT-2's pattern (StarCoder, SmolLM)."""
    from tokenizers.pre_tokenizers import Digits, Sequence

    return Sequence([Digits(individual_digits=True), gpt_2()])


def _pattern(pattern: str) -> Callable[[], Any]:
    def build() -> Any:
        from tokenizers import Regex
        from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

        bytes_only = ByteLevel(add_prefix_space=False, use_regex=False)
        return Sequence([Split(Regex(pattern), behavior="isolated"), bytes_only])

    return build


PRETOKENIZERS: dict[str, Callable[[], Any]] = {
    "gpt-2": gpt_2,
    "smollm": single_digits,
    "starcoder": single_digits,
    "llama-bpe": _pattern(LLAMA_3),
    "llama3": _pattern(LLAMA_3),
    "qwen2": _pattern(QWEN_2),
}

IGNORE_MERGES = frozenset({"llama-bpe", "llama3"})
"""Tags whose tokenizer takes a piece that is a token as it is, whatever the merges would make of it."""
