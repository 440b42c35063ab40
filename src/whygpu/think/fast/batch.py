"""One token of each of several sequences through all layers: a decode step as a product with a matrix.

The stages are those of ``forward``. Products with weights take the sequences' tokens as rows, so that each
weight is read once for all; only attention goes to each sequence's own cache, at its own length.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined, kernel
from whygpu.engine.sync import call, wait
from whygpu.think.fast.activations import normalise, quantise, tanh16
from whygpu.think.fast.attention import write_cache
from whygpu.think.fast.experts import mixture
from whygpu.think.fast.forward import (
    ATTENTION_NORM,
    ATTENTION_NORM_BIAS,
    ATTENTION_POST,
    EXPERTS,
    HEAD,
    HEADS,
    K_NORM,
    KV_HEADS,
    MLP_NORM,
    MLP_NORM_BIAS,
    MLP_POST,
    Q_NORM,
    ROPE,
    _norm,
    _out,
    _project,
    _turn,
)
from whygpu.think.fast.mlp import mlp
from whygpu.think.fast.stages import lap, multiply, place_of, rounded_at, shape_of, share
from whygpu.think.fast.state import WATCHED, Cache

__all__ = ["SEQUENCE", "decode"]

F = np.float32
SEQUENCE = 24
"""Numbers a sequence takes in the table of sequences: its ``Places`` (15), then what follows."""
COSINES, SINES, HALVES, PAST = 15, 16, 17, 18


@inlined
def _own(rows, row):
    """A sequence's cache, and how many tokens it holds."""
    at = row * SEQUENCE
    c = Cache(
        simd.load_i64(rows, at),
        simd.load_i64(rows, at + 1),
        simd.load_i64(rows, at + 2),
        simd.load_i64(rows, at + 3),
        simd.load_i64(rows, at + COSINES),
        simd.load_i64(rows, at + SINES),
        simd.load_i64(rows, at + HALVES),
        0,
        0,
    )
    return c, simd.load_i64(rows, at + PAST)


@inlined
def _place(rank, size, s, m, b, layer, rows, count, most):
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
                _turn(b.qkv, at + h * d, c, rope, past, d, factor, b.queries, row * most * d + h * d)
            else:
                _turn(b.qkv, at + h * d, c, rope, past, d, F(1), own, 0)
                base = simd.load_i64(c.starts, layer) + (h - heads) * c.room * d
                write_cache(c, base, past, d, own, 0, b.qkv, at + nq + nk + (h - heads) * d)


@inlined
def _attend(rank, size, attend, layer, rows, count):
    """Each thread looks after some sequences; where there are fewer than threads, all share each one."""
    if count < size:
        for row in range(count):
            past = simd.load_i64(rows, row * SEQUENCE + PAST)
            call(attend, rank, size, layer, past, 1, 1, rows + 8 * row * SEQUENCE, 0)
        return
    begin, end = share(rank, size, count)
    for row in range(begin, end):
        past = simd.load_i64(rows, row * SEQUENCE + PAST)
        call(attend, 0, 1, layer, past, 1, 1, rows + 8 * row * SEQUENCE, 0)


@inlined
def _mix(rank, size, s, m, b, layer, count, most):
    """Divide each head's sum by its weights' sum and round the heads, side by side. ``most``: heads a row."""
    begin, end = share(rank, size, count)
    heads = shape_of(m, layer, HEADS)
    width = heads * s.head_dim
    for t in range(begin, end):
        for h in range(heads):
            row = t * most + h
            factor = F(1) / simd.load_f32(b.wholes, row)
            for i in range(0, s.head_dim, 16):
                mixed = simd.load_f32x16(b.mixed, row * s.head_dim + i)
                simd.store_f32x16(b.normed, t * width + h * s.head_dim + i, mixed * factor)
        quantise(b.normed, t * width, width, rounded_at(b.rounded, t, width))


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
                bent = tanh16(simd.load_f32x16(logits, i) * (F(1) / s.logit_cap))
                simd.store_f32x16(logits, i, bent * s.logit_cap)


@kernel
def decode(rank, size, barrier, s, m, b, e, attend, rows, count, most, logits, timed, clock):
    """One token of each of ``count`` sequences through all layers, and their scores to ``logits``.

    ``s``, ``m``, ``b``, ``e`` as in ``forward``; ``b.x`` holds the embeddings. ``attend``: address
    of the stage of attention, ``rows`` of (count, SEQUENCE) int64, ``logits`` of (count, vocab) float32.
    ``most``: the most heads of a block; queries and their results lie so many apart.
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
                _place(rank, size, s, m, b, layer, rows, count, most)
                wait(barrier, size)
                now = lap(watch, clock, 2, now)
                _attend(rank, size, attend, layer, rows, count)
                wait(barrier, size)
                now = lap(watch, clock, 3, now)
                _mix(rank, size, s, m, b, layer, count, most)
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
