"""Sums of word vectors (Mikolov et al. 2013, arXiv 1301.3781): which word lies nearest to king - man + woman?

In the default model's own embedding matrix, by cosine. The usual way leaves the three words themselves out of
the search; without that rule the nearest word is often one of them (Nissim, van Noord, van der Goot 2020).
"""

import re
from typing import Any

import numpy as np

from whygpu import models
from whygpu.models import Unavailable
from whygpu.story.claims.quantity import Missing

__all__ = ["Analogies"]


class Analogies:
    """The embedding matrix of a model on this disk; nothing is fetched."""

    def __init__(self, model: str = models.DEFAULT) -> None:
        self.model = model
        self._tokenizer: Any = None
        self._unit: Any = None
        """(vocab, d) float32, rows of length 1."""

    @property
    def source(self) -> str:
        """Where the vectors come from."""
        return f"the embedding matrix of {self.model}, by cosine"

    def nearest(self, words: str, with_inputs: bool, count: int = 5) -> list[tuple[str, float]]:
        """The words nearest to a sum such as ``king-man+woman``, nearest first, each with its cosine.

        A word that is there in several spellings (with a capital, say) counts once.

        Parameters
        ----------
        with_inputs
            Whether the words of the sum may win.

        Raises
        ------
        Missing
            Where the model is not on this disk, or a word is no single token of it.
        """
        total = self._sum(words)
        scores = self._unit @ (total / np.linalg.norm(total))  # (vocab,)
        left_out = set() if with_inputs else {word.lower() for _, word in _terms(words)}
        found: dict[str, float] = {}
        for token in np.argsort(-scores).tolist():
            text = self._tokenizer.decode([token]).strip().lower()
            if text not in left_out:
                found.setdefault(text, float(scores[token]))
            if len(found) == count:
                break
        return list(found.items())

    def cosine(self, words: str, word: str) -> float:
        """The cosine of the angle between a sum and a word's vector; 1 would be the same direction."""
        total = self._sum(words)
        return float(self._unit[self._token(word)] @ total / np.linalg.norm(total))

    def _sum(self, words: str) -> Any:
        """The sum of the words' vectors, each of length 1: (d,)."""
        self._load()
        signs = np.array([-1.0 if sign == "-" else 1.0 for sign, _ in _terms(words)], np.float32)
        return signs @ self._unit[[self._token(word) for _, word in _terms(words)]]

    def _load(self) -> None:
        if self._unit is not None:
            return
        try:
            path = models.locate(self.model, download=False)
        except Unavailable as error:
            raise Missing("model", model=self.model) from error
        checkpoint = models.open_checkpoint(path)
        self._tokenizer = checkpoint.tokenizer()
        rows = checkpoint.array("embedding")
        self._unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-12))

    def _token(self, word: str) -> int:
        ids = self._tokenizer.encode(f" {word}", bos=False)
        if len(ids) != 1:
            raise Missing("word", model=self.model, word=word)
        return int(ids[0])


def _terms(words: str) -> list[tuple[str, str]]:
    """(sign, word) of each word of a sum."""
    return re.findall(r"([+-]?)(\w+)", words)
