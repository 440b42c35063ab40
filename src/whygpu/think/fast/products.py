"""Weights times activations: 16 rows of a packed matrix, for one token or four at a time.

With one token the weights are read once for little work: memory decides. With four, each vector of codes
that was unpacked serves four tokens: arithmetic decides. Sums within a block of 32 columns are exact
integers.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from whygpu.engine import simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.pack import FORMATS

__all__ = ["rows"]

F = np.float32
Q4_0, Q4_1 = FORMATS["Q4_0"].code, FORMATS["Q4_1"].code
BYTES_4_0, BYTES_4_1, BYTES_8_0 = (FORMATS[name].bytes for name in ("Q4_0", "Q4_1", "Q8_0"))


@inlined
def _codes_4(octets, place):
    """Eight vectors from four: columns 4 j to 4 j + 3 of 16 rows in vector j, as unsigned bytes."""
    a, b = simd.load_i8x64(octets, place), simd.load_i8x64(octets, place + 64)
    c, d = simd.load_i8x64(octets, place + 128), simd.load_i8x64(octets, place + 192)
    low = (simd.and_low(a), simd.and_low(b), simd.and_low(c), simd.and_low(d))
    return (*low, simd.shift_high(a), simd.shift_high(b), simd.shift_high(c), simd.shift_high(d))


@inlined
def _codes_8(octets, place):
    """The eight vectors as they lie."""
    return (
        simd.load_i8x64(octets, place),
        simd.load_i8x64(octets, place + 64),
        simd.load_i8x64(octets, place + 128),
        simd.load_i8x64(octets, place + 192),
        simd.load_i8x64(octets, place + 256),
        simd.load_i8x64(octets, place + 320),
        simd.load_i8x64(octets, place + 384),
        simd.load_i8x64(octets, place + 448),
    )


@inlined
def _dot(weights, codes, at, start):
    """32 columns of 16 rows times 32 activations, plus ``start``: 16 exact sums."""
    total = simd.splat_i32(start)
    for j in range(8):
        total = simd.dot_bytes(total, weights[j], simd.repeat_four(codes, at + 4 * j))
    return total


def _one(codes_of, size, minimums, offset):
    """A block type's product for one token; see ``_format``."""
    header = 64 if minimums else 32

    @inlined
    def one(m, place, blocks, codes, scales, sums, at):
        """16 results for the token whose activations begin at ``codes[at]``."""
        total = simd.zero_f32()
        for b in range(blocks):
            s = at // 32 + b
            weights = codes_of(m.octets, place + header)
            d = simd.half_to_float(simd.load_f16x16(m.halves, place // 2))
            product = simd.to_float(_dot(weights, codes, at + 32 * b, offset * sums[s]))
            total = simd.fma(simd.scale(product, scales[s]), d, total)
            if minimums:
                low = simd.half_to_float(simd.load_f16x16(m.halves, place // 2 + 16))
                total = simd.fma_scalar(low, scales[s] * F(sums[s]), total)
            place += size
        return total

    return one


def _four(codes_of, size, minimums, offset):
    """A block type's product for four tokens; see ``_format``."""
    header = 64 if minimums else 32

    @inlined
    def four(m, place, blocks, codes, scales, sums, at, width):
        """The same for four tokens, ``width`` apart."""
        t0, t1, t2, t3 = simd.zero_f32(), simd.zero_f32(), simd.zero_f32(), simd.zero_f32()
        step = width // 32
        for b in range(blocks):
            x, s0 = at + 32 * b, at // 32 + b
            s1, s2, s3 = s0 + step, s0 + 2 * step, s0 + 3 * step
            weights = codes_of(m.octets, place + header)
            d = simd.half_to_float(simd.load_f16x16(m.halves, place // 2))
            p0 = simd.to_float(_dot(weights, codes, x, offset * sums[s0]))
            t0 = simd.fma(simd.scale(p0, scales[s0]), d, t0)
            p1 = simd.to_float(_dot(weights, codes, x + width, offset * sums[s1]))
            t1 = simd.fma(simd.scale(p1, scales[s1]), d, t1)
            p2 = simd.to_float(_dot(weights, codes, x + 2 * width, offset * sums[s2]))
            t2 = simd.fma(simd.scale(p2, scales[s2]), d, t2)
            p3 = simd.to_float(_dot(weights, codes, x + 3 * width, offset * sums[s3]))
            t3 = simd.fma(simd.scale(p3, scales[s3]), d, t3)
            if minimums:
                low = simd.half_to_float(simd.load_f16x16(m.halves, place // 2 + 16))
                t0 = simd.fma_scalar(low, scales[s0] * F(sums[s0]), t0)
                t1 = simd.fma_scalar(low, scales[s1] * F(sums[s1]), t1)
                t2 = simd.fma_scalar(low, scales[s2] * F(sums[s2]), t2)
                t3 = simd.fma_scalar(low, scales[s3] * F(sums[s3]), t3)
            place += size
        return t0, t1, t2, t3

    return four


def _format(codes_of, size, minimums, offset):
    """A block type's product for any number of tokens.

    ``size``: bytes of a block; ``minimums``: whether weights are d q + m; ``offset``: what to add to each
    code (-8: codes stand for -8 to 7), taken out exactly with the activations' sums.
    """
    one = _one(codes_of, size, minimums, offset)
    four = _four(codes_of, size, minimums, offset)

    @inlined
    def all_tokens(m, place, width, codes, scales, sums, at, tokens, out, out_at, out_width):
        """Four tokens at a time, then the rest one by one."""
        blocks, t = width // 32, 0
        while t + 4 <= tokens:
            t0, t1, t2, t3 = four(m, place, blocks, codes, scales, sums, at + t * width, width)
            here = out_at + t * out_width
            simd.store_f32x16(out, here, t0)
            simd.store_f32x16(out, here + out_width, t1)
            simd.store_f32x16(out, here + 2 * out_width, t2)
            simd.store_f32x16(out, here + 3 * out_width, t3)
            t += 4
        while t < tokens:
            result = one(m, place, blocks, codes, scales, sums, at + t * width)
            simd.store_f32x16(out, out_at + t * out_width, result)
            t += 1

    return all_tokens


_rows_4_0 = _format(_codes_4, BYTES_4_0, False, np.int32(-8))
_rows_4_1 = _format(_codes_4, BYTES_4_1, True, np.int32(0))
_rows_8_0 = _format(_codes_8, BYTES_8_0, False, np.int32(-128))


@inlined
def rows(m, layer, which, group, width, codes, scales, sums, at, tokens, out, out_at, out_width):
    """Rows 16 ``group`` to 16 ``group`` + 15 of a matrix times ``tokens`` rows of activations.

    The matrix is ``m.plan[layer, which]``, ``width`` columns wide. Activations begin at ``codes[at]``,
    results at ``out[out_at]``; tokens are ``width`` and ``out_width`` apart.
    """
    kind, place, blocks = m.kinds[layer, which], m.plan[layer, which], width // 32
    if kind == Q4_1:
        place += group * blocks * BYTES_4_1
        _rows_4_1(m, place, width, codes, scales, sums, at, tokens, out, out_at, out_width)
    elif kind == Q4_0:
        place += group * blocks * BYTES_4_0
        _rows_4_0(m, place, width, codes, scales, sums, at, tokens, out, out_at, out_width)
    else:
        place += group * blocks * BYTES_8_0
        _rows_8_0(m, place, width, codes, scales, sums, at, tokens, out, out_at, out_width)
