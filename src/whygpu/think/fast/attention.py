"""Attention over a float16 cache, 16 positions or 16 dimensions at a time.

Rows are (token, query head) pairs that share one K/V head, so that what is read of the cache serves up to
four of them. A long cache may be split into parts: each part yields its own maximum, sum and mix of values,
and ``merge`` joins them exactly as one softmax over all (Milakov and Gimelshein 2018; flash-decoding).
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.activations import exp16, tanh16

__all__ = ["attend_four", "merge", "write_cache"]

F = np.float32
LOWEST = F(-1e30)


@inlined
def write_cache(c, base, position, head_dim, k, k_at, v, v_at):
    """Put one position's key and value of one K/V head into the cache.

    ``base`` is where that head's cache begins. Keys: (positions / 16, head_dim, 16), so that a vector
    holds one dimension of 16 positions; values: (positions, head_dim).
    """
    key = base + (position // 16) * 16 * head_dim + position % 16
    for i in range(head_dim):
        simd.store_i16(c.keys, key + 16 * i, simd.half_bits(simd.load_f32(k, k_at + i)))
        value = simd.half_bits(simd.load_f32(v, v_at + i))
        simd.store_i16(c.values, base + position * head_dim + i, value)


@inlined
def _softmax(scores, begin, blocks, low, high, cap):
    """Turn a row of scores into exponentials; positions outside ``low`` to ``high`` count nothing.

    ``cap``: bound of the scores, by a tangent; 0: none. Returns (maximum, sum).
    """
    if cap > F(0):
        for b in range(blocks):
            bent = tanh16(simd.load_f32x16(scores, begin + 16 * b) * (F(1) / cap))
            simd.store_f32x16(scores, begin + 16 * b, bent * cap)
    for i in range(low):
        simd.store_f32(scores, begin + i, LOWEST)
    for i in range(high, 16 * blocks):
        simd.store_f32(scores, begin + i, LOWEST)
    top = simd.splat_f32(LOWEST)
    for b in range(blocks):
        top = simd.larger(top, simd.load_f32x16(scores, begin + 16 * b))
    largest = simd.max_lanes(top)
    whole = simd.zero_f32()
    for b in range(blocks):
        e = exp16(simd.load_f32x16(scores, begin + 16 * b) - largest)
        whole = whole + e
        simd.store_f32x16(scores, begin + 16 * b, e)
    return largest, simd.sum_lanes(whole)


@inlined
def _bounds(position, window, first, blocks):
    """Which of the positions of these blocks a token sees."""
    high = min(max(position + 1 - 16 * first, 0), 16 * blocks)
    low = min(max(position + 1 - window - 16 * first, 0), high) if window > 0 else 0
    return low, high


@inlined
def attend_four(p, base, first, blocks, head_dim, scores, n, at, window, cap, parts, part):
    """Four rows (``n``: which among the queries) over ``blocks`` blocks of 16 positions from ``first`` on.

    ``at``: the position of each row's token. Results go to part ``part`` of each row.
    """
    room = p.scores_room
    q0, q1, q2, q3 = n[0] * head_dim, n[1] * head_dim, n[2] * head_dim, n[3] * head_dim
    for block in range(blocks):
        place = base + (first + block) * 16 * head_dim
        t0, t1, t2, t3 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        for i in range(head_dim):
            k = simd.half_to_float(simd.load_f16x16(p.keys, place + 16 * i))
            t0 = simd.fma_scalar(k, simd.load_f32(p.queries, q0 + i), t0)
            t1 = simd.fma_scalar(k, simd.load_f32(p.queries, q1 + i), t1)
            t2 = simd.fma_scalar(k, simd.load_f32(p.queries, q2 + i), t2)
            t3 = simd.fma_scalar(k, simd.load_f32(p.queries, q3 + i), t3)
        simd.store_f32x16(scores, 16 * block, t0)
        simd.store_f32x16(scores, room + 16 * block, t1)
        simd.store_f32x16(scores, 2 * room + 16 * block, t2)
        simd.store_f32x16(scores, 3 * room + 16 * block, t3)
    least, most = 16 * blocks, 0
    for r in range(4):
        low, high = _bounds(at[r], window, first, blocks)
        least, most = min(least, low), max(most, high)
        o = n[r] * parts + part
        top, whole = _softmax(scores, r * room, blocks, low, high, cap)
        simd.store_f32(p.tops, o, top)
        simd.store_f32(p.wholes, o, whole)
    o0, o1, o2, o3 = n[0] * parts + part, n[1] * parts + part, n[2] * parts + part, n[3] * parts + part
    for i in range(0, head_dim, 16):
        t0, t1, t2, t3 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        place = base + first * 16 * head_dim + i
        for seen in range(least, most):
            v = simd.half_to_float(simd.load_f16x16(p.values, place + seen * head_dim))
            t0 = simd.fma_scalar(v, simd.load_f32(scores, seen), t0)
            t1 = simd.fma_scalar(v, simd.load_f32(scores, room + seen), t1)
            t2 = simd.fma_scalar(v, simd.load_f32(scores, 2 * room + seen), t2)
            t3 = simd.fma_scalar(v, simd.load_f32(scores, 3 * room + seen), t3)
        simd.store_f32x16(p.mixed, o0 * head_dim + i, t0)
        simd.store_f32x16(p.mixed, o1 * head_dim + i, t1)
        simd.store_f32x16(p.mixed, o2 * head_dim + i, t2)
        simd.store_f32x16(p.mixed, o3 * head_dim + i, t3)


@inlined
def merge(p, row, parts, head_dim, out, at):
    """Join a row's parts into ``out[at : at + head_dim]``: one softmax over all that it saw."""
    largest = LOWEST
    for part in range(row * parts, row * parts + parts):
        largest = max(largest, simd.load_f32(p.tops, part))
    whole = F(0)
    for part in range(row * parts, row * parts + parts):
        whole += simd.load_f32(p.wholes, part) * np.exp(simd.load_f32(p.tops, part) - largest)
    for i in range(0, head_dim, 16):
        total = simd.zero_f32()
        for part in range(row * parts, row * parts + parts):
            share = np.exp(simd.load_f32(p.tops, part) - largest) / whole
            total = simd.fma_scalar(simd.load_f32x16(p.mixed, part * head_dim + i), share, total)
        simd.store_f32x16(out, at + i, total)
