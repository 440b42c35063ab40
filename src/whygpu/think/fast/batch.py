"""One token of each of several sequences through all layers: a decode step as a product with a matrix.

The stages are those of ``forward``. Products with weights take the sequences' tokens as rows, so that each
weight is read once for all; only attention goes to each sequence's own cache, at its own length.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined, kernel
from whygpu.engine.sync import wait
from whygpu.think.fast.activations import normalise, tanh16
from whygpu.think.fast.attention import attend_four, write_cache
from whygpu.think.fast.experts import mixture
from whygpu.think.fast.forward import (
    ATTENTION_NORM,
    ATTENTION_NORM_BIAS,
    ATTENTION_POST,
    HEAD,
    HEADS,
    EXPERTS,
    K_NORM,
    KV_HEADS,
    MLP_NORM,
    MLP_NORM_BIAS,
    MLP_POST,
    Q_NORM,
    ROPE,
    WINDOW,
    _mix,
    _norm,
    _out,
    _project,
    _turn,
)
from whygpu.think.fast.mlp import mlp
from whygpu.think.fast.stages import lap, multiply, place_of, shape_of, share
from whygpu.think.fast.state import WATCHED, Cache

__all__ = ["SEQUENCE", "decode"]

F = np.float32
SEQUENCE = 8
"""Numbers a sequence takes in the table of sequences: the seven of its ``Cache`` and its length."""


@inlined
def _own(rows, row):
    """A sequence's cache, and how many tokens it holds."""
    at = row * SEQUENCE
    c = Cache(
        simd.load_i64(rows, at), simd.load_i64(rows, at + 1), simd.load_i64(rows, at + 2),
        simd.load_i64(rows, at + 3), simd.load_i64(rows, at + 4), simd.load_i64(rows, at + 5),
        simd.load_i64(rows, at + 6),
    )  # fmt: skip
    return c, simd.load_i64(rows, at + 7)


@inlined
def _place(rank, size, s, m, b, layer, rows, count):
    """Each sequence's query turned to its own position, its key and value into its own cache."""
    begin, end = share(rank, size, count)
    heads, kv_heads, rope = shape_of(m, layer, HEADS), shape_of(m, layer, KV_HEADS), shape_of(m, layer, ROPE)
    d = s.head_dim
    nq, nk = heads * d, kv_heads * d
    own = b.row_own + 4 * rank * d
    for row in range(begin, end):
        c, past = _own(rows, row)
        at = row * (nq + 2 * nk)
        for h in range(heads + kv_heads):
            gain, factor = place_of(m, layer, Q_NORM if h < heads else K_NORM), s.score_scale
            if gain >= 0:
                normalise(b.qkv, at + h * d, d, m.vectors, gain, -1, False, s.epsilon, b.qkv, at + h * d)
            if h < heads:
                _turn(b.qkv, at + h * d, c, rope, past, d, factor, b.queries, row * nq + h * d)
            else:
                _turn(b.qkv, at + h * d, c, rope, past, d, F(1), own, 0)
                base = simd.load_i64(c.starts, layer) + (h - heads) * c.room * d
                write_cache(c, base, past, d, own, 0, b.qkv, at + nq + nk + (h - heads) * d)


@inlined
def _attend(rank, size, s, m, b, layer, rows, count):
    """Tasks are (sequence, K/V head, up to four query heads); each thread takes every size-th of them."""
    heads, kv_heads, window = shape_of(m, layer, HEADS), shape_of(m, layer, KV_HEADS), shape_of(m, layer, WINDOW)
    group = heads // kv_heads
    tiles = (group + 3) // 4
    for task in range(rank, count * kv_heads * tiles, size):
        tile, kv, row = task % tiles, task // tiles % kv_heads, task // tiles // kv_heads
        c, past = _own(rows, row)
        last = group - 1
        head = row * heads + kv * group
        n = (
            head + 4 * tile,
            head + min(4 * tile + 1, last),
            head + min(4 * tile + 2, last),
            head + min(4 * tile + 3, last),
        )
        start = max(past + 1 - window, 0) // 16 if window > 0 else 0  # blocks of 16 positions
        base = simd.load_i64(c.starts, layer) + kv * c.room * s.head_dim
        scores = b.scores_own + 16 * rank * b.room
        at = (past, past, past, past)
        attend_four(
            c, b, base, start, past // 16 + 1 - start, s.head_dim, scores, n, at, window, s.attention_cap, 1, 0
        )


