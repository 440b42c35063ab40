"""One kernel runs every layer for a few tokens; the threads meet at a barrier between stages.

The stages of a block, as in ``think/layers.py``: norm, Q K V, rotary positions, attention, out, norm, gate
and up, down. Each function does this thread's share of one stage.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined, kernel
from whygpu.engine.sync import wait
from whygpu.think.fast.activations import quantise, rms_norm, silu16
from whygpu.think.fast.attention import attend_four, merge, write_cache
from whygpu.think.fast.products import rows
from whygpu.think.fast.state import WATCHED

__all__ = ["forward"]

F = np.float32
Q, K, V, OUT, GATE, UP, DOWN = range(7)
HEAD = 0


@inlined
def _share(rank, size, whole):
    """This thread's part of ``whole`` equal pieces."""
    return rank * whole // size, (rank + 1) * whole // size


@inlined
def _norm(rank, size, s, m, b, which, tokens):
    """Norm and round this thread's tokens."""
    begin, end = _share(rank, size, tokens)
    row = b.row_own[rank]
    for t in range(begin, end):
        rms_norm(b.x, t * s.width, s.width, m.gains, which * s.width, s.epsilon, row, 0)
        quantise(row, 0, s.width, b.codes, b.scales, b.sums, t * s.width)


@inlined
def _project(rank, size, s, m, b, layer, tokens):
    """Q, K and V, side by side in (tokens, q + 2 kv)."""
    nq, nk = s.heads * s.head_dim // 16, s.kv_heads * s.head_dim // 16
    total = nq + 2 * nk
    begin, end = _share(rank, size, total)
    for g in range(begin, end):
        which, first = Q, 0
        if g >= nq + nk:
            which, first = V, nq + nk
        elif g >= nq:
            which, first = K, nq
        rows(
            m,
            layer,
            which,
            g - first,
            s.width,
            b.codes,
            b.scales,
            b.sums,
            0,
            tokens,
            b.qkv,
            16 * g,
            16 * total,
        )


@inlined
def _turn(source, at, m, position, half, factor, out, out_at):
    """Rotary position: the first half of a head turns against the second (Su et al. 2021)."""
    for i in range(half):
        x, y = source[at + i], source[at + half + i]
        c, n = m.cosines[position, i], m.sines[position, i]
        out[out_at + i] = (x * c - y * n) * factor
        out[out_at + half + i] = (y * c + x * n) * factor


@inlined
def _place(rank, size, s, m, c, b, layer, past, tokens):
    """Turn queries (scaled as scores are) and keys; write keys and values into the cache."""
    begin, end = _share(rank, size, tokens)
    nq, nk, half = s.heads * s.head_dim, s.kv_heads * s.head_dim, s.head_dim // 2
    row = b.row_own[rank]
    for t in range(begin, end):
        at = t * (nq + 2 * nk)
        for h in range(s.heads):
            _turn(
                b.qkv,
                at + h * s.head_dim,
                m,
                past + t,
                half,
                s.score_scale,
                b.queries,
                t * nq + h * s.head_dim,
            )
        for h in range(s.kv_heads):
            _turn(b.qkv, at + nq + h * s.head_dim, m, past + t, half, F(1), row, 0)
            base = (layer * s.kv_heads + h) * c.room * s.head_dim
            write_cache(c, base, past + t, s.head_dim, row, 0, b.qkv, at + nq + nk + h * s.head_dim)


