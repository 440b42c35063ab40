"""Arithmetic on 16 float32 lanes, and a clock."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

from llvmlite import ir
from numba import types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from whygpu.engine.simd.vectors import call, constant, f32x16, f64x16, fold, i32x16, repeat

__all__ = [
    "count_from",
    "exponent",
    "fma",
    "fma_scalar",
    "magnitude",
    "mantissa",
    "max_lanes",
    "narrow",
    "power_of_two",
    "round_to_int",
    "splat_f32",
    "sum_lanes",
    "ticks",
    "to_float",
    "widen",
    "zero_f32",
]


@intrinsic
def zero_f32(typing_context):
    """16 zeros."""
    return f32x16(), lambda context, builder, signature, args: constant(f32x16, 0.0)


@intrinsic
def to_float(typing_context, value):
    """int32 to float32."""
    return f32x16(i32x16), lambda context, builder, signature, args: builder.sitofp(args[0], f32x16.ir)


def _fma(builder, a, b, c):
    return call(builder, "llvm.fma.v16f32", a.type, [a, b, c])


@intrinsic
def fma(typing_context, a, b, c):
    """a b + c, rounded once."""
    return f32x16(f32x16, f32x16, f32x16), lambda context, builder, signature, args: _fma(builder, *args)


@intrinsic
def fma_scalar(typing_context, a, factor, c):
    """a times one float32, + c, rounded once."""

    def code(context, builder, signature, args):
        return _fma(builder, args[0], repeat(builder, args[1], 16), args[2])

    return f32x16(f32x16, types.float32, f32x16), code


@intrinsic
def splat_f32(typing_context, value):
    """A float32 in all 16 lanes."""
    return f32x16(types.float32), lambda context, builder, signature, args: repeat(builder, args[0], 16)


@intrinsic
def magnitude(typing_context, value):
    """|a|."""
    return f32x16(f32x16), lambda context, builder, signature, args: call(
        builder, "llvm.fabs.v16f32", args[0].type, [args[0]]
    )


@intrinsic
def sum_lanes(typing_context, value):
    """The sum of 16 lanes, in a fixed order."""
    return types.float32(f32x16), lambda context, builder, signature, args: fold(
        builder, args[0], builder.fadd
    )


@intrinsic
def count_from(typing_context, start):
    """start, start + 1, ... start + 15, as float32 or float64."""
    vector = f64x16 if start == types.float64 else f32x16
    lane = types.float64 if start == types.float64 else types.float32

    def code(context, builder, signature, args):
        steps = ir.Constant(vector.ir, [float(step) for step in range(16)])
        return builder.fadd(repeat(builder, args[0], 16), steps)

    return vector(lane), code


@intrinsic
def narrow(typing_context, value):
    """float64 to float32."""
    return f32x16(f64x16), lambda context, builder, signature, args: builder.fptrunc(args[0], f32x16.ir)


@intrinsic
def widen(typing_context, value):
    """float32 or int32 to float64."""
    work = "sitofp" if value == i32x16 else "fpext"
    return f64x16(value), lambda context, builder, signature, args: getattr(builder, work)(args[0], f64x16.ir)


@intrinsic
def exponent(typing_context, value):
    """The exponent of what is larger than zero: the whole part of its binary logarithm."""

    def code(context, builder, signature, args):
        bits = builder.bitcast(args[0], i32x16.ir)
        whole = builder.sub(builder.lshr(bits, constant(i32x16, 23)), constant(i32x16, 127))
        return builder.sitofp(whole, f32x16.ir)

    return f32x16(f32x16), code


@intrinsic
def mantissa(typing_context, value):
    """What is larger than zero without its exponent: from 1 up to 2."""

    def code(context, builder, signature, args):
        bits = builder.bitcast(args[0], i32x16.ir)
        bits = builder.or_(builder.and_(bits, constant(i32x16, (1 << 23) - 1)), constant(i32x16, 127 << 23))
        return builder.bitcast(bits, f32x16.ir)

    return f32x16(f32x16), code


@intrinsic
def max_lanes(typing_context, value):
    """The largest of 16 lanes."""

    def code(context, builder, signature, args):
        return fold(builder, args[0], lambda a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))

    return types.float32(f32x16), code


@intrinsic
def round_to_int(typing_context, value):
    """To the nearest int32, halves to even."""

    def code(context, builder, signature, args):
        whole = call(builder, "llvm.rint.v16f32", args[0].type, [args[0]])
        return builder.fptosi(whole, i32x16.ir)

    return i32x16(f32x16), code


@intrinsic
def power_of_two(typing_context, exponent):
    """2 to an int32 between -126 and 127, by writing the exponent's bits."""

    def code(context, builder, signature, args):
        biased = builder.add(args[0], constant(i32x16, 127))
        return builder.bitcast(builder.shl(biased, constant(i32x16, 23)), f32x16.ir)

    return f32x16(i32x16), code


@intrinsic
def ticks(typing_context):
    """A clock of the processor: cycles or ticks of a fixed rate, for shares of a measured time."""

    def code(context, builder, signature, args):
        arm = cpu_target.target_context.codegen().magic_tuple()[0].startswith(("aarch64", "arm"))
        name = "llvm.readsteadycounter" if arm else "llvm.readcyclecounter"
        return call(builder, name, ir.IntType(64), [])

    return types.int64(), code
