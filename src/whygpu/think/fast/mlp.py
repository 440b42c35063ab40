"""Each token by itself, through a wider layer and back."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

from whygpu.engine import simd
from whygpu.engine.jit import helper, inlined
from whygpu.engine.sync import wait
from whygpu.think.fast.activations import bend16, quantise
from whygpu.think.fast.stages import lap, multiply, place_of, rounded_at, shape_of, share
from whygpu.think.fast.state import MATRICES, VECTORS

__all__ = ["mlp"]

GATE, EXPERT_GATE = MATRICES.index("gate"), MATRICES.index("expert_gate")
GATE_BIAS = VECTORS.index("gate_bias")
D_FF = 2


@inlined
def _bend(s, b, begin, end, width, tokens):
    """Columns ``begin`` to ``end`` - 1: the activation of the gate times up, or of up itself; rounded."""
    for t in range(tokens):
        for at in range(t * width + begin, t * width + end, 16):
            up = simd.load_f32x16(b.up, at)
            bent = bend16(simd.load_f32x16(b.gate, at), s.gelu) * up if s.gated else bend16(up, s.gelu)
            simd.store_f32x16(b.gate, at, bent)
        start = t * width + begin
        quantise(b.gate, start, end - begin, rounded_at(b.hidden, start // 32, 32))


@helper
def mlp(rank, size, barrier, s, m, b, layer, expert, x, floats, tokens, out, watch, clock, now):
    """Gate and up, activation, down: ``tokens`` rows at ``x`` and ``floats`` to ``out`` (tokens, width).

    ``expert``: which of a mixture's; -1: the layer's one MLP. Returns the clock after it.
    """
    width = shape_of(m, layer, D_FF)
    gate, which = (GATE, 0) if expert < 0 else (EXPERT_GATE, expert)
    begin, end = share(rank, size, width // 32)  # pairs of groups, so that a block is one thread's
    for part in range(0 if s.gated else 1, 2):
        bias = place_of(m, layer, GATE_BIAS + part)
        target = b.up if part else b.gate
        multiply(m, layer, gate + part, which, 2 * begin, 2 * end, x, floats, tokens, target, 0, width, bias)
    _bend(s, b, 32 * begin, 32 * end, width, tokens)
    wait(barrier, size)
    now = lap(watch, clock, 6, now)
    begin, end = share(rank, size, s.width // 16)
    x, floats = b.hidden, b.gate
    bias = place_of(m, layer, GATE_BIAS + 2)
    multiply(m, layer, gate + 2, which, begin, end, x, floats, tokens, out, 0, s.width, bias)
    wait(barrier, size)
    return lap(watch, clock, 7, now)
