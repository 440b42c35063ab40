"""The fast path's batch: its table of sequences, its scores, its ledger."""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np

from whygpu import engine
from whygpu.engine import UserError
from whygpu.think.fast.account import STAGES, Books, _attention, _Product, _report
from whygpu.think.fast.batch import PAST, SEQUENCE, decode
from whygpu.think.fast.run import FastCache, PackedModel
from whygpu.think.fast.state import CHUNK, WATCHED, Places, filled

__all__ = ["FastBatch"]

FLOAT = 4


class FastBatch:
    """Decode steps of up to ``size`` sequences on one packed model."""

    def __init__(self, packed: PackedModel, size: int) -> None:
        if not 1 <= size <= CHUNK:
            raise UserError(f"batch: {size} sequences are not possible; 1 to {CHUNK} are")
        self.packed, self.size = packed, size
        self._heads = max(block.heads for block in packed.architecture.blocks)
        self._rows = np.zeros((size, SEQUENCE), np.int64)
        self._logits = np.zeros((size, filled(packed.architecture.vocab)), np.float32)

    def decode(self, tokens: Sequence[int], caches: Sequence[FastCache]) -> Any:
        """Push one token of each sequence through; (sequences, vocab) scores, valid until the next step."""
        p, count = self.packed, len(tokens)
        for cache in caches:
            if cache.length + 1 > cache.capacity:
                raise UserError(
                    f"the context is full: {cache.length} + 1 tokens do not fit into {cache.capacity}"
                )
        b = p._room_for(max(cache.arrays.room for cache in caches))
        self._describe(caches)
        for row, (token, cache) in enumerate(zip(tokens, caches, strict=True)):
            b.x[row] = p._embed([token], cache.length)[0]
        tables, experts = p._places
        clock = np.zeros(len(STAGES), np.int64)
        started = perf_counter()
        engine.team(p.threads).run(
            decode, p.sizes, tables, p._buffer_places, experts, p.weights.attend, self._rows.ctypes.data,
            count, self._heads, self._logits.ctypes.data, engine.listening(), clock.ctypes.data,
        )  # fmt: skip
        seconds = perf_counter() - started
        if engine.listening():
            pasts = [cache.length for cache in caches]
            _account(p.books, pasts, p._mixture and p._mixture.routed, clock, seconds)
        for cache in caches:
            cache.length += 1
        return self._logits[:count, : p.architecture.vocab]

    def _describe(self, caches: Sequence[FastCache]) -> None:
        """Where attention finds each sequence, and where it leaves what it makes."""
        p, b, d = self.packed, self.packed._buffer_places, self.packed.sizes.head_dim
        threads, count = p.threads, len(caches)
        for row, cache in enumerate(caches):
            c, first = cache.places, FLOAT * row * self._heads  # bytes to this row's numbers, one a head
            slot = (
                0 if count < threads else next(r for r in range(threads) if row < (r + 1) * count // threads)
            )
            places = Places(
                c.keys, c.values, c.starts, c.room, p._places[0].shapes, b.queries + d * first,
                b.scores_own + 4 * FLOAT * slot * b.room, b.room, b.mixed + d * first, b.tops + first,
                b.wholes + first, b.normed, b.rounded, d, p._cap.ctypes.data,
            )  # fmt: skip
            self._rows[row, : PAST + 1] = (*places, c.cosines, c.sines, c.halves, cache.length)


def _account(books: Books, pasts: list[int], routed: Any, clock: Any, seconds: float) -> None:
    """As ``Books.account``, with a token of each sequence: weights once, each cache by itself."""
    a, count = books.architecture, len(pasts)
    watched = a.layers / ceil(a.layers / WATCHED)
    ticks = [
        int(tick) * (1 if stage == "head" else watched) for stage, tick in zip(STAGES, clock, strict=True)
    ]
    second = seconds / (sum(ticks) or 1)
    spent = {stage: second * tick for stage, tick in zip(STAGES, ticks, strict=True)}
    products = Counter[_Product]()
    for layer in range(a.layers):
        products.update(books._products(layer, count, routed))
    products[books._product("head", "embedding" if a.tied_head else "head", count, a.vocab, a.d_model)] += 1
    _report(products, spent)
    whole = sum(past + 1 for past in pasts)
    for past in pasts:
        _attention(a, 1, past, spent["attention"] * (past + 1) / whole)
    books._others(count, spent)
