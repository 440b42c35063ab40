"""A packed model: its weights, its buffers, and one call that pushes tokens through."""

import functools
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from whygpu import engine
from whygpu.engine import Progress, UserError, silent
from whygpu.models import Architecture, Checkpoint, Rope, kv_bytes, rope_frequencies
from whygpu.think.fast.account import STAGES, Books
from whygpu.think.fast.load import load
from whygpu.think.fast.state import CHUNK, Buffers, Cache, Places, addresses, buffers, filled, mixture, sizes

__all__ = ["FastCache", "PackedModel"]

FLOAT, HALF = 4, 2


class FastCache:
    """Keys and values of one sequence in float16."""

    def __init__(self, architecture: Architecture, capacity: int) -> None:
        a = architecture
        self.capacity = capacity
        """The most tokens that it may hold."""
        self.length = 0
        """Tokens that it holds."""
        room = filled(capacity)
        heads = np.array([block.kv_heads for block in a.blocks], np.int64)
        starts = (np.cumsum(heads) - heads) * (room * a.head_dim)
        size = int(heads.sum()) * room * a.head_dim
        turns = _rotations(tuple(dict.fromkeys(b.rope for b in a.blocks if b.rope)), capacity, a.head_dim)
        self.arrays = Cache(np.zeros(size, np.int16), np.zeros(size, np.int16), starts, room, *turns)
        self.places = addresses(self.arrays)

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.length = min(self.length, length)


class PackedModel:
    """The weights of a checkpoint as the file's own blocks, 16 rows side by side."""

    def __init__(self, checkpoint: Checkpoint, threads: int, progress: Progress = silent) -> None:
        self.checkpoint, self.threads = checkpoint, threads
        self.architecture = checkpoint.architecture
        self.sizes = sizes(self.architecture)
        self.weights = load(checkpoint, threads, progress)
        self.books = Books(self.architecture, self.weights.sizes, self.weights.kinds)
        learned = self.architecture.features.positions == "learned"
        self._positions = checkpoint.array("positions") if learned else None
        self._buffers: Buffers | None = None
        self._cap = np.array([self.sizes.attention_cap], np.float32)
        self._attention = np.zeros(len(Places._fields), np.int64)
        self._mixture = mixture(self.architecture)
        self._places = addresses(self.weights.tables), self._mixture and addresses(self._mixture)

    def prefill(
        self, ids: Sequence[int], cache: FastCache, between: Callable[[], None] = lambda: None
    ) -> Any:
        """Push ``ids`` through after what ``cache`` holds; (vocab,) scores of the token after them."""
        if cache.length + len(ids) > cache.capacity:
            raise UserError(
                f"the context is full: {cache.length} + {len(ids)} tokens do not fit into {cache.capacity}"
            )
        for start in range(0, len(ids), CHUNK):
            between()
            self._pass(list(ids[start : start + CHUNK]), cache, start + CHUNK >= len(ids))
        return self._room_for(cache.arrays.room).logits[: self.architecture.vocab].copy()

    def bytes_read(self, past: float) -> float:
        """Bytes of weights and cache that a decode step reads; ``past`` tokens with the new one."""
        a, read = self.architecture, 0.0  # bytes
        for name, size in self.weights.sizes.items():
            read += size * (a.experts_used / a.experts if ".expert_" in name else 1)
        whole = int(past)
        here, more = (kv_bytes(a, tokens, HALF) for tokens in (whole, whole + 1))
        return read + float(self.weights.tables.vectors.size * FLOAT) + here + (past - whole) * (more - here)

    def _pass(self, ids: list[int], cache: FastCache, wanted: bool) -> None:
        from whygpu.think.fast.forward import forward

        b = self._room_for(cache.arrays.room)
        b.x[: len(ids)] = self._embed(ids, cache.length)
        parts = self.threads if len(ids) == 1 else 1
        tables, experts = self._places
        clock = np.zeros(len(STAGES), np.int64)
        started = perf_counter()
        engine.team(self.threads).run(
            forward, self.sizes, tables, self._with_attention(cache), self._buffer_places, experts,
            cache.length, len(ids), parts, wanted, engine.listening(), clock.ctypes.data,
        )  # fmt: skip
        seconds = perf_counter() - started
        if engine.listening():
            self.books.account(
                len(ids), cache.length, wanted, self._mixture and self._mixture.routed, clock, seconds
            )
        cache.length += len(ids)

    def _with_attention(self, cache: FastCache) -> Cache:
        """The cache's addresses, and those of attention's own account of everything."""
        c, b = cache.places, self._buffer_places
        places = Places(
            c.keys, c.values, c.starts, c.room, self._places[0].shapes, b.queries, b.scores_own, b.room,
            b.mixed, b.tops, b.wholes, b.normed, b.rounded, self.sizes.head_dim, self._cap.ctypes.data,
        )  # fmt: skip
        self._attention[:] = places
        return c._replace(attend=self.weights.attend, attention=self._attention.ctypes.data)

    def _embed(self, ids: list[int], past: int) -> Any:
        """The tokens' vectors, scaled; those of their positions added where the family has such."""
        x = self.checkpoint.embeddings(ids)  # (tokens, d)
        if self.architecture.embedding_scale != 1:
            x = x * np.float32(self.architecture.embedding_scale)
        return x if self._positions is None else x + self._positions[past : past + len(ids)]

    def _room_for(self, room: int) -> Buffers:
        if self._buffers is None or self._buffers.room < room:
            self._buffers = buffers(self.architecture, self.threads, room)
            self._buffer_places = addresses(self._buffers)
        return self._buffers


@functools.lru_cache(maxsize=2)
def _rotations(ropes: tuple[Rope, ...], capacity: int, head_dim: int) -> tuple[Any, Any, Any]:
    """Cosines and sines of every position's angles, one row a rope, and how many pairs each turns."""
    room = filled(capacity)
    cosines = np.zeros((max(len(ropes), 1), room * (head_dim // 2)), np.float32)
    sines = np.zeros_like(cosines)
    for i, rope in enumerate(ropes):
        angles = np.arange(room)[:, None] * rope_frequencies(rope, long=rope.is_long(capacity))
        cosines[i, : angles.size] = (rope.magnitude * np.cos(angles)).reshape(-1)
        sines[i, : angles.size] = (rope.magnitude * np.sin(angles)).reshape(-1)
    return cosines, sines, np.array([rope.dims // 2 for rope in ropes] or [0], np.int64)
