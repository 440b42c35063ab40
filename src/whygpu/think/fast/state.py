"""What the kernel works on, as named tuples of arrays: sizes, weights, cache, buffers."""

from typing import Any, NamedTuple

import numpy as np

from whygpu.models import FAST_CHUNK, Architecture

__all__ = ["CHUNK", "WATCHED", "Buffers", "Cache", "Matrices", "Sizes", "buffers", "sizes"]

CHUNK = FAST_CHUNK
"""Tokens of a prompt that go through all layers together."""
WATCHED = 8
"""One layer in so many is timed stage by stage, while a ledger listens."""


class Sizes(NamedTuple):
    """The model's shapes, as the kernel needs them."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    d_ff: int
    vocab: int
    epsilon: Any  # float32
    score_scale: Any  # float32


class Matrices(NamedTuple):
    """All packed weights in one piece of memory, and where each matrix begins."""

    octets: Any  # int8: the packed matrices, end to end
    halves: Any  # int16: the same memory, for the float16 scales
    plan: Any  # (layers + 1, 7) int64: first byte of q, k, v, out, gate, up, down; last row: the head
    kinds: Any  # (layers + 1, 7) int64: Format.code of each
    gains: Any  # (2 layers + 1) * width float32: each block's two norms, then the last
    cosines: Any  # (context, head_dim / 2) float32
    sines: Any


class Cache(NamedTuple):
    """Keys and values in float16, laid out as ``attention`` says."""

    keys: Any  # int16
    values: Any  # int16
    room: int


class Buffers(NamedTuple):
    """Activations of one chunk. Names ending in ``_own`` have one row a thread."""

    x: Any  # (CHUNK, width) float32: the residual stream
    row_own: Any  # (threads, widest) float32
    codes: Any  # (CHUNK, widest) int8: rounded inputs of the next product
    scales: Any  # one a block of 32 codes
    sums: Any
    hidden_codes: Any  # (CHUNK, d_ff) int8
    hidden_scales: Any
    hidden_sums: Any
    qkv: Any  # (CHUNK, q + 2 kv) float32
    queries: Any  # (CHUNK, q) float32: turned and scaled
    scores_own: Any  # (threads, 4 * room) float32
    mixed: Any  # (rows, parts, head_dim) float32
    tops: Any  # (rows, parts) float32
    wholes: Any
    y: Any  # (CHUNK, width) float32
    gate: Any  # (CHUNK, d_ff) float32
    up: Any
    logits: Any  # (vocab,) float32


def sizes(architecture: Architecture) -> Sizes:
    """The shapes of an architecture."""
    a = architecture
    return Sizes(
        a.layers,
        a.d_model,
        a.heads,
        a.kv_heads,
        a.head_dim,
        a.d_ff,
        a.vocab,
        np.float32(a.norm_eps),
        np.float32(a.score_scale),
    )


def buffers(architecture: Architecture, threads: int, room: int) -> Buffers:
    """Memory for chunks of up to ``CHUNK`` tokens and a cache of ``room`` positions."""
    a = architecture
    nq, nk = a.heads * a.head_dim, a.kv_heads * a.head_dim
    widest = max(a.d_model, nq)
    rows = max(CHUNK * a.heads, a.heads * threads)

    def floats(*shape: int) -> Any:
        return np.zeros(shape, np.float32)

    def rounded(columns: int) -> tuple[Any, Any, Any]:
        size = CHUNK * columns
        return np.zeros(size, np.int8), floats(size // 32), np.zeros(size // 32, np.int32)

    return Buffers(
        floats(CHUNK * a.d_model),
        floats(threads, widest),
        *rounded(widest),
        *rounded(a.d_ff),
        floats(CHUNK * (nq + 2 * nk)),
        floats(CHUNK * nq),
        floats(threads, 4 * room),
        floats(rows * a.head_dim),
        floats(rows),
        floats(rows),
        floats(CHUNK * widest),
        floats(CHUNK * a.d_ff),
        floats(CHUNK * a.d_ff),
        floats(a.vocab),
    )
