"""A mixture of experts: each token goes through the few MLPs that a small product, the router, chooses.

Shazeer et al. 2017. The tokens of one expert are put together, so that its weights are read once for all;
experts take their turns in order, so that sums are the same in every run.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import helper, inlined
from whygpu.engine.sync import wait
from whygpu.think.fast.activations import ROUNDED
from whygpu.think.fast.mlp import mlp
from whygpu.think.fast.stages import lap, multiply, shape_of, share
from whygpu.think.fast.state import MATRICES

__all__ = ["mixture"]

F = np.float32
ROUTER = MATRICES.index("router")
EXPERTS, USED, NORMALISED = 5, 6, 7


@inlined
def _route(e, t, count, filled, used, normalised):
    """The ``used`` likeliest experts of a token, and their shares: a softmax over all, or over those."""
    start, slots = e.router + 4 * t * filled, t * used
    largest, whole, chosen = F(-np.inf), F(0), F(0)
    for i in range(count):
        largest = max(largest, simd.load_f32(start, i))
    for i in range(count):
        raised = np.exp(simd.load_f32(start, i) - largest)
        simd.store_f32(start, i, raised)
        whole += raised
    for slot in range(slots, slots + used):
        best, most = 0, F(-1)
        for i in range(count):
            if simd.load_f32(start, i) > most:
                best, most = i, simd.load_f32(start, i)
        simd.store_i64(e.chosen, slot, best)
        simd.store_f32(e.shares, slot, most)
        simd.store_f32(start, best, F(-1))
        chosen += most
    for slot in range(slots, slots + used):
        simd.store_f32(e.shares, slot, simd.load_f32(e.shares, slot) / (chosen if normalised else whole))


@inlined
def _pick(rank, size, s, b, e, expert, used, tokens):
    """Put the tokens of an expert together; how many there are."""
    found, chunk = 0, s.width // 32 * ROUNDED
    for slot in range(tokens * used):
        if simd.load_i64(e.chosen, slot) == expert:
            if found % size == rank:
                t = slot // used
                simd.store_i64(e.picked, found, slot)
                for i in range(0, s.width, 16):
                    value = simd.load_f32x16(b.normed, t * s.width + i)
                    simd.store_f32x16(e.picked_x, found * s.width + i, value)
                for i in range(chunk // 4):
                    simd.store_i32(
                        e.picked_rounded, found * chunk // 4 + i, simd.load_i32(b.rounded, t * chunk // 4 + i)
                    )
            found += 1
    return found


@inlined
def _give_back(rank, size, s, b, e, used, found):
    """Add what the expert said, by its share, to the tokens' sums."""
    begin, end = share(rank, size, s.width // 16)
    for n in range(found):
        slot = simd.load_i64(e.picked, n)
        part, t = simd.load_f32(e.shares, slot), slot // used
        for i in range(16 * begin, 16 * end, 16):
            value = simd.load_f32x16(e.said, n * s.width + i)
            total = simd.fma_scalar(value, part, simd.load_f32x16(b.y, t * s.width + i))
            simd.store_f32x16(b.y, t * s.width + i, total)


@helper
def mixture(rank, size, barrier, s, m, b, e, layer, tokens, watch, clock, now):
    """The experts of a layer: ``b.normed`` to ``b.y``. Returns the clock after it."""
    count, used = shape_of(m, layer, EXPERTS), shape_of(m, layer, USED)
    filled = (count + 15) // 16 * 16
    begin, end = share(rank, size, filled // 16)
    x, floats = b.rounded, b.normed
    multiply(m, layer, ROUTER, 0, begin, end, x, floats, tokens, e.router, 0, filled, -1)
    wait(barrier, size)
    begin, end = share(rank, size, tokens)
    for t in range(begin, end):
        _route(e, t, count, filled, used, shape_of(m, layer, NORMALISED) != 0)
    for i in range(begin * s.width, end * s.width, 16):
        simd.store_f32x16(b.y, i, simd.zero_f32())
    wait(barrier, size)
    now = lap(watch, clock, 9, now)
    x, floats = e.picked_rounded, e.picked_x
    for expert in range(count):
        found = _pick(rank, size, s, b, e, expert, used, tokens)
        if rank == 0:
            simd.store_i64(e.routed, layer * filled + expert, found)
        if found > 0:
            wait(barrier, size)
            now = lap(watch, clock, 9, now)
            now = mlp(
                rank, size, barrier, s, m, b, layer, expert, x, floats, found, e.said, watch, clock, now
            )
            _give_back(rank, size, s, b, e, used, found)
            wait(barrier, size)
            now = lap(watch, clock, 9, now)
    return now
