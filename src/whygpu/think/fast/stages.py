"""What every stage of the kernel uses: a thread's share, a product of it, a clock."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

from whygpu.engine import simd
from whygpu.engine.jit import helper, inlined
from whygpu.engine.sync import call
from whygpu.think.fast.activations import ROUNDED
from whygpu.think.fast.state import MATRICES, VECTORS

__all__ = ["lap", "multiply", "place_of", "rounded_at", "shape_of", "share"]

ADDRESS, FUNCTION, GROUP, COLUMNS, EXPERT = range(5)
MATRIX_COUNT, VECTOR_COUNT, SHAPE_COUNT = len(MATRICES), len(VECTORS), 8


@inlined
def share(rank, size, whole):
    """This thread's part of ``whole`` equal pieces."""
    return rank * whole // size, (rank + 1) * whole // size


@inlined
def rounded_at(rounded, token, width):
    """The address of a token's rounded activations."""
    return rounded + token * (width // 32) * ROUNDED


@helper
def multiply(m, layer, which, expert, first, last, x, floats, tokens, out, at, stride, bias):
    """Rows 16 ``first`` to 16 ``last`` - 1 of a matrix times ``tokens`` rows of activations.

    ``m``: Tables. The matrix is ``m.matrices[layer, which]``, of expert ``expert``. ``x``, ``floats``:
    addresses of rounded activations and of the same in float32. Its first row's results begin at
    ``out[at]``, tokens ``stride`` apart. ``bias``: where a vector to be added begins, or -1.
    """
    row = 5 * (layer * MATRIX_COUNT + which)
    w = simd.load_i64(m.matrices, row + ADDRESS)
    w += expert * simd.load_i64(m.matrices, row + EXPERT) + first * simd.load_i64(m.matrices, row + GROUP)
    function, k = simd.load_i64(m.matrices, row + FUNCTION), simd.load_i64(m.matrices, row + COLUMNS)
    call(function, w, last - first, k, x, floats, tokens, out + 4 * (at + 16 * first), stride)
    if bias >= 0:
        for token in range(tokens):
            for i in range(16 * first, 16 * last, 16):
                place = at + token * stride + i
                total = simd.load_f32x16(out, place) + simd.load_f32x16(m.vectors, bias + i)
                simd.store_f32x16(out, place, total)


@inlined
def place_of(m, layer, slot):
    """Where a vector begins in ``m.vectors``; -1: there is none."""
    return simd.load_i64(m.places, layer * VECTOR_COUNT + slot)


@inlined
def shape_of(m, layer, what):
    """One of a block's numbers."""
    return simd.load_i64(m.shapes, layer * SHAPE_COUNT + what)


@inlined
def lap(watch, clock, stage, before):
    """Add the ticks since ``before`` to a stage; returns now."""
    if not watch:
        return before
    now = simd.ticks()
    simd.store_i64(clock, stage, simd.load_i64(clock, stage) + now - before)
    return now
