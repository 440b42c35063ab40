"""The stage of attention, compiled by itself: it takes long, and can go beside the rest.

All that it works on is behind one address, as ``Places``.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

from whygpu.engine import simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.activations import quantise
from whygpu.think.fast.attention import attend_four, merge
from whygpu.think.fast.stages import rounded_at, shape_of, share
from whygpu.think.fast.state import Places

__all__ = ["attend"]

HEADS, KV_HEADS, WINDOW = 0, 1, 3


@inlined
def _rows(p, rank, size, layer, past, tokens, parts):
    """Tasks are (K/V head, up to four rows, part of the cache); each thread takes every size-th of them."""
    heads, kv_heads, window = (
        shape_of(p, layer, HEADS),
        shape_of(p, layer, KV_HEADS),
        shape_of(p, layer, WINDOW),
    )
    group, cap = heads // kv_heads, simd.load_f32(p.cap, 0)
    count = tokens * group  # rows of a K/V head: (token, query head)
    tiles = (count + 3) // 4
    for task in range(rank, kv_heads * tiles * parts, size):
        part, tile, kv = task % parts, task // parts % tiles, task // parts // tiles
        last = min(4 * tile + 3, count - 1)
        r = (4 * tile, min(4 * tile + 1, last), min(4 * tile + 2, last), last)
        t = (r[0] // group, r[1] // group, r[2] // group, r[3] // group)
        at = (past + t[0], past + t[1], past + t[2], past + t[3])
        start = max(at[0] + 1 - window, 0) // 16 if window > 0 else 0  # blocks of 16 positions
        reach = at[3] // 16 + 1 - start  # that some row sees
        first = start + part * reach // parts
        blocks = start + (part + 1) * reach // parts - first
        head = kv * group
        n = (
            t[0] * heads + head + r[0] % group,
            t[1] * heads + head + r[1] % group,
            t[2] * heads + head + r[2] % group,
            t[3] * heads + head + r[3] % group,
        )
        base = simd.load_i64(p.starts, layer) + kv * p.room * p.head_dim
        scores = p.scores_own + 16 * rank * p.scores_room
        attend_four(p, base, first, blocks, p.head_dim, scores, n, at, window, cap, parts, part)


@inlined
def _mix(p, rank, size, layer, tokens, parts):
    """Join the parts of each row and round the heads, side by side."""
    begin, end = share(rank, size, tokens)
    heads = shape_of(p, layer, HEADS)
    width = heads * p.head_dim
    for t in range(begin, end):
        for h in range(heads):
            merge(p, t * heads + h, parts, p.head_dim, p.normed, t * width + h * p.head_dim)
        quantise(p.normed, t * width, width, rounded_at(p.rounded, t, width))


def attend(rank, size, layer, past, tokens, parts, places, joins):
    """This thread's rows, or (``joins``) what joins their parts; ``places``: the address of ``Places``."""
    p = Places(
        simd.load_i64(places, 0),
        simd.load_i64(places, 1),
        simd.load_i64(places, 2),
        simd.load_i64(places, 3),
        simd.load_i64(places, 4),
        simd.load_i64(places, 5),
        simd.load_i64(places, 6),
        simd.load_i64(places, 7),
        simd.load_i64(places, 8),
        simd.load_i64(places, 9),
        simd.load_i64(places, 10),
        simd.load_i64(places, 11),
        simd.load_i64(places, 12),
        simd.load_i64(places, 13),
        simd.load_i64(places, 14),
    )
    if joins:
        _mix(p, rank, size, layer, tokens, parts)
    else:
        _rows(p, rank, size, layer, past, tokens, parts)
