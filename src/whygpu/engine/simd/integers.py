"""Arithmetic on 16 int32 lanes."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.engine.simd.vectors import constant, f32x16, i32x16, repeat

__all__ = ["at_least", "byte_of", "halved", "plus", "shift_down", "zero_i32"]


def _each(builder, number):
    """An int64 in each lane."""
    return repeat(builder, builder.trunc(number, ir.IntType(32)), 16)


@intrinsic
def zero_i32(typing_context):
    """16 zeros."""
    return i32x16(), lambda context, builder, signature, args: constant(i32x16, 0)


@intrinsic
def plus(typing_context, value, number):
    """Each lane plus one number."""

    def code(context, builder, signature, args):
        return builder.add(args[0], _each(builder, args[1]))

    return i32x16(i32x16, types.int64), code


@intrinsic
def at_least(typing_context, value, number):
    """The larger of each lane and one number."""

    def code(context, builder, signature, args):
        least = _each(builder, args[1])
        return builder.select(builder.icmp_signed(">", args[0], least), args[0], least)

    return i32x16(i32x16, types.int64), code


@intrinsic
def shift_down(typing_context, value, count):
    """Each lane, not negative, without its lowest ``count`` bits."""

    def code(context, builder, signature, args):
        return builder.lshr(args[0], _each(builder, args[1]))

    return i32x16(i32x16, types.int64), code


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
