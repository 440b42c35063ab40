"""The model reads a sentence once; exhibits look at the operands of its products."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from whygpu import engine, think
from whygpu.engine import Ledger, UserError
from whygpu.story.exhibits.fonts import shown

__all__ = ["Reading", "read"]

MOST_TOKENS = 40


class _Observer(engine.Backend):
    """A backend that keeps copies of the left operands of some products; the work is the other's."""

    def __init__(self, backend: engine.Backend, architecture: Any) -> None:
        self._backend, self._architecture = backend, architecture
        self.name, self.xp, self.device = backend.name, backend.xp, backend.device
        self.threads = backend.threads
        self.attention: list[Any] = []
        self.hidden: list[Any] = []
        self.entering: list[Any] = []

    def asarray(self, values: Any, dtype: str = "float32") -> Any:
        """As the other does."""
        return self._backend.asarray(values, dtype)

    def to_numpy(self, array: Any) -> Any:
        """As the other does."""
        return self._backend.to_numpy(array)

    def active(self) -> Any:
        """What the other needs while it works."""
        return self._backend.active()

    def matmul(self, a: Any, b: Any) -> Any:
        """Multiply; remember attention weights (4 axes, square) and what goes into ``down`` and ``up``."""
        m = self._architecture
        out = self._backend.matmul(a, b)
        if len(a.shape) == 4 and b.shape[-1] == m.head_dim and a.shape[-1] == b.shape[-2] != m.head_dim:
            self.attention.append(self._backend.to_numpy(a)[0].copy())
        elif len(a.shape) == 2 and tuple(b.shape) == (m.d_ff, m.d_model):
            self.hidden.append(self._backend.to_numpy(a).copy())
        elif len(a.shape) == 2 and tuple(b.shape) == (m.d_model, m.d_ff):
            self.entering.append(self._backend.to_numpy(a).copy())
        return out


@dataclass(frozen=True, slots=True)
class Reading:
    """One pass over a sentence, on the portable path."""

    tokens: list[str]
    attention: Any
    """(layers, heads, T, T) float32: how much each token looks at each."""
    entering: Any
    """(layers, T, d) float32: what enters each MLP."""
    hidden: Any
    """(layers, T, d_ff) float32: what its last product takes, after the non-linearity."""
    ledger: Ledger
    invented: bool


def read(model: Any, sentence: str) -> Reading:
    """Push the sentence through, twice: the first pass loads, the second is listened to.

    Raises
    ------
    UserError
        For a sentence that is empty or too long to be shown, or a model whose layers are not alike.
    """
    a = model.architecture
    ids = model.tokenizer.encode(sentence)
    if not 2 <= len(ids) <= MOST_TOKENS:
        raise UserError(f"sentence: {len(ids)} tokens; 2 to {MOST_TOKENS} can be shown")
    if a.experts or len({(b.heads, b.kv_heads, b.window) for b in a.blocks}) > 1 or len(ids) == a.head_dim:
        raise UserError(f"{a.name}: its layers differ or have experts; the exhibits show plain transformers")
    # one thread: shapes are small, and threads that wait for each other would be timed with them
    observer = _Observer(engine.backend("cpu", threads=1), a)
    with engine.using(observer) as backend:  # the second pass is warm
        tokens = backend.asarray([ids], dtype="int64")  # (1, T)
        for _ in range(2):
            for kept in (observer.attention, observer.hidden, observer.entering):
                kept.clear()
            cache = think.Cache(a, len(ids))
            with engine.ledger() as ledger, engine.scope("think", "prefill"):
                think.forward(model, tokens, cache, logits="last")
    weights = np.stack(observer.attention)  # (layers, kv_heads, group * T, T)
    attention = weights.reshape(a.layers, a.heads, len(ids), len(ids))
    entering = np.stack(observer.entering)
    if len(entering) == 2 * a.layers:  # gate and up take the same
        entering = entering[::2]
    words = [shown(model.tokenizer.decode([token])) for token in ids]
    return Reading(words, attention, entering, np.stack(observer.hidden), ledger, model.invented)


def shares(ledger: Ledger) -> dict[str, dict[str, float]]:
    """By product name: how many, FLOP, seconds."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: {"count": 0, "flop": 0, "seconds": 0.0})
    for product, entry in ledger.products.items():
        row = found[product.name]
        row["count"] += entry.count
        row["flop"] += product.flop * entry.count
        row["seconds"] += entry.seconds
    return dict(found)
