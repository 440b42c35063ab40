"""The tokenizer that a GGUF file's metadata describe (``tokenizer.ggml.*``).

Three models are in use: ``gpt2`` (byte-level BPE, cut by the pre-tokenizer that ``pre`` names), ``llama``
(SentencePiece BPE: scores instead of merges) and ``t5`` (SentencePiece unigram).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from whygpu.engine import UserError
from whygpu.models import sentencepiece
from whygpu.models.pretokenizers import PRETOKENIZERS
from whygpu.models.tokenizer import Tokenizer, Vocabulary, byte_characters, guarded

__all__ = ["tokenizer_from_metadata"]

_UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 2, 3, 4, 6  # GGUF's token types; 1 is normal, 5 unused
_NAMES = ("bos", "eos", "eot", "eom", "unknown", "padding")


def tokenizer_from_metadata(metadata: Mapping[str, Any], where: str) -> Tokenizer:
    """Build the tokenizer that a GGUF file's metadata describe; ``where`` begins every error's line.

    Raises
    ------
    UserError
        For a tokenizer model or pre-tokenizer that is not supported, or a vocabulary that contradicts itself.
    """
    kind = metadata.get("tokenizer.ggml.model")
    if not isinstance(kind, str) or kind not in _BUILDERS:
        known = "gpt2 (byte-level BPE), llama (SentencePiece BPE), t5 (SentencePiece unigram)"
        raise UserError(f"{where}: tokenizer {kind!r:.60} is not supported; supported: {known}")
    return _BUILDERS[kind](_Source.read(metadata, where))


@dataclass(frozen=True, slots=True)
class _Source:
    """The metadata with their kinds checked."""

    metadata: Mapping[str, Any]
    where: str
    tokens: list[str]
    types: list[int]
    """One for each token; all normal where the file does not say."""

    @classmethod
    def read(cls, metadata: Mapping[str, Any], where: str) -> "_Source":
        tokens = metadata.get("tokenizer.ggml.tokens")
        if not _texts(tokens) or not tokens:
            raise UserError(f"{where}: the metadata lacks tokenizer.ggml.tokens, a list of strings")
        source = cls(metadata, where, tokens, [1] * len(tokens))
        types = source.numbers("token_type")
        if types is not None:
            source.types[:] = [int(t) for t in types]
        repeated = len(tokens) - len(set(tokens))
        if repeated:
            raise UserError(f"{where}: {repeated} tokens of the vocabulary stand there twice")
        return source

    def of_type(self, *types: int) -> frozenset[int]:
        """Ids of the tokens of these types."""
        return frozenset(i for i, t in enumerate(self.types) if t in types)

    def numbers(self, name: str) -> Any:
        """An array of a finite number for each token, or None."""
        key = f"tokenizer.ggml.{name}"
        found = self.metadata.get(key)
        if found is None:
            return None
        array = np.asarray(found)
        if array.ndim != 1 or array.dtype.kind not in "iuf":
            raise UserError(f"{self.where}: {key} is not a list of numbers")
        if len(array) != len(self.tokens):
            spoken = name.replace("_", " ").removesuffix("s")
            raise UserError(f"{self.where}: {len(array)} {spoken}s for {len(self.tokens)} tokens")
        if not np.isfinite(array).all():
            raise UserError(f"{self.where}: {key} has a number that is not finite")
        return array

    def flag(self, name: str, default: bool) -> bool:
        """A truth value."""
        key = f"tokenizer.ggml.{name}"
        found = self.metadata.get(key, default)
        if not isinstance(found, bool):
            raise UserError(f"{self.where}: {key} is {found!r:.40}; it must be a truth value")
        return found

    def special(self) -> dict[str, int]:
        """The tokens that the file names, by name."""
        found = {}
        for name in _NAMES:
            value = self.metadata.get(f"tokenizer.ggml.{name}_token_id")
            if value is None:
                continue
            if type(value) is not int or not 0 <= value < len(self.tokens):
                raise UserError(
                    f"{self.where}: the {name} token {value!r:.40} is not in the vocabulary "
                    f"of {len(self.tokens)}"
                )
            found[name] = value
        return found

    def merges(self) -> list[tuple[str, str]]:
        """Pairs of tokens, the first to be joined first."""
        lines = self.metadata.get("tokenizer.ggml.merges")
        if lines is None:
            raise UserError(f"{self.where}: the metadata lack tokenizer.ggml.merges, which gpt2 needs")
        if not _texts(lines):
            raise UserError(f"{self.where}: tokenizer.ggml.merges is not a list of strings")
        pairs = []
        for line in lines:
            left, _, right = line.partition(" ")
            if not (left and right):
                raise UserError(
                    f"{self.where}: the merge {line!r:.60} is not two tokens with a space between"
                )
            pairs.append((left, right))
        return pairs


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _byte_level(source: _Source) -> Tokenizer:
    from tokenizers import Tokenizer as Inner
    from tokenizers.models import BPE
    from tokenizers.normalizers import NFC

    tag, where = source.metadata.get("tokenizer.ggml.pre"), source.where
    if not isinstance(tag, str) or tag not in PRETOKENIZERS:
        raise UserError(
            f"{where}: pre-tokenizer {tag!r:.60} is not supported; supported: {', '.join(PRETOKENIZERS)}"
        )
    cut = PRETOKENIZERS[tag]
    vocabulary = {token: i for i, token in enumerate(source.tokens)}
    missing = [c for c in byte_characters() if c not in vocabulary]
    if len(missing) > 128:  # some vocabularies lack bytes that UTF-8 never has, none lacks half of them
        raise UserError(f"{where}: the vocabulary lacks {len(missing)} of the 256 bytes; not byte-level BPE")
    merges = source.merges()
    inner = Inner(
        guarded(
            lambda: BPE(vocab=vocabulary, merges=merges, ignore_merges=cut.ignores_merges),
            f"{where}: the vocabulary and its merges do not fit together",
        )
    )
    if cut.composes:
        inner.normalizer = NFC()
    inner.pre_tokenizer = cut.build()
    return _finish(inner, source, "byte-level", adds_bos=cut.adds_bos)


def _sentencepiece_bpe(source: _Source) -> Tokenizer:
    from tokenizers import Tokenizer as Inner

    scores = source.numbers("scores")
    if scores is None:
        raise UserError(f"{source.where}: the metadata lack tokenizer.ggml.scores, which llama needs")
    aside = source.of_type(_UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE)
    usable = [i for i, token in enumerate(source.tokens) if token and i not in aside]
    merges = sentencepiece.merges_from_scores(source.tokens, scores.tolist(), usable, source.where)
    vocabulary = {token: i for i, token in enumerate(source.tokens)}
    unknown = _unknown(source)
    name = None if unknown is None else source.tokens[unknown]
    inner = Inner(sentencepiece.bpe(vocabulary, merges, name, source.where))
    prefix = source.flag("add_space_prefix", True)
    inner.normalizer = sentencepiece.normaliser(prefix=prefix)
    return _finish(inner, source, "sentencepiece", adds_bos=True, prefix=prefix)


def _sentencepiece_unigram(source: _Source) -> Tokenizer:
    from tokenizers import Tokenizer as Inner

    scores = source.numbers("scores")
    if scores is None:
        raise UserError(f"{source.where}: the metadata lack tokenizer.ggml.scores, which t5 needs")
    aside = list(source.of_type(_UNKNOWN, _CONTROL, _BYTE))
    scores = scores.astype(np.float64)
    scores[aside] = scores.min() - 1000  # the library would find them in text that spells them out
    inner = Inner(sentencepiece.unigram(source.tokens, scores.tolist(), _unknown(source), source.where))
    prefix = source.flag("add_space_prefix", False)
    characters = source.metadata.get("tokenizer.ggml.precompiled_charsmap")
    inner.normalizer = sentencepiece.normaliser(
        prefix=prefix,
        collapse=source.flag("remove_extra_whitespaces", False),
        character_map=None if characters is None else np.asarray(characters).tobytes(),
        where=source.where,
    )
    return _finish(inner, source, "sentencepiece", adds_bos=False, adds_eos=True, prefix=prefix)


_BUILDERS: dict[str, Callable[[_Source], Tokenizer]] = {
    "gpt2": _byte_level,
    "llama": _sentencepiece_bpe,
    "t5": _sentencepiece_unigram,
}


def _unknown(source: _Source) -> int | None:
    named = source.special().get("unknown")
    return named if named is not None else min(source.of_type(_UNKNOWN), default=None)


def _finish(
    inner: Any, source: _Source, style: Any, *, adds_bos: bool, adds_eos: bool = False, prefix: bool = False
) -> Tokenizer:
    """Add the tokens that are taken whole, before any cutting, and what the file says of bos and eos."""
    from tokenizers import AddedToken

    tokens = source.tokens
    control, defined = source.of_type(_CONTROL), source.of_type(_USER_DEFINED)
    special = source.special()
    greedy = _swallow_spaces(source, special) if style == "sentencepiece" else frozenset()
    for ids, is_control in ((control, True), (defined, False)):
        added = [
            AddedToken(
                tokens[i],
                special=is_control,
                # runs of spaces (Gemma) are found in the text as it is cut, where U+2581 is a space too
                normalized=style == "sentencepiece" and not prefix and tokens[i].isspace(),
                rstrip=i in greedy,
            )
            for i in sorted(ids)
            if tokens[i]
        ]
        inner.add_special_tokens(added) if is_control else inner.add_tokens(added)
    return Tokenizer(
        inner,
        Vocabulary(tokens, style, control | source.of_type(_UNKNOWN), defined, space_prefix=prefix),
        special=special,
        adds_bos=source.flag("add_bos_token", adds_bos),
        adds_eos=source.flag("add_eos_token", adds_eos),
    )


def _swallow_spaces(source: _Source, special: Mapping[str, int]) -> frozenset[int]:
    """Phi-3's added tokens take the white space behind them; GGUF files do not record that.

    As its published tokenizer has it: all but the beginning, the unknown and the end-of-text token.
    """
    if source.metadata.get("general.architecture") != "phi3":
        return frozenset()
    keep = {"<s>", "<unk>", "<|endoftext|>"}
    added = source.of_type(_CONTROL, _USER_DEFINED)
    return frozenset(i for i in added if source.tokens[i] not in keep and i != special.get("bos"))