@inlined
def _score(rank, size, s, m, b, count, logits, barrier):
    """The head, for every sequence."""
    post = place_of(m, s.layers - 1, MLP_POST)
    _norm(rank, size, s, m, b, 0, count, True, post, place_of(m, s.layers, 0), place_of(m, s.layers, 1))
    wait(barrier, size)
    begin, end = share(rank, size, s.vocab // 16)
    multiply(m, s.layers, HEAD, 0, begin, end, b.rounded, b.normed, count, logits, 0, s.vocab, -1)
    if s.logit_cap > F(0):
        for row in range(count):
            for i in range(row * s.vocab + 16 * begin, row * s.vocab + 16 * end, 16):
                bent = tanh16(simd.scale(simd.load_f32x16(logits, i), F(1) / s.logit_cap))
                simd.store_f32x16(logits, i, simd.scale(bent, s.logit_cap))


@kernel
def decode(rank, size, barrier, s, m, b, e, rows, count, logits, timed, clock):
    """One token of each of ``count`` sequences through all layers, and their scores to ``logits``.

    ``s``, ``m``, ``b``, ``e`` as in ``forward``; ``b.x`` holds the embeddings. ``rows``: address of
    (count, SEQUENCE) int64, ``logits`` of (count, vocab) float32.
    """
    watch = False
    now = 0
    for layer in range(s.layers):
        watch = timed and rank == 0 and layer % WATCHED == 0
        if watch:
            now = simd.ticks()
        for half in range(2):
            if half == 0:
                joins, post = layer > 0, place_of(m, layer - 1, MLP_POST) if layer > 0 else -1
                gain, bias = place_of(m, layer, ATTENTION_NORM), place_of(m, layer, ATTENTION_NORM_BIAS)
            else:
                joins, post = True, place_of(m, layer, ATTENTION_POST)
                gain, bias = place_of(m, layer, MLP_NORM), place_of(m, layer, MLP_NORM_BIAS)
            _norm(rank, size, s, m, b, 0, count, joins, post, gain, bias)
            wait(barrier, size)
            now = lap(watch, clock, 0, now)
            if half == 0:
                _project(rank, size, s, m, b, layer, count)
                wait(barrier, size)
                now = lap(watch, clock, 1, now)
                _place(rank, size, s, m, b, layer, rows, count)
                wait(barrier, size)
                now = lap(watch, clock, 2, now)
                _attend(rank, size, s, m, b, layer, rows, count)
                wait(barrier, size)
                now = lap(watch, clock, 3, now)
                _mix(rank, size, s, m, b, layer, count, 1)
                wait(barrier, size)
                now = lap(watch, clock, 4, now)
                _out(rank, size, s, m, b, layer, count)
                wait(barrier, size)
                now = lap(watch, clock, 5, now)
        mixed = False
        if e is not None and shape_of(m, layer, EXPERTS) > 0:
            mixed = True
            now = mixture(rank, size, barrier, s, m, b, e, layer, count, watch, clock, now)
        if not mixed:
            x, floats = b.rounded, b.normed
            now = mlp(rank, size, barrier, s, m, b, layer, -1, x, floats, count, b.y, watch, clock, now)
    watch = timed and rank == 0
    if watch:
        now = simd.ticks()
    _score(rank, size, s, m, b, count, logits, barrier)
    wait(barrier, size)
    lap(watch, clock, 8, now)
