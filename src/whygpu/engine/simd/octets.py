"""Bytes: nibbles, and the dot product of four."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.engine.simd.vectors import (
    byte_dot,
    call,
    constant,
    fold,
    i8x64,
    i16x32,
    i32x16,
    in_halves,
    lanes,
    repeat,
)

__all__ = [
    "add_pairs",
    "add_products",
    "bits",
    "dot_bytes",
    "dot_centred",
    "join_bits",
    "sum_lanes_i32",
    "table",
    "zero_i16",
]


def _each(builder, number):
    """An int64 in each byte."""
    return repeat(builder, builder.trunc(number, ir.IntType(8)), 64)


def _moved(builder, value, up, down):
    """As 16-bit words, for which CPUs have shifts: a byte's neighbour may move in."""
    words = builder.bitcast(value, ir.VectorType(ir.IntType(16), 32))
    for work, count in ((builder.shl, up), (builder.lshr, down)):
        if count is not None:
            words = work(words, repeat(builder, builder.trunc(count, ir.IntType(16)), 32))
    return builder.bitcast(words, value.type)


@intrinsic
def bits(typing_context, value, shift, mask):
    """Each byte moved down by ``shift`` bits, and of that what ``mask`` keeps, which must be its own."""

    def code(context, builder, signature, args):
        return builder.and_(_moved(builder, args[0], None, args[1]), _each(builder, args[2]))

    return i8x64(i8x64, types.int64, types.int64), code


@intrinsic
def join_bits(typing_context, low, high, up, down, mask):
    """Each byte of ``low`` with bits of ``high``: moved up and down, and of that what ``mask`` keeps.

    What it keeps must be the byte's own.
    """

    def code(context, builder, signature, args):
        kept = builder.and_(_moved(builder, args[1], args[2], args[3]), _each(builder, args[4]))
        return builder.or_(args[0], kept)

    return i8x64(i8x64, i8x64, types.int64, types.int64, types.int64), code


def table(values):
    """Make a function that puts ``values[i]`` (16 bytes) in the place of each byte i below 16."""

    @intrinsic
    def look_up(typing_context, index):
        def code(context, builder, signature, args):
            return _LOOK_UPS[byte_dot()](builder, values, args[0])

        return i8x64(i8x64), code

    return look_up


def _look_up_avx512(builder, values, index):
    constants = ir.Constant(i8x64.ir, list(values) * 4)
    return call(builder, "llvm.x86.avx512.pshuf.b.512", index.type, [constants, index])


def _look_up_avx2(builder, values, index):
    def half(builder, part):
        return call(
            builder, "llvm.x86.avx2.pshuf.b", part.type, [ir.Constant(part.type, list(values) * 2), part]
        )

    return in_halves(half)(builder, index)


def _look_up_generic(builder, values, index):
    found = constant(i8x64, values[0])
    for i in range(1, 16):
        here = builder.icmp_unsigned("==", index, constant(i8x64, i))
        found = builder.select(here, constant(i8x64, values[i]), found)
    return found


_LOOK_UPS = {
    "avx512-vnni": _look_up_avx512,
    "avx-vnni": _look_up_avx2,
    "avx2": _look_up_avx2,
    "generic": _look_up_generic,
}


@intrinsic
def dot_bytes(typing_context, total, unsigned, signed):
    """Add to each of 16 totals the dot product of its 4 unsigned and 4 signed bytes.

    Unsigned bytes up to 127 only where the CPU has AVX2 and no VNNI (its instruction saturates at 16 bits).
    """

    def code(context, builder, signature, args):
        return _DOTS[byte_dot()](builder, *args)

    return i32x16(i32x16, i8x64, i8x64), code


def _dot_avx512(builder, total, unsigned, signed):
    return call(builder, "llvm.x86.avx512.vpdpbusd.512", total.type, [total, unsigned, signed])


def _dot_avx_vnni(builder, total, unsigned, signed):
    return call(builder, "llvm.x86.avx512.vpdpbusd.256", total.type, [total, unsigned, signed])


def _dot_avx2(builder, total, unsigned, signed):
    return builder.add(total, _neighbours(builder, _pair_products(builder, unsigned, signed)))


def _dot_generic(builder, total, unsigned, signed):
    """Even and odd bytes as 16-bit halves of each lane; LLVM finds the multiply-add of pairs by itself."""
    wide = ir.VectorType(ir.IntType(16), 64)
    products = builder.mul(builder.zext(unsigned, wide), builder.sext(signed, wide))
    deep = ir.VectorType(ir.IntType(32), 16)
    for place in range(4):
        part = builder.sext(lanes(builder, products, range(place, 64, 4)), deep)
        total = builder.add(total, part)
    return total


_DOTS = {
    "avx512-vnni": _dot_avx512,
    "avx-vnni": in_halves(_dot_avx_vnni),
    "avx2": in_halves(_dot_avx2),
    "generic": _dot_generic,
}


@intrinsic
def dot_centred(typing_context, total, unsigned, signed):
    """``dot_bytes`` of unsigned bytes less 128; AVX2 only, where that reaches all of them.

    A product takes the magnitude of one and the other with its sign: 128 x 127 x 2 fits 16 bits.
    """

    def code(context, builder, signature, args):
        return _dot_avx2_centred(builder, *args)

    return i32x16(i32x16, i8x64, i8x64), code


def _centred(builder, total, unsigned, signed):
    value = builder.xor(unsigned, ir.Constant(unsigned.type, [128] * 32))
    exact = ir.Constant(ir.IntType(1), 0)  # of -128 too
    size = call(builder, "llvm.abs.v32i8", value.type, [value, exact])
    turned = call(builder, "llvm.x86.avx2.psign.b", value.type, [signed, value])
    return _dot_avx2(builder, total, size, turned)


_dot_avx2_centred = in_halves(_centred)


def _pair_products(builder, unsigned, signed):
    return call(builder, "llvm.x86.avx2.pmadd.ub.sw", ir.VectorType(ir.IntType(16), 16), [unsigned, signed])


def _neighbours(builder, pairs):
    ones = ir.Constant(pairs.type, [1] * 16)
    return call(builder, "llvm.x86.avx2.pmadd.wd", ir.VectorType(ir.IntType(32), 8), [pairs, ones])


@intrinsic
def add_products(typing_context, total, unsigned, signed):
    """Add the products of pairs of bytes to 32 totals of 16 bits, which they must fit; AVX2 only."""

    def code(context, builder, signature, args):
        return builder.add(args[0], in_halves(_pair_products)(builder, *args[1:]))

    return i16x32(i16x32, i8x64, i8x64), code


@intrinsic
def add_pairs(typing_context, total, pairs):
    """Add to each of 16 totals two neighbours of 32 numbers of 16 bits; AVX2 only."""

    def code(context, builder, signature, args):
        return builder.add(args[0], in_halves(_neighbours)(builder, args[1]))

    return i32x16(i32x16, i16x32), code


@intrinsic
def zero_i16(typing_context):
    """32 zeros."""
    return i16x32(), lambda context, builder, signature, args: constant(i16x32, 0)


@intrinsic
def sum_lanes_i32(typing_context, value):
    """The sum of 16 int32 lanes."""
    return types.int32(i32x16), lambda context, builder, signature, args: fold(builder, args[0], builder.add)
