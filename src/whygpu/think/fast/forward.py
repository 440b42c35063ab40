"""One kernel runs every layer for a few tokens; the threads meet at a barrier between stages.

The stages of a block, as in ``think/transformer.py``: norm, Q K V, rotary positions, attention, out, norm,
gate and up, down (``mlp``). Each function does this thread's share of one stage. What a family lacks is
passed over where the tables say -1 or 0, so that one compiled kernel serves all.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined, kernel
from whygpu.engine.sync import call, wait
from whygpu.think.fast.activations import normalise, quantise, tanh16
from whygpu.think.fast.attention import write_cache
from whygpu.think.fast.experts import mixture
from whygpu.think.fast.mlp import mlp
from whygpu.think.fast.stages import lap, multiply, place_of, rounded_at, shape_of, share
from whygpu.think.fast.state import MATRICES, VECTORS, WATCHED

__all__ = ["forward"]

F = np.float32
Q, OUT = MATRICES.index("q"), MATRICES.index("out")
HEAD = 0
(
    ATTENTION_NORM, ATTENTION_NORM_BIAS, Q_BIAS, _, _, Q_NORM, K_NORM, OUT_BIAS,
    ATTENTION_POST, MLP_NORM, MLP_NORM_BIAS, _, _, _, MLP_POST,
) = range(len(VECTORS))  # fmt: skip
HEADS, KV_HEADS, _, _, ROPE, EXPERTS = range(6)


@inlined
def _norm(rank, size, s, m, b, first, tokens, joins, post, gain, bias):
    """Add what the last stage made to the stream (normed itself where the family does that), norm, round.

    For tokens ``first`` to ``tokens`` - 1; ``post``, ``gain``, ``bias``: places of vectors.
    """
    begin, end = share(rank, size, tokens - first)
    for t in range(first + begin, first + end):
        at = t * s.width
        if joins:
            if post >= 0:
                normalise(b.y, at, s.width, m.vectors, post, -1, False, s.epsilon, b.y, at)
            for i in range(at, at + s.width, 16):
                simd.store_f32x16(b.x, i, simd.load_f32x16(b.x, i) + simd.load_f32x16(b.y, i))
        normalise(b.x, at, s.width, m.vectors, gain, bias, s.centred, s.epsilon, b.normed, at)
        quantise(b.normed, at, s.width, rounded_at(b.rounded, t, s.width))


@inlined
def _project(rank, size, s, m, b, layer, tokens):
    """Q, K and V, side by side in (tokens, q + 2 kv)."""
    nq = shape_of(m, layer, HEADS) * s.head_dim // 16
    nk = shape_of(m, layer, KV_HEADS) * s.head_dim // 16
    total, first = nq + 2 * nk, 0
    begin, end = share(rank, size, total)
    x, floats = b.rounded, b.normed
    for which in range(3):
        count = nq if which == 0 else nk
        low, high = max(begin - first, 0), min(end - first, count)
        if low < high:
            bias = place_of(m, layer, Q_BIAS + which)
            multiply(
                m, layer, Q + which, 0, low, high, x, floats, tokens, b.qkv, 16 * first, 16 * total, bias
            )
        first += count


@inlined
def _turn(source, at, c, rope, position, head_dim, factor, out, out_at):
    """Rotary position: the first half of what turns against the second (Su et al. 2021); the rest passes."""
    half = 0
    if rope >= 0:
        half = simd.load_i64(c.halves, rope)
        start = rope * c.room * (head_dim // 2) + position * half
        for i in range(half):
            x, y = simd.load_f32(source, at + i), simd.load_f32(source, at + half + i)
            cosine, sine = simd.load_f32(c.cosines, start + i), simd.load_f32(c.sines, start + i)
            simd.store_f32(out, out_at + i, (x * cosine - y * sine) * factor)
            simd.store_f32(out, out_at + half + i, (y * cosine + x * sine) * factor)
    for i in range(2 * half, head_dim):
        simd.store_f32(out, out_at + i, simd.load_f32(source, at + i) * factor)


@inlined
def _place(rank, size, s, m, c, b, layer, past, tokens):
    """Norm queries and keys where the family does, turn them, scale queries as scores are; fill the cache."""
    begin, end = share(rank, size, tokens)
    heads, kv_heads, rope = shape_of(m, layer, HEADS), shape_of(m, layer, KV_HEADS), shape_of(m, layer, ROPE)
    d = s.head_dim
    nq, nk = heads * d, kv_heads * d
    row = b.row_own + 4 * rank * d
    for t in range(begin, end):
        at = t * (nq + 2 * nk)
        for h in range(heads + kv_heads):
            gain, factor = place_of(m, layer, Q_NORM if h < heads else K_NORM), s.score_scale
            if gain >= 0:
                normalise(b.qkv, at + h * d, d, m.vectors, gain, -1, False, s.epsilon, b.qkv, at + h * d)
            if h < heads:
                _turn(b.qkv, at + h * d, c, rope, past + t, d, factor, b.queries, t * nq + h * d)
            else:
                _turn(b.qkv, at + h * d, c, rope, past + t, d, F(1), row, 0)
                base = simd.load_i64(c.starts, layer) + (h - heads) * c.room * d
                write_cache(c, base, past + t, d, row, 0, b.qkv, at + nq + nk + (h - heads) * d)


@inlined
def _attend(rank, size, c, layer, past, tokens, parts, joins):
    """Attention (``attend.attend``), or what joins its parts."""
    call(c.attend, rank, size, layer, past, tokens, parts, c.attention, joins)


@inlined
def _out(rank, size, s, m, b, layer, tokens):
    """The product after the heads."""
    begin, end = share(rank, size, s.width // 16)
    x, floats = b.rounded, b.normed
    bias = place_of(m, layer, OUT_BIAS)
    multiply(m, layer, OUT, 0, begin, end, x, floats, tokens, b.y, 0, s.width, bias)


@inlined
def _score(rank, size, s, m, b, tokens, barrier):
    """The head, for the last token alone."""
    last = tokens - 1
    if rank == 0:
        post = place_of(m, s.layers - 1, MLP_POST)
        _norm(0, 1, s, m, b, last, tokens, True, post, place_of(m, s.layers, 0), place_of(m, s.layers, 1))
    wait(barrier, size)
    begin, end = share(rank, size, s.vocab // 16)
    x, floats = rounded_at(b.rounded, last, s.width), b.normed + 4 * last * s.width
    multiply(m, s.layers, HEAD, 0, begin, end, x, floats, 1, b.logits, 0, s.vocab, -1)
    if s.logit_cap > F(0):
        for i in range(16 * begin, 16 * end, 16):
            bent = tanh16(simd.load_f32x16(b.logits, i) * (F(1) / s.logit_cap))
            simd.store_f32x16(b.logits, i, bent * s.logit_cap)


@kernel
def forward(rank, size, barrier, s, m, c, b, e, past, tokens, parts, wanted, timed, clock):
    """Run all layers for ``tokens`` tokens after ``past`` others; scores of the last token if ``wanted``.

    ``s``, ``m``, ``c``, ``b``, ``e``: Sizes, Tables, Cache, Buffers, and Mixture (or None, and what mixtures
    need is not compiled). ``b.x`` holds the embeddings. ``parts``: into
    how many the cache is split. ``clock`` gets ticks by stage if ``timed``.
    """
    watch = False
    now = 0
    for layer in range(s.layers):
        # the clock may cost half a microsecond (a virtual machine's): one layer in so many stands for all
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
            _norm(rank, size, s, m, b, 0, tokens, joins, post, gain, bias)
            wait(barrier, size)
            now = lap(watch, clock, 0, now)
            if half == 0:
                _project(rank, size, s, m, b, layer, tokens)
                wait(barrier, size)
                now = lap(watch, clock, 1, now)
                _place(rank, size, s, m, c, b, layer, past, tokens)
                wait(barrier, size)
                now = lap(watch, clock, 2, now)
                _attend(rank, size, c, layer, past, tokens, parts, 0)
                wait(barrier, size)
                now = lap(watch, clock, 3, now)
                _attend(rank, size, c, layer, past, tokens, parts, 1)
                wait(barrier, size)
                now = lap(watch, clock, 4, now)
                _out(rank, size, s, m, b, layer, tokens)
                wait(barrier, size)
                now = lap(watch, clock, 5, now)
        mixed = False
        if e is not None and shape_of(m, layer, EXPERTS) > 0:
            mixed = True
            now = mixture(rank, size, barrier, s, m, b, e, layer, tokens, watch, clock, now)
        if not mixed:
            x, floats = b.rounded, b.normed
            now = mlp(rank, size, barrier, s, m, b, layer, -1, x, floats, tokens, b.y, watch, clock, now)
    if wanted:
        watch = timed and rank == 0
        if watch:
            now = simd.ticks()
        _score(rank, size, s, m, b, tokens, barrier)
        wait(barrier, size)
        lap(watch, clock, 8, now)