@inlined
def _attend(rank, size, s, c, b, layer, past, tokens, parts):
    """Tasks are (K/V head, up to four rows, part of the cache); each thread takes every size-th of them."""
    group = s.heads // s.kv_heads
    count = tokens * group  # rows of a K/V head: (token, query head)
    tiles = (count + 3) // 4
    for task in range(rank, s.kv_heads * tiles * parts, size):
        part, tile, kv = task % parts, task // parts % tiles, task // parts // tiles
        last = min(4 * tile + 3, count - 1)
        reach = (past + last // group + 16) // 16  # blocks of 16 positions that the last row sees
        first, blocks = part * reach // parts, (part + 1) * reach // parts - part * reach // parts
        base = (layer * s.kv_heads + kv) * c.room * s.head_dim
        r0, r1, r2, r3 = 4 * tile, min(4 * tile + 1, last), min(4 * tile + 2, last), last
        t0, t1, t2, t3 = r0 // group, r1 // group, r2 // group, r3 // group
        head = kv * group
        n0, n1 = t0 * s.heads + head + r0 % group, t1 * s.heads + head + r1 % group
        n2, n3 = t2 * s.heads + head + r2 % group, t3 * s.heads + head + r3 % group
        seen = past + 1 - 16 * first, 16 * blocks
        attend_four(
            c, b, base, first, blocks, s.head_dim, b.scores_own[rank],
            n0, n1, n2, n3,
            min(max(seen[0] + t0, 0), seen[1]), min(max(seen[0] + t1, 0), seen[1]),
            min(max(seen[0] + t2, 0), seen[1]), min(max(seen[0] + t3, 0), seen[1]),
            parts, part,
        )  # fmt: skip


@inlined
def _mix(rank, size, s, b, tokens, parts):
    """Join the parts of each row and round the heads, side by side."""
    begin, end = _share(rank, size, tokens)
    row = b.row_own[rank]
    for t in range(begin, end):
        for h in range(s.heads):
            merge(b, t * s.heads + h, parts, s.head_dim, row, h * s.head_dim)
        width = s.heads * s.head_dim
        quantise(row, 0, width, b.codes, b.scales, b.sums, t * width)


@inlined
def _add(rank, size, s, m, b, layer, which, width, codes, scales, sums, tokens):
    """x += W a for this thread's rows of W."""
    begin, end = _share(rank, size, s.width // 16)
    for g in range(begin, end):
        rows(m, layer, which, g, width, codes, scales, sums, 0, tokens, b.y, 16 * g, s.width)
        for t in range(tokens):
            at = t * s.width + 16 * g
            simd.store_f32x16(b.x, at, simd.add(simd.load_f32x16(b.x, at), simd.load_f32x16(b.y, at)))


@inlined
def _hide(rank, size, s, m, b, layer, tokens):
    """SwiGLU: silu(gate) times up, rounded; 32 columns at a time, so that a block is one thread's."""
    begin, end = _share(rank, size, s.d_ff // 32)
    for pair in range(begin, end):
        for g in range(2 * pair, 2 * pair + 2):
            rows(m, layer, GATE, g, s.width, b.codes, b.scales, b.sums, 0, tokens, b.gate, 16 * g, s.d_ff)
            rows(m, layer, UP, g, s.width, b.codes, b.scales, b.sums, 0, tokens, b.up, 16 * g, s.d_ff)
        for t in range(tokens):
            start = t * s.d_ff + 32 * pair
            for at in range(start, start + 32, 16):
                value = simd.multiply(silu16(simd.load_f32x16(b.gate, at)), simd.load_f32x16(b.up, at))
                simd.store_f32x16(b.gate, at, value)
            quantise(b.gate, start, 32, b.hidden_codes, b.hidden_scales, b.hidden_sums, start)


@inlined
def _score(rank, size, s, m, b, tokens, barrier):
    """The head, for the last token alone."""
    if rank == 0:
        row = b.row_own[0]
        rms_norm(b.x, (tokens - 1) * s.width, s.width, m.gains, 2 * s.layers * s.width, s.epsilon, row, 0)
        quantise(row, 0, s.width, b.codes, b.scales, b.sums, 0)
    wait(barrier, size)
    begin, end = _share(rank, size, s.vocab // 16)
    for g in range(begin, end):
        rows(m, s.layers, HEAD, g, s.width, b.codes, b.scales, b.sums, 0, 1, b.logits, 16 * g, s.vocab)


@inlined
def _lap(watch, clock, stage, before):
    """Add the ticks since ``before`` to a stage; returns now."""
    if not watch:
        return before
    now = simd.ticks()
    clock[stage] += now - before
    return now


@kernel
def forward(rank, size, barrier, s, m, c, b, past, tokens, parts, wanted, timed, clock):
    """Run all layers for ``tokens`` tokens after ``past`` others; scores of the last token if ``wanted``.

    ``s``, ``m``, ``c``, ``b``: Sizes, Matrices, Cache, Buffers. ``b.x`` holds the embeddings and
    becomes the last hidden state. ``parts``: into how many the cache is split. ``clock`` gets ticks by
    stage if ``timed``.
    """
    watch = False
    lap = 0
    for layer in range(s.layers):
        # the clock may cost half a microsecond (a virtual machine's): one layer in so many stands for all
        watch = timed and rank == 0 and layer % WATCHED == 0
        if watch:
            lap = simd.ticks()
        _norm(rank, size, s, m, b, 2 * layer, tokens)
        wait(barrier, size)
        lap = _lap(watch, clock, 0, lap)
        _project(rank, size, s, m, b, layer, tokens)
        wait(barrier, size)
        lap = _lap(watch, clock, 1, lap)
        _place(rank, size, s, m, c, b, layer, past, tokens)
        wait(barrier, size)
        lap = _lap(watch, clock, 2, lap)
        _attend(rank, size, s, c, b, layer, past, tokens, parts)
        wait(barrier, size)
        lap = _lap(watch, clock, 3, lap)
        _mix(rank, size, s, b, tokens, parts)
        wait(barrier, size)
        lap = _lap(watch, clock, 4, lap)
        width = s.heads * s.head_dim
        _add(rank, size, s, m, b, layer, OUT, width, b.codes, b.scales, b.sums, tokens)
        wait(barrier, size)
        lap = _lap(watch, clock, 5, lap)
        _norm(rank, size, s, m, b, 2 * layer + 1, tokens)
        wait(barrier, size)
        lap = _lap(watch, clock, 0, lap)
        _hide(rank, size, s, m, b, layer, tokens)
        wait(barrier, size)
        lap = _lap(watch, clock, 6, lap)
        _add(rank, size, s, m, b, layer, DOWN, s.d_ff, b.hidden_codes, b.hidden_scales, b.hidden_sums, tokens)
        wait(barrier, size)
        lap = _lap(watch, clock, 7, lap)
    if wanted:
        watch = timed and rank == 0
        if watch:
            lap = simd.ticks()
        _score(rank, size, s, m, b, tokens, barrier)
        wait(barrier, size)
        lap = _lap(watch, clock, 8, lap)
