"""Bytes: nibbles, and the dot product of four."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.engine.simd.vectors import byte_dot, call, constant, fold, i8x64, i32x16, joined, lanes, repeat

__all__ = ["and_low", "dot_bytes", "shift_high", "splat_i32", "sum_lanes_i32"]


@intrinsic
def and_low(typing_context, value):
    """The low 4 bits of each byte."""
    return i8x64(i8x64), lambda context, builder, signature, args: builder.and_(args[0], constant(i8x64, 15))


@intrinsic
def shift_high(typing_context, value):
    """The high 4 bits of each byte."""
    return i8x64(i8x64), lambda context, builder, signature, args: builder.lshr(args[0], constant(i8x64, 4))


@intrinsic
def splat_i32(typing_context, value):
    """An int32 in all 16 lanes."""
    return i32x16(types.int32), lambda context, builder, signature, args: repeat(builder, args[0], 16)


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


def _in_halves(work):
    """Do with two 256-bit halves what the CPU cannot do with 512 bits."""

    def both(builder, total, unsigned, signed):
        parts = []
        for half in range(2):
            sums, four = range(half * 8, half * 8 + 8), range(half * 32, half * 32 + 32)
            part = lanes(builder, total, sums)
            parts.append(work(builder, part, lanes(builder, unsigned, four), lanes(builder, signed, four)))
        return joined(builder, parts)

    return both


def _dot_avx_vnni(builder, total, unsigned, signed):
    return call(builder, "llvm.x86.avx512.vpdpbusd.256", total.type, [total, unsigned, signed])


def _dot_avx2(builder, total, unsigned, signed):
    i16x16 = ir.VectorType(ir.IntType(16), 16)
    pairs = call(builder, "llvm.x86.avx2.pmadd.ub.sw", i16x16, [unsigned, signed])
    fours = call(builder, "llvm.x86.avx2.pmadd.wd", total.type, [pairs, ir.Constant(i16x16, [1] * 16)])
    return builder.add(total, fours)


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
    "avx-vnni": _in_halves(_dot_avx_vnni),
    "avx2": _in_halves(_dot_avx2),
    "generic": _dot_generic,
}


@intrinsic
def sum_lanes_i32(typing_context, value):
    """The sum of 16 int32 lanes."""
    return types.int32(i32x16), lambda context, builder, signature, args: fold(builder, args[0], builder.add)
