"""SIMD vectors inside kernels: types and operations as LLVM instructions.

Portable LLVM IR wherever it is as good; x86 instructions only for the dot product of bytes, where no
portable form is recognised. Which one is chosen before compiling, from the CPU's features as Numba names
them (``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` are honoured): an instruction that the CPU lacks would
end the process.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import functools

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic, models, register_model


class Vector(types.Type):
    """A SIMD vector: ``count`` elements of ``bits`` bits, ``i`` for integers, ``f`` for floating point."""

    def __init__(self, kind: str, bits: int, count: int) -> None:
        self.kind, self.bits, self.count = kind, bits, count
        super().__init__(name=f"{kind}{bits}x{count}")

    @property
    def ir(self) -> ir.VectorType:
        """The LLVM type."""
        floats = {16: ir.HalfType, 32: ir.FloatType}
        element = floats[self.bits]() if self.kind == "f" else ir.IntType(self.bits)
        return ir.VectorType(element, self.count)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, kind.ir)


i8x64 = Vector("i", 8, 64)
i32x16 = Vector("i", 32, 16)
f16x16 = Vector("f", 16, 16)
f32x16 = Vector("f", 32, 16)


@functools.cache
def byte_dot() -> str:
    """Which instruction multiplies bytes here: ``avx512-vnni``, ``avx-vnni``, ``avx2`` or ``generic``."""
    features = cpu_target.target_context.codegen().magic_tuple()[2]
    known = {f[1:] for f in features.split(",") if f.startswith("+")}
    for wanted, label in (
        ({"avx512vnni", "avx512f", "avx512bw"}, "avx512-vnni"),
        ({"avxvnni"}, "avx-vnni"),
        ({"avx2"}, "avx2"),
    ):
        if wanted <= known:
            return label
    return "generic"


def _address(context, builder, kind, array, index):
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def _constant(vector, value):
    return ir.Constant(vector.ir, [value] * vector.count)


def _repeat(builder, value, count):
    """One scalar in all ``count`` lanes."""
    kind, lane = ir.VectorType(value.type, count), ir.IntType(32)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(lane, 0))
    return builder.shuffle_vector(
        first, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(lane, count), [0] * count)
    )


def _lanes(builder, value, chosen):
    """The chosen lanes of a vector, as a shorter (or longer) vector."""
    lane = ir.IntType(32)
    return builder.shuffle_vector(
        value,
        ir.Constant(value.type, ir.Undefined),
        ir.Constant(ir.VectorType(lane, len(chosen)), list(chosen)),
    )


def _joined(builder, parts):
    """Two vectors end to end."""
    first, second = parts
    total = 2 * first.type.count
    return builder.shuffle_vector(
        first, second, ir.Constant(ir.VectorType(ir.IntType(32), total), list(range(total)))
    )


# Loads and stores ---------------------------------------------------------------------------------


def _loader(vector, doc):
    @intrinsic
    def load(typing_context, array, index):
        def code(context, builder, signature, args):
            place = _address(context, builder, signature.args[0], *args)
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
        place = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(place, f32x16.ir.as_pointer())).align = 1
        return context.get_dummy_value()

    return types.void(array, types.intp, f32x16), code


@intrinsic
def repeat_four(typing_context, array, index):
    """The 4 bytes from ``array[index]`` on, 16 times."""

    def code(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], *args)
        four = builder.load(builder.bitcast(place, ir.IntType(32).as_pointer()))
        four.align = 1
        return builder.bitcast(_repeat(builder, four, 16), i8x64.ir)

    return i8x64(array, types.intp), code


# Bytes --------------------------------------------------------------------------------------------


@intrinsic
def and_low(typing_context, value):
    """The low 4 bits of each byte."""
    return i8x64(i8x64), lambda context, builder, signature, args: builder.and_(args[0], _constant(i8x64, 15))


@intrinsic
def shift_high(typing_context, value):
    """The high 4 bits of each byte."""
    return i8x64(i8x64), lambda context, builder, signature, args: builder.lshr(args[0], _constant(i8x64, 4))


@intrinsic
def splat_i32(typing_context, value):
    """An int32 in all 16 lanes."""
    return i32x16(types.int32), lambda context, builder, signature, args: _repeat(builder, args[0], 16)


@intrinsic
def dot_bytes(typing_context, total, unsigned, signed):
    """Add to each of 16 totals the dot product of its 4 unsigned and 4 signed bytes.

    Unsigned bytes up to 127 only where the CPU has AVX2 and no VNNI (its instruction saturates at 16 bits).
    """

    def code(context, builder, signature, args):
        return _DOTS[byte_dot()](builder, *args)

    return i32x16(i32x16, i8x64, i8x64), code


def _call(builder, name, result, args):
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def _dot_avx512(builder, total, unsigned, signed):
    return _call(builder, "llvm.x86.avx512.vpdpbusd.512", total.type, [total, unsigned, signed])


def _in_halves(work):
    """Do with two 256-bit halves what the CPU cannot do with 512 bits."""

    def both(builder, total, unsigned, signed):
        parts = []
        for half in range(2):
            lanes, octets = range(half * 8, half * 8 + 8), range(half * 32, half * 32 + 32)
            parts.append(
                work(
                    builder,
                    _lanes(builder, total, lanes),
                    _lanes(builder, unsigned, octets),
                    _lanes(builder, signed, octets),
                )
            )
        return _joined(builder, parts)

    return both


def _dot_avx_vnni(builder, total, unsigned, signed):
    return _call(builder, "llvm.x86.avx512.vpdpbusd.256", total.type, [total, unsigned, signed])


def _dot_avx2(builder, total, unsigned, signed):
    i16x16 = ir.VectorType(ir.IntType(16), 16)
    pairs = _call(builder, "llvm.x86.avx2.pmadd.ub.sw", i16x16, [unsigned, signed])
    fours = _call(builder, "llvm.x86.avx2.pmadd.wd", total.type, [pairs, ir.Constant(i16x16, [1] * 16)])
    return builder.add(total, fours)


def _dot_generic(builder, total, unsigned, signed):
    """Even and odd bytes as 16-bit halves of each lane; LLVM finds the multiply-add of pairs by itself."""
    wide = ir.VectorType(ir.IntType(16), 64)
    products = builder.mul(builder.zext(unsigned, wide), builder.sext(signed, wide))
    deep = ir.VectorType(ir.IntType(32), 16)
    for place in range(4):
        part = builder.sext(_lanes(builder, products, range(place, 64, 4)), deep)
        total = builder.add(total, part)
    return total


_DOTS = {
    "avx512-vnni": _dot_avx512,
    "avx-vnni": _in_halves(_dot_avx_vnni),
    "avx2": _in_halves(_dot_avx2),
    "generic": _dot_generic,
}


# Floating point -----------------------------------------------------------------------------------


@intrinsic
def zero_f32(typing_context):
    """16 zeros."""
    return f32x16(), lambda context, builder, signature, args: _constant(f32x16, 0.0)


@intrinsic
def to_float(typing_context, value):
    """int32 to float32."""
    return f32x16(i32x16), lambda context, builder, signature, args: builder.sitofp(args[0], f32x16.ir)


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
        sign = builder.shl(builder.and_(bits, _constant(i32x16, 0x8000)), _constant(i32x16, 16))
        rest = builder.shl(builder.and_(bits, _constant(i32x16, 0x7FFF)), _constant(i32x16, 13))
        scaled = builder.fmul(builder.bitcast(rest, f32x16.ir), _constant(f32x16, 2.0**112))
        return builder.bitcast(builder.or_(builder.bitcast(scaled, i32), sign), f32x16.ir)

    return f32x16(f16x16), code


@intrinsic
def add(typing_context, a, b):
    """a + b."""
    return f32x16(f32x16, f32x16), lambda context, builder, signature, args: builder.fadd(*args)


@intrinsic
def scale(typing_context, value, factor):
    """Each lane times one float32."""

    def code(context, builder, signature, args):
        return builder.fmul(args[0], _repeat(builder, args[1], 16))

    return f32x16(f32x16, types.float32), code


def _fma(builder, a, b, c):
    return _call(builder, "llvm.fma.v16f32", a.type, [a, b, c])


@intrinsic
def fma(typing_context, a, b, c):
    """a b + c, rounded once."""
    return f32x16(f32x16, f32x16, f32x16), lambda context, builder, signature, args: _fma(builder, *args)


@intrinsic
def fma_scalar(typing_context, a, factor, c):
    """a times one float32, + c, rounded once."""

    def code(context, builder, signature, args):
        return _fma(builder, args[0], _repeat(builder, args[1], 16), args[2])

    return f32x16(f32x16, types.float32, f32x16), code


@intrinsic
def subtract(typing_context, a, b):
    """a - b."""
    return f32x16(f32x16, f32x16), lambda context, builder, signature, args: builder.fsub(*args)


@intrinsic
def multiply(typing_context, a, b):
    """a b."""
    return f32x16(f32x16, f32x16), lambda context, builder, signature, args: builder.fmul(*args)


@intrinsic
def divide(typing_context, a, b):
    """a / b."""
    return f32x16(f32x16, f32x16), lambda context, builder, signature, args: builder.fdiv(*args)


@intrinsic
def splat_f32(typing_context, value):
    """A float32 in all 16 lanes."""
    return f32x16(types.float32), lambda context, builder, signature, args: _repeat(builder, args[0], 16)


@intrinsic
def larger(typing_context, a, b):
    """The larger of each pair of lanes."""

    def code(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return f32x16(f32x16, f32x16), code


@intrinsic
def magnitude(typing_context, value):
    """|a|."""
    return f32x16(f32x16), lambda context, builder, signature, args: _call(
        builder, "llvm.fabs.v16f32", args[0].type, [args[0]]
    )


def _fold(builder, value, work):
    """Combine all lanes in a fixed order: halves, quarters, eighths, pairs."""
    count = value.type.count
    while count > 1:
        count //= 2
        low, high = _lanes(builder, value, range(count)), _lanes(builder, value, range(count, 2 * count))
        value = work(low, high)
    return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))


@intrinsic
def sum_lanes(typing_context, value):
    """The sum of 16 lanes, in a fixed order."""
    return types.float32(f32x16), lambda context, builder, signature, args: _fold(
        builder, args[0], builder.fadd
    )


@intrinsic
def max_lanes(typing_context, value):
    """The largest of 16 lanes."""

    def code(context, builder, signature, args):
        return _fold(builder, args[0], lambda a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))

    return types.float32(f32x16), code


@intrinsic
def sum_lanes_i32(typing_context, value):
    """The sum of 16 int32 lanes."""
    return types.int32(i32x16), lambda context, builder, signature, args: _fold(builder, args[0], builder.add)


@intrinsic
def round_to_int(typing_context, value):
    """To the nearest int32, halves to even."""

    def code(context, builder, signature, args):
        whole = _call(builder, "llvm.rint.v16f32", args[0].type, [args[0]])
        return builder.fptosi(whole, i32x16.ir)

    return i32x16(f32x16), code


@intrinsic
def store_i8x16(typing_context, array, index, value):
    """Write the low bytes of 16 int32 from ``array[index]`` on."""

    def code(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        octets = ir.VectorType(ir.IntType(8), 16)
        builder.store(builder.trunc(args[2], octets), builder.bitcast(place, octets.as_pointer())).align = 1
        return context.get_dummy_value()

    return types.void(array, types.intp, i32x16), code


@intrinsic
def power_of_two(typing_context, exponent):
    """2 to an int32 between -126 and 127, by writing the exponent's bits."""

    def code(context, builder, signature, args):
        biased = builder.add(args[0], _constant(i32x16, 127))
        return builder.bitcast(builder.shl(biased, _constant(i32x16, 23)), f32x16.ir)

    return f32x16(i32x16), code


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


@intrinsic
def smaller(typing_context, a, b):
    """The smaller of each pair of lanes."""

    def code(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered("<", *args), *args)

    return f32x16(f32x16, f32x16), code


@intrinsic
def ticks(typing_context):
    """A clock of the processor: cycles or ticks of a fixed rate, for shares of a measured time."""

    def code(context, builder, signature, args):
        arm = cpu_target.target_context.codegen().magic_tuple()[0].startswith(("aarch64", "arm"))
        name = "llvm.readsteadycounter" if arm else "llvm.readcyclecounter"
        return _call(builder, name, ir.IntType(64), [])

    return types.int64(), code
