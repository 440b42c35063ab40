"""SentencePiece's two models, rebuilt from a vocabulary with scores (Kudo and Richardson 2018).

*BPE* joins, again and again, the two neighbours whose joined text is the piece with the highest score.
*Unigram* (Kudo 2018) takes the sequence of pieces whose scores (log probabilities) have the highest sum.
Neither cuts the text into words first: a piece may hold a space, written as U+2581.
"""

from collections.abc import Sequence
from typing import Any

from whygpu.engine import UserError
from whygpu.models.tokenizer import SPACE, guarded

__all__ = ["BYTE_TOKENS", "bpe", "merges_from_scores", "normaliser", "unigram"]

BYTE_TOKENS = frozenset(f"<0x{byte:02X}>" for byte in range(256))

MAX_PIECE = 512
"""Characters of one piece that can be merged; published vocabularies have up to about 100."""
MAX_CHARACTERS = 1 << 24
"""Of all pieces together; the largest published vocabularies have about 2 million."""


def merges_from_scores(
    tokens: Sequence[str], scores: Sequence[float], usable: Sequence[int], where: str
) -> list[tuple[str, str]]:
    """The merges that give what SentencePiece's BPE gives, best first.

    Every cut of a piece into two pieces is a merge; its rank is the score of the piece. The
    library joins by rank as SentencePiece joins by score. Cuts of one piece are in order of their ids.

    Parameters
    ----------
    tokens, scores
        By id.
    usable
        Ids of the pieces that text may be made of, ascending: no control, byte or user-defined tokens.
    """
    if sum(len(tokens[i]) for i in usable) > MAX_CHARACTERS:
        raise UserError(f"{where}: the vocabulary has more than {MAX_CHARACTERS} characters")
    ids = {tokens[i]: i for i in usable}
    merges = []
    for i in sorted(usable, key=lambda i: -scores[i]):  # stable: equal scores stay in order of ids
        text = tokens[i]
        if len(text) > MAX_PIECE:
            raise UserError(f"{where}: token {i} has {len(text)} characters; at most {MAX_PIECE} can be")
        known = [
            (left, right)
            for cut in range(1, len(text))
            if (left := text[:cut]) in ids and (right := text[cut:]) in ids
        ]
        if len(known) > 1:
            known.sort(key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        merges += known
    return merges


def bpe(vocabulary: dict[str, int], merges: list[tuple[str, str]], unknown: str | None, where: str) -> Any:
    """The library's BPE; with all 256 byte tokens it needs no unknown token."""
    from tokenizers.models import BPE

    falls_back = vocabulary.keys() >= BYTE_TOKENS
    _check_unknown(falls_back, unknown, where)
    return guarded(
        lambda: BPE(
            vocab=vocabulary, merges=merges, unk_token=unknown, fuse_unk=True, byte_fallback=falls_back
        ),
        f"{where}: the vocabulary and its merges do not fit together",
    )


def unigram(tokens: Sequence[str], scores: Sequence[float], unknown: int | None, where: str) -> Any:
    """The library's unigram model."""
    from tokenizers.models import Unigram

    falls_back = BYTE_TOKENS.issubset(tokens)
    _check_unknown(falls_back, unknown, where)
    pieces = [(token, float(score)) for token, score in zip(tokens, scores, strict=True)]
    return guarded(
        lambda: Unigram(pieces, unk_id=unknown, byte_fallback=falls_back),
        f"{where}: the vocabulary cannot be used",
    )


def normaliser(
    *, prefix: bool, collapse: bool = False, character_map: bytes | None = None, where: str = ""
) -> Any:
    """What happens to text first: mapped, runs of spaces made one, a space before, spaces written out."""
    from tokenizers import Regex
    from tokenizers.normalizers import Precompiled, Prepend, Replace, Sequence, Strip

    steps: list[Any] = []
    if character_map:
        steps.append(guarded(lambda: Precompiled(character_map), f"{where}: the character map is damaged"))
    if collapse:
        steps += [Strip(left=True, right=True), Replace(Regex(" {2,}"), " ")]
    if prefix:
        steps.append(Prepend(SPACE))
    return Sequence([*steps, Replace(" ", SPACE)])


def _check_unknown(falls_back: bool, unknown: object, where: str) -> None:
    if not falls_back and unknown is None:
        raise UserError(
            f"{where}: the vocabulary has neither all 256 byte tokens (<0x00> ...) nor an unknown token"
        )
