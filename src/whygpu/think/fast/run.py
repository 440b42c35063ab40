"""A packed model: its weights, its buffers, and one call that pushes tokens through."""

from collections.abc import Callable, Sequence
from math import prod
from time import perf_counter
from typing import Any

import numpy as np

from whygpu import engine
from whygpu.engine import Progress, UserError, silent
from whygpu.models import Architecture, Checkpoint, rope_frequencies
from whygpu.think.fast.account import STAGE_PRODUCTS, STAGES, Books
from whygpu.think.fast.eligible import MATRICES
from whygpu.think.fast.pack import FORMATS, LANES, pack
from whygpu.think.fast.state import CHUNK, Buffers, Cache, Matrices, buffers, sizes

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
        room = -(-capacity // LANES) * LANES
        size = a.layers * a.kv_heads * room * a.head_dim
        self.arrays = Cache(np.zeros(size, np.int16), np.zeros(size, np.int16), room)

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.length = min(self.length, length)


class PackedModel:
    """The weights of a checkpoint as the file's own blocks, 16 rows side by side."""

    def __init__(self, checkpoint: Checkpoint, threads: int, progress: Progress = silent) -> None:
        self.checkpoint, self.threads = checkpoint, threads
        self.architecture = checkpoint.architecture
        self.sizes = sizes(self.architecture)
        self.matrices = _pack_all(checkpoint, progress)
        self.books = _books(checkpoint)
        self._buffers: Buffers | None = None

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
        return self._room_for(cache.arrays.room).logits.copy()

    def bytes_read(self, past: float) -> float:
        """Bytes of weights and cache that a decode step reads; ``past`` tokens with the new one."""
        a = self.architecture
        keys_and_values = 2 * a.layers * a.kv_heads * a.head_dim * HALF * past
        return float(self.matrices.octets.size + self.matrices.gains.size * FLOAT + keys_and_values)

    def _pass(self, ids: list[int], cache: FastCache, wanted: bool) -> None:
        from whygpu.think.fast.forward import forward

        b = self._room_for(cache.arrays.room)
        b.x[: len(ids) * self.sizes.width] = self.checkpoint.embeddings(ids).reshape(-1)
        parts = self.threads if len(ids) == 1 else 1
        clock = np.zeros(len(STAGES), np.int64)
        started = perf_counter()
        engine.team(self.threads).run(
            forward, self.sizes, self.matrices, cache.arrays, b, cache.length, len(ids), parts,
            wanted, engine.listening(), clock,
        )  # fmt: skip
        seconds = perf_counter() - started
        if engine.listening():
            self.books.account(len(ids), cache.length, wanted, clock, seconds)
        cache.length += len(ids)

    def _room_for(self, room: int) -> Buffers:
        if self._buffers is None or self._buffers.scores_own.shape[1] < 4 * room:
            self._buffers = buffers(self.architecture, self.threads, room)
        return self._buffers


def _books(checkpoint: Checkpoint) -> Books:
    """Shapes and packed bytes of a matrix of each name in the ledger: those of the first block."""
    a = checkpoint.architecture
    tensors = {"Q": "0.q", "K": "0.k", "V": "0.v", **{name: f"0.{name}" for name in MATRICES[3:]}}
    tensors["head"] = "embedding" if a.tied_head else "head"
    shapes = a.tensors()
    sides = {}
    for names in (*STAGE_PRODUCTS.values(), ("head",)):
        weights = {name: prod(shapes[tensors[name]]) for name in names}
        for name in names:
            n, k = shapes[tensors[name]]
            sides[name] = (n, k, weights[name] / sum(weights.values()))
    sizes = {name: _packed_bytes(checkpoint, tensor, shapes[tensor]) for name, tensor in tensors.items()}
    return Books(a, sides, sizes)


def _packed_bytes(checkpoint: Checkpoint, name: str, shape: tuple[int, ...]) -> int:
    n, k = shape
    return n // LANES * (k // 32) * FORMATS[checkpoint.kind(name)].bytes


def _pack_all(checkpoint: Checkpoint, progress: Progress) -> Matrices:
    """Every matrix, packed end to end: the plan first, so that the memory is taken once."""
    a = checkpoint.architecture
    shapes = a.tensors()
    names = [[f"{layer}.{name}" for name in MATRICES] for layer in range(a.layers)]
    names.append(["embedding" if a.tied_head else "head"])
    plan = np.zeros((a.layers + 1, len(MATRICES)), np.int64)
    kinds = np.zeros_like(plan)
    total = 0
    for layer, row in enumerate(names):
        for which, name in enumerate(row):
            plan[layer, which], kinds[layer, which] = total, FORMATS[checkpoint.kind(name)].code
            total += _packed_bytes(checkpoint, name, shapes[name])
    octets = np.empty(total, np.uint8)
    for layer, row in enumerate(names):
        progress("think.load", layer / len(names), model=a.name)
        for which, name in enumerate(row):
            raw, kind = checkpoint.stored(name)
            packed = pack(raw, kind, *shapes[name]).reshape(-1)
            octets[plan[layer, which] :][: packed.size] = packed
    gains = [
        checkpoint.array(f"{layer}.{name}")
        for layer in range(a.layers)
        for name in ("attention_norm", "mlp_norm")
    ]
    cosines, sines = _rotations(a)
    every_gain = np.concatenate([*gains, checkpoint.array("norm")])
    return Matrices(octets.view(np.int8), octets.view(np.int16), plan, kinds, every_gain, cosines, sines)


def _rotations(a: Architecture) -> tuple[Any, Any]:
    """cos and sin of every position's angles, (context, head_dim / 2)."""
    rope = a.blocks[0].rope
    assert rope is not None  # ``why_not`` says so
    angles = np.arange(a.context)[:, None] * rope_frequencies(rope)
    return (
        (rope.magnitude * np.cos(angles)).astype(np.float32),
        (rope.magnitude * np.sin(angles)).astype(np.float32),
    )
