"""Along a row of packed weights: the units of a group of 16 rows, one after another."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

from whygpu.engine import simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.activations import ROUNDED
from whygpu.think.fast.formats import BLOCK, FORMATS, LINE

__all__ = ["four_tokens", "one_token", "walk"]


def walk(kind):
    """What repeats in a row: units, bytes before them, bytes of each, bytes of its head.

    Loops over units end at ``min(left, units)``, which is ``units``, but no constant: unrolled, the loads of
    eight units mix, and a core reads memory at two thirds of the rate (Q6_K: 21 GB/s instead of 31).
    """
    form = FORMATS[kind]
    units, before = form.columns // BLOCK, 16 * form.top
    unit = (form.bytes - before) // units
    return units, before, unit, 16 * form.head


def one_token(kind, scales, add):
    """A group of rows times one token."""
    (units, before, unit, head), (first, second) = walk(kind), scales

    @inlined
    def one(w, blocks, x):
        total = simd.zero_f32()
        for left in range(blocks, 0, -units):
            d, low = first(w)
            w += before
            for _ in range(min(left, units)):
                for line in range(0, unit, LINE):
                    simd.fetch_ahead(w + line)
                total = add(total, w + head, second(d, low, w), x)
                w += unit
                x += ROUNDED
        return total

    return one


def four_tokens(kind, scales, add):
    """A group of rows times four tokens; ``add`` takes four totals and four blocks."""
    (units, before, unit, head), (first, second) = walk(kind), scales

    @inlined
    def tile(w, _, blocks, x, apart, out, __, stride):
        z = simd.zero_f32()
        t = (z, z, z, z)
        for left in range(blocks, 0, -units):
            d, low = first(w)
            w += before
            for _ in range(min(left, units)):
                t = add(t, w + head, second(d, low, w), (x, x + apart, x + 2 * apart, x + 3 * apart))
                w += unit
                x += ROUNDED
        simd.store_f32x16(out, 0, t[0])
        simd.store_f32x16(out, stride, t[1])
        simd.store_f32x16(out, 2 * stride, t[2])
        simd.store_f32x16(out, 3 * stride, t[3])

    return tile
