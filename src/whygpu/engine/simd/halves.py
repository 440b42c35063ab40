"""float16 to float32 and back."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.engine.simd.vectors import byte_dot, constant, f16x16, f32x16, i32x16

__all__ = ["half_bits", "half_to_float"]


@intrinsic
def half_to_float(typing_context, value):
    """float16 to float32."""

    def code(context, builder, signature, args):
        if byte_dot() != "generic":
            return builder.fpext(args[0], f32x16.ir)
        # Without F16C LLVM would call a function that is not there. Shift exponent and mantissa into
        # place and multiply by 2^112, which corrects the exponent's bias and makes subnormals right.
        i32 = ir.VectorType(ir.IntType(32), 16)
        bits = builder.zext(builder.bitcast(args[0], ir.VectorType(ir.IntType(16), 16)), i32)
        sign = builder.shl(builder.and_(bits, constant(i32x16, 0x8000)), constant(i32x16, 16))
        rest = builder.shl(builder.and_(bits, constant(i32x16, 0x7FFF)), constant(i32x16, 13))
        scaled = builder.fmul(builder.bitcast(rest, f32x16.ir), constant(f32x16, 2.0**112))
        return builder.bitcast(builder.or_(builder.bitcast(scaled, i32), sign), f32x16.ir)

    return f32x16(f16x16), code


@intrinsic
def half_bits(typing_context, value):
    """A float32 as the 16 bits of the nearest float16, halves to even."""

    def code(context, builder, signature, args):
        if byte_dot() != "generic":
            return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), ir.IntType(16))
        return _half_by_integers(builder, args[0])

    return types.int16(types.float32), code


def _half_by_integers(builder, value):
    """The same without F16C, for which LLVM would call a function that is not there."""
    i32 = ir.IntType(32)

    def number(x):
        return ir.Constant(i32, x)

    bits = builder.bitcast(value, i32)
    sign = builder.and_(bits, number(0x80000000))
    size = builder.xor(bits, sign)
    odd = builder.and_(builder.lshr(size, number(13)), number(1))
    # normal: move the exponent's bias from 127 to 15, round the 13 bits that go
    rebased = builder.add(size, number((15 - 127) << 23 & 0xFFFFFFFF))
    normal = builder.lshr(builder.add(builder.add(rebased, number(0xFFF)), odd), number(13))
    # subnormal: adding 0.5 lets the hardware round at the right place
    magic = number(126 << 23)
    shifted = builder.fadd(builder.bitcast(size, ir.FloatType()), builder.bitcast(magic, ir.FloatType()))
    tiny = builder.sub(builder.bitcast(shifted, i32), magic)
    infinite = builder.icmp_unsigned(">", size, number(0x7F800000))
    huge = builder.select(infinite, number(0x7E00), number(0x7C00))  # not a number, or infinity
    result = builder.select(builder.icmp_unsigned("<", size, number(113 << 23)), tiny, normal)
    result = builder.select(builder.icmp_unsigned(">=", size, number(143 << 23)), huge, result)
    return builder.trunc(builder.or_(result, builder.lshr(sign, number(16))), ir.IntType(16))
