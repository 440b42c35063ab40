"""Attention over a float16 cache, 16 positions or 16 dimensions at a time.

Rows are (token, query head) pairs that share one K/V head, so that what is read of the cache serves up to
four of them. A long cache may be split into parts: each part yields its own maximum, sum and mix of values,
and ``merge`` joins them exactly as one softmax over all (Milakov and Gimelshein 2018; flash-decoding).
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.activations import exp16

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
        c.keys[key + 16 * i] = simd.half_bits(k[k_at + i])
        c.values[base + position * head_dim + i] = simd.half_bits(v[v_at + i])


@inlined
def _softmax(scores, begin, blocks, seen):
    """Turn a row of scores into exponentials; positions from ``seen`` on count nothing. Returns
    (maximum, sum)."""
    for i in range(seen, 16 * blocks):
        scores[begin + i] = LOWEST
    top = simd.splat_f32(LOWEST)
    for b in range(blocks):
        top = simd.larger(top, simd.load_f32x16(scores, begin + 16 * b))
    largest = simd.max_lanes(top)
    whole = simd.zero_f32()
    for b in range(blocks):
        e = exp16(simd.subtract(simd.load_f32x16(scores, begin + 16 * b), simd.splat_f32(largest)))
        whole = simd.add(whole, e)
        simd.store_f32x16(scores, begin + 16 * b, e)
    return largest, simd.sum_lanes(whole)


@inlined
def attend_four(c, b, base, first, blocks, head_dim, scores, n0, n1, n2, n3, s0, s1, s2, s3, parts, part):
    """Four rows (``n0`` ... among the queries) over ``blocks`` blocks of 16 positions from ``first`` on.

    ``s0`` ...: how many positions of these blocks each row may see. Results go to part ``part`` of each row.
    """
    room = scores.size // 4
    q0, q1, q2, q3 = n0 * head_dim, n1 * head_dim, n2 * head_dim, n3 * head_dim
    for block in range(blocks):
        place = base + (first + block) * 16 * head_dim
        t0, t1, t2, t3 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        for i in range(head_dim):
            k = simd.half_to_float(simd.load_f16x16(c.keys, place + 16 * i))
            t0 = simd.fma_scalar(k, b.queries[q0 + i], t0)
            t1 = simd.fma_scalar(k, b.queries[q1 + i], t1)
            t2 = simd.fma_scalar(k, b.queries[q2 + i], t2)
            t3 = simd.fma_scalar(k, b.queries[q3 + i], t3)
        simd.store_f32x16(scores, 16 * block, t0)
        simd.store_f32x16(scores, room + 16 * block, t1)
        simd.store_f32x16(scores, 2 * room + 16 * block, t2)
        simd.store_f32x16(scores, 3 * room + 16 * block, t3)
    o0, o1, o2, o3 = n0 * parts + part, n1 * parts + part, n2 * parts + part, n3 * parts + part
    b.tops[o0], b.wholes[o0] = _softmax(scores, 0, blocks, s0)
    b.tops[o1], b.wholes[o1] = _softmax(scores, room, blocks, s1)
    b.tops[o2], b.wholes[o2] = _softmax(scores, 2 * room, blocks, s2)
    b.tops[o3], b.wholes[o3] = _softmax(scores, 3 * room, blocks, s3)
    seen = max(s0, s1, s2, s3)
    for i in range(0, head_dim, 16):
        t0, t1, t2, t3 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        place = base + first * 16 * head_dim + i
        for n in range(seen):
            v = simd.half_to_float(simd.load_f16x16(c.values, place + n * head_dim))
            t0 = simd.fma_scalar(v, scores[n], t0)
            t1 = simd.fma_scalar(v, scores[room + n], t1)
            t2 = simd.fma_scalar(v, scores[2 * room + n], t2)
            t3 = simd.fma_scalar(v, scores[3 * room + n], t3)
        simd.store_f32x16(b.mixed, o0 * head_dim + i, t0)
        simd.store_f32x16(b.mixed, o1 * head_dim + i, t1)
        simd.store_f32x16(b.mixed, o2 * head_dim + i, t2)
        simd.store_f32x16(b.mixed, o3 * head_dim + i, t3)


@inlined
def merge(b, row, parts, head_dim, out, at):
    """Join a row's parts into ``out[at : at + head_dim]``: one softmax over all that it saw."""
    largest = LOWEST
    for p in range(row * parts, row * parts + parts):
        largest = max(largest, b.tops[p])
    whole = F(0)
    for p in range(row * parts, row * parts + parts):
        whole += b.wholes[p] * np.exp(b.tops[p] - largest)
    for i in range(0, head_dim, 16):
        total = simd.zero_f32()
        for p in range(row * parts, row * parts + parts):
            share = np.exp(b.tops[p] - largest) / whole
            total = simd.fma_scalar(simd.load_f32x16(b.mixed, p * head_dim + i), share, total)
        simd.store_f32x16(out, at + i, total)
