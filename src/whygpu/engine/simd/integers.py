"""Arithmetic on 16 int32 lanes."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.engine.simd.vectors import address, call, constant, f32x16, i32x16, repeat

__all__ = ["any_lane", "byte_of", "halved", "low_half", "store_wide", "zero_i32"]


def _each(builder, number):
    """An int64 in each lane."""
    return repeat(builder, builder.trunc(number, ir.IntType(32)), 16)


@intrinsic
def zero_i32(typing_context):
    """16 zeros."""
    return i32x16(), lambda context, builder, signature, args: constant(i32x16, 0)


@intrinsic
def halved(typing_context, number, times):
    """A number without its lowest bits: each lane says of how many."""

    def code(context, builder, signature, args):
        return builder.lshr(_each(builder, args[0]), args[1])

    return i32x16(types.int64, i32x16), code


@intrinsic
def byte_of(typing_context, value, place):
    """The byte from bit ``place`` of each lane on, as float32."""

    def code(context, builder, signature, args):
        byte = builder.and_(builder.lshr(args[0], _each(builder, args[1])), constant(i32x16, 255))
        return builder.sitofp(byte, f32x16.ir)

    return f32x16(i32x16, types.int64), code


@intrinsic
def low_half(typing_context, array, index, shift):
    """The 32 bits from bit ``shift`` on of 16 int64, from ``array[index]`` on."""

    def code(context, builder, signature, args):
        wide = ir.VectorType(ir.IntType(64), 16)
        place = address(context, builder, signature.args[0], args[0], args[1])
        words = builder.load(builder.bitcast(place, wide.as_pointer()))
        words.align = 8
        return builder.trunc(builder.lshr(words, repeat(builder, args[2], 16)), i32x16.ir)

    return i32x16(array, types.intp, types.int64), code


@intrinsic
def store_wide(typing_context, array, index, value):
    """Write 16 int32 as int64, from ``array[index]`` on."""

    def code(context, builder, signature, args):
        wide = ir.VectorType(ir.IntType(64), 16)
        place = address(context, builder, signature.args[0], args[0], args[1])
        value = builder.sext(args[2], wide)
        builder.store(value, builder.bitcast(place, wide.as_pointer())).align = 8
        return context.get_dummy_value()

    return types.void(array, types.intp, i32x16), code


@intrinsic
def any_lane(typing_context, value):
    """Whether a bit of any lane is set."""

    def code(context, builder, signature, args):
        every = call(builder, "llvm.vector.reduce.or.v16i32", ir.IntType(32), [args[0]])
        return builder.icmp_signed("!=", every, ir.Constant(every.type, 0))

    return types.boolean(i32x16), code
