"""Weights in floating point times float32 activations: for one token, or for tiles of six."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

from whygpu.engine import simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.formats import LINE

__all__ = ["float_rows"]


def float_rows(load, size):
    """The product of floating-point weights of ``size`` bytes, which ``load`` reads 16 at a time.

    See ``products.rows`` for the arguments of the result.
    """

    @inlined
    def one(w, k, x):
        # four sums, so that one multiply-add need not wait for the one before
        t0, t1, t2, t3 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        for i in range(0, k, 4):
            for line in range(0, 64 * size, LINE):
                simd.fetch_ahead(w + 16 * size * i + line)
            t0 = simd.fma_scalar(load(w, 16 * i), simd.load_f32(x, i), t0)
            t1 = simd.fma_scalar(load(w, 16 * i + 16), simd.load_f32(x, i + 1), t1)
            t2 = simd.fma_scalar(load(w, 16 * i + 32), simd.load_f32(x, i + 2), t2)
            t3 = simd.fma_scalar(load(w, 16 * i + 48), simd.load_f32(x, i + 3), t3)
        return (t0 + t1) + (t2 + t3)

    @inlined
    def six(w, k, x):
        t0, t1, t2 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        t3, t4, t5 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        for i in range(k):
            v = load(w, 16 * i)
            t0 = simd.fma_scalar(v, simd.load_f32(x, i), t0)
            t1 = simd.fma_scalar(v, simd.load_f32(x, k + i), t1)
            t2 = simd.fma_scalar(v, simd.load_f32(x, 2 * k + i), t2)
            t3 = simd.fma_scalar(v, simd.load_f32(x, 3 * k + i), t3)
            t4 = simd.fma_scalar(v, simd.load_f32(x, 4 * k + i), t4)
            t5 = simd.fma_scalar(v, simd.load_f32(x, 5 * k + i), t5)
        return t0, t1, t2, t3, t4, t5

    @inlined
    def multiply(w, groups, k, x, floats, tokens, out, stride):
        for g in range(groups):
            place, here, t = w + g * (k * 16 * size), out + 64 * g, 0
            while t + 6 <= tokens:
                t0, t1, t2, t3, t4, t5 = six(place, k, floats + 4 * t * k)
                simd.store_f32x16(here, t * stride, t0)
                simd.store_f32x16(here, (t + 1) * stride, t1)
                simd.store_f32x16(here, (t + 2) * stride, t2)
                simd.store_f32x16(here, (t + 3) * stride, t3)
                simd.store_f32x16(here, (t + 4) * stride, t4)
                simd.store_f32x16(here, (t + 5) * stride, t5)
                t += 6
            while t < tokens:
                simd.store_f32x16(here, t * stride, one(place, k, floats + 4 * t * k))
                t += 1

    return multiply
