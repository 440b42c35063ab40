"""Vectors to and from memory."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.engine.simd.vectors import address, f16x16, f32x16, i8x64, i32x16, repeat

__all__ = ["load_f16x16", "load_f32x16", "load_i8x64", "repeat_four", "store_f32x16", "store_i8x16"]


def _loader(vector, doc):
    @intrinsic
    def load(typing_context, array, index):
        def code(context, builder, signature, args):
            place = address(context, builder, signature.args[0], *args)
            value = builder.load(builder.bitcast(place, vector.ir.as_pointer()))
            value.align = 1
            return value

        return vector(array, types.intp), code

    load.__doc__ = doc
    return load


load_i8x64 = _loader(i8x64, "64 bytes from ``array[index]`` on.")
load_f32x16 = _loader(f32x16, "16 float32 from ``array[index]`` on.")
load_f16x16 = _loader(f16x16, "16 float16 from ``array[index]`` (any 2-byte type) on.")


@intrinsic
def store_f32x16(typing_context, array, index, value):
    """Write 16 float32 from ``array[index]`` on."""

    def code(context, builder, signature, args):
        place = address(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(place, f32x16.ir.as_pointer())).align = 1
        return context.get_dummy_value()

    return types.void(array, types.intp, f32x16), code


@intrinsic
def repeat_four(typing_context, array, index):
    """The 4 bytes from ``array[index]`` on, 16 times."""

    def code(context, builder, signature, args):
        place = address(context, builder, signature.args[0], *args)
        four = builder.load(builder.bitcast(place, ir.IntType(32).as_pointer()))
        four.align = 1
        return builder.bitcast(repeat(builder, four, 16), i8x64.ir)

    return i8x64(array, types.intp), code


@intrinsic
def store_i8x16(typing_context, array, index, value):
    """Write the low bytes of 16 int32 from ``array[index]`` on."""

    def code(context, builder, signature, args):
        place = address(context, builder, signature.args[0], args[0], args[1])
        octets = ir.VectorType(ir.IntType(8), 16)
        builder.store(builder.trunc(args[2], octets), builder.bitcast(place, octets.as_pointer())).align = 1
        return context.get_dummy_value()

    return types.void(array, types.intp, i32x16), code
