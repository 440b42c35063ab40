"""Vectors to and from memory: ``array[index]``, or the ``index``th element behind an address (int64)."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.engine.simd.vectors import (
    address,
    call,
    constant,
    f16x16,
    f32x16,
    f64x16,
    i8x64,
    i32x16,
    many_registers,
    repeat,
)

__all__ = [
    "address_of",
    "bring",
    "fetch_ahead",
    "gather_i32",
    "load_bf16x16",
    "load_f16x16",
    "load_f32",
    "load_f32x16",
    "load_f64x16",
    "load_i8x16",
    "load_i8x64",
    "load_i32",
    "load_i32x16",
    "load_i64",
    "load_u8x16",
    "repeat_four",
    "repeat_i32",
    "store_f32",
    "store_f32x16",
    "store_f64x16",
    "store_i8x16",
    "store_i16",
    "store_i32",
    "store_i32x16",
    "store_i64",
]

OCTETS = ir.VectorType(ir.IntType(8), 16)


def _read(context, builder, kind, args, stored):
    """A vector of type ``stored`` from wherever it begins."""
    place = address(context, builder, kind, *args, stored.element)
    value = builder.load(builder.bitcast(place, stored.as_pointer()))
    value.align = 1
    return value


def _loader(vector, doc, stored=None, widen=None):
    @intrinsic
    def load(typing_context, array, index):
        def code(context, builder, signature, args):
            value = _read(context, builder, signature.args[0], args, stored or vector.ir)
            return widen(builder, value) if widen else value

        return vector(array, types.intp), code

    load.__doc__ = doc
    return load


def _widen_bf16(builder, value):
    bits = builder.shl(builder.zext(value, i32x16.ir), constant(i32x16, 16))
    return builder.bitcast(bits, f32x16.ir)


load_i8x64 = _loader(i8x64, "64 bytes from ``array[index]`` on.")
load_f32x16 = _loader(f32x16, "16 float32 from ``array[index]`` on.")
load_f64x16 = _loader(f64x16, "16 float64 from ``array[index]`` on.")
load_i32x16 = _loader(i32x16, "16 int32 from ``array[index]`` on.")
load_f16x16 = _loader(f16x16, "16 float16 from ``array[index]`` (any 2-byte type) on.")
load_bf16x16 = _loader(f32x16, "16 bfloat16 as float32.", ir.VectorType(ir.IntType(16), 16), _widen_bf16)
load_u8x16 = _loader(
    i32x16, "16 unsigned bytes as int32.", OCTETS, lambda builder, value: builder.zext(value, i32x16.ir)
)
load_i8x16 = _loader(
    i32x16, "16 signed bytes as int32.", OCTETS, lambda builder, value: builder.sext(value, i32x16.ir)
)


def _scalars(kind, element):
    @intrinsic
    def load(typing_context, place, index):
        """One number behind an address."""

        def code(context, builder, signature, args):
            value = builder.load(address(context, builder, signature.args[0], *args, element))
            value.align = kind.bitwidth // 8
            return value

        return kind(types.int64, types.intp), code

    @intrinsic
    def store(typing_context, place, index, value):
        """Write one number behind an address."""

        def code(context, builder, signature, args):
            where = address(context, builder, signature.args[0], args[0], args[1], element)
            builder.store(args[2], where).align = kind.bitwidth // 8
            return context.get_dummy_value()

        return types.void(types.int64, types.intp, kind), code

    return load, store


load_f32, store_f32 = _scalars(types.float32, ir.FloatType())
load_i32, store_i32 = _scalars(types.int32, ir.IntType(32))
load_i64, store_i64 = _scalars(types.int64, ir.IntType(64))
_, store_i16 = _scalars(types.int16, ir.IntType(16))


@intrinsic
def address_of(typing_context, array, index):
    """The address of ``array[index]``."""

    def code(context, builder, signature, args):
        return builder.ptrtoint(address(context, builder, signature.args[0], *args), ir.IntType(64))

    return types.int64(array, types.intp), code


def _storer(vector, doc):
    @intrinsic
    def store(typing_context, array, index, value):
        def code(context, builder, signature, args):
            place = address(context, builder, signature.args[0], args[0], args[1], vector.ir.element)
            builder.store(args[2], builder.bitcast(place, vector.ir.as_pointer())).align = 1
            return context.get_dummy_value()

        return types.void(array, types.intp, vector), code

    store.__doc__ = doc
    return store


store_f32x16 = _storer(f32x16, "Write 16 float32 from ``array[index]`` on.")
store_f64x16 = _storer(f64x16, "Write 16 float64 from ``array[index]`` on.")
store_i32x16 = _storer(i32x16, "Write 16 int32 from ``array[index]`` on.")


@intrinsic
def gather_i32(typing_context, array, first, index):
    """16 int32, each the ``index``th behind the ``first`` four bytes of an array."""

    def code(context, builder, signature, args):
        word, wide = ir.IntType(32), ir.VectorType(ir.IntType(64), 16)
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        start = builder.gep(builder.bitcast(data, word.as_pointer()), [args[1]])
        away = builder.shl(builder.sext(args[2], wide), ir.Constant(wide, [2] * 16))
        places = builder.add(repeat(builder, builder.ptrtoint(start, wide.element), 16), away)
        places = builder.inttoptr(places, ir.VectorType(word.as_pointer(), 16))
        every = ir.Constant(ir.VectorType(ir.IntType(1), 16), [1] * 16)
        arguments = [places, ir.Constant(word, 4), every, constant(i32x16, 0)]
        return call(builder, "llvm.masked.gather.v16i32.v16p0", i32x16.ir, arguments)

    return i32x16(array, types.intp, i32x16), code


@intrinsic
def repeat_four(typing_context, array, index):
    """The 4 bytes from ``array[index]`` on, 16 times."""

    def code(context, builder, signature, args):
        place = address(context, builder, signature.args[0], *args, ir.IntType(8))
        four = builder.load(builder.bitcast(place, ir.IntType(32).as_pointer()))
        four.align = 1
        return builder.bitcast(repeat(builder, four, 16), i8x64.ir)

    return i8x64(array, types.intp), code


@intrinsic
def repeat_i32(typing_context, place, index, shift):
    """An int32 behind an address, moved up by ``shift`` bits, in all 16 lanes."""

    def code(context, builder, signature, args):
        number = builder.load(address(context, builder, signature.args[0], *args[:2], ir.IntType(32)))
        number.align = 4
        up = repeat(builder, builder.trunc(args[2], ir.IntType(32)), 16)
        return builder.shl(repeat(builder, number, 16), up)

    return i32x16(types.int64, types.intp, types.int64), code


@intrinsic
def store_i8x16(typing_context, array, index, value):
    """Write the low bytes of 16 int32 from ``array[index]`` on."""

    def code(context, builder, signature, args):
        place = address(context, builder, signature.args[0], args[0], args[1], ir.IntType(8))
        builder.store(builder.trunc(args[2], OCTETS), builder.bitcast(place, OCTETS.as_pointer())).align = 1
        return context.get_dummy_value()

    return types.void(array, types.intp, i32x16), code


def bring(builder, place):
    """Begin to bring the cache line at an address (int64), without waiting for it: to read, to keep, data."""
    pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    how = [ir.Constant(word, number) for number in (0, 3, 1)]
    call(builder, "llvm.prefetch.p0", ir.VoidType(), [builder.inttoptr(place, pointer), *how])


AHEAD = 3072
"""Bytes."""


@intrinsic
def fetch_ahead(typing_context, place):
    """Begin to bring the cache line that a loop will read in a while, which now is at an address.

    Nothing where registers have 512 bits: those cores keep ahead by themselves. A Zen 1 reads a quarter
    faster with it.
    """

    def code(context, builder, signature, args):
        if not many_registers():
            bring(builder, builder.add(args[0], ir.Constant(ir.IntType(64), AHEAD)))
        return context.get_dummy_value()

    return types.void(types.int64), code
