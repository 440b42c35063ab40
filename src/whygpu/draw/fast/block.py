"""Eight pixels of a row against one triangle at once, as vector instructions.

Numba's loops would be vectorised only where they are long, and most triangles are a few pixels wide.
The vectors are plain LLVM, so every CPU gets them in the width that it has.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg"

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.engine.simd.memory import bring
from whygpu.engine.simd.vectors import opaque

__all__ = [
    "EMPTY",
    "LANES",
    "STEP",
    "WORD",
    "changes",
    "depth_of",
    "fill_block",
    "key_of",
    "lowest",
    "pair",
    "prefetch",
    "ramp",
    "test_block",
]

LANES = 8
EMPTY = 0x3F800000 << 32
"""The key of a pixel that shows nothing: the bits of 1.0, the far plane's depth, above the lowest id."""

STEP = 4
"""Pixels that ``ramp`` writes."""
WORD = 64
"""Pixels that ``changes`` looks at."""

_I64 = ir.VectorType(ir.IntType(64), LANES)
_F64 = ir.VectorType(ir.DoubleType(), LANES)


def _splat(builder, value, count=LANES):
    kind = ir.VectorType(value.type, count)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), lanes)


_LANE = ir.Constant(_I64, list(range(LANES)))
_NEVER = ir.Constant(_I64, [2**63 - 1] * LANES)


def _keys_of(builder, depth, triangle):
    """Eight keys; ``depth`` as for ``test_block``."""
    row, slope, column = (builder.extract_value(depth, i) for i in range(3))
    columns = builder.fadd(_splat(builder, column), ir.Constant(_F64, [float(i) for i in range(LANES)]))
    z = builder.fadd(_splat(builder, row), builder.fmul(_splat(builder, slope), columns))
    nothing = ir.Constant(_F64, [0.0] * LANES)
    z = builder.select(builder.fcmp_ordered(">", z, nothing), z, nothing)
    bits = builder.bitcast(
        builder.fptrunc(z, ir.VectorType(ir.FloatType(), LANES)), ir.VectorType(ir.IntType(32), LANES)
    )
    high = builder.shl(builder.zext(bits, _I64), ir.Constant(_I64, [32] * LANES))
    return builder.or_(high, _splat(builder, builder.zext(triangle, ir.IntType(64))))


def _keep_nearer(context, builder, kind, keys, at, new):
    """Leave the smaller one of each key in memory and the new one."""
    array = context.make_array(kind)(context, builder, keys)
    place = builder.bitcast(builder.gep(array.data, [at]), _I64.as_pointer())
    old = builder.load(place)
    old.align = 8
    old = opaque(
        builder, old
    )  # or LLVM would store under a mask, slow on AMD (README's layers, Zen 1: 25.1, not 23.2 ms)
    builder.store(builder.select(builder.icmp_signed("<", new, old), new, old), place).align = 8


@intrinsic
def test_block(typing_context, keys, at, edge, across, depth, triangle):
    """Where the triangle covers a pixel and is nearer, put its key into ``keys[at : at + 8]``.

    ``edge`` and ``across`` hold the three edge functions at the first pixel and what they gain for each
    pixel; ``depth`` is (the row's depth at the anchor's column, the slope, columns from the anchor to the
    first pixel). A key is the depth's float32 bits above the triangle's id: the smaller key is nearer, or
    as near with a lower id.
    """

    def code(context, builder, signature, args):
        keys, at, edge, across, depth, triangle = args
        outside = None
        for i in range(3):
            start, step = builder.extract_value(edge, i), builder.extract_value(across, i)
            value = builder.add(_splat(builder, start), builder.mul(_splat(builder, step), _LANE))
            outside = value if outside is None else builder.or_(outside, value)
        covered = builder.icmp_signed(">=", outside, ir.Constant(_I64, [0] * LANES))
        new = builder.select(covered, _keys_of(builder, depth, triangle), _NEVER)
        _keep_nearer(context, builder, signature.args[0], keys, at, new)
        return context.get_dummy_value()

    return types.void(keys, types.intp, edge, across, depth, types.int32), code


@intrinsic
def fill_block(typing_context, keys, at, depth, triangle):
    """As ``test_block``, where the triangle is known to cover all eight pixels."""

    def code(context, builder, signature, args):
        keys, at, depth, triangle = args
        _keep_nearer(context, builder, signature.args[0], keys, at, _keys_of(builder, depth, triangle))
        return context.get_dummy_value()

    return types.void(keys, types.intp, depth, types.int32), code


@intrinsic
def pair(typing_context, array, at):
    """The eight bytes from ``array[at]`` on (int32), as they lie in memory."""

    def code(context, builder, signature, args):
        view, word = context.make_array(signature.args[0])(context, builder, args[0]), ir.IntType(64)
        value = builder.load(builder.bitcast(builder.gep(view.data, [args[1]]), word.as_pointer()))
        value.align = 4
        return value

    return types.int64(array, types.uintp), code


@intrinsic
def key_of(typing_context, depth, triangle):
    """The key of a depth (float64; below zero is zero) and a triangle (int64)."""

    def code(context, builder, signature, args):
        nothing = ir.Constant(ir.DoubleType(), 0.0)
        depth = builder.select(builder.fcmp_ordered(">", args[0], nothing), args[0], nothing)
        bits = builder.bitcast(builder.fptrunc(depth, ir.FloatType()), ir.IntType(32))
        high = builder.shl(builder.zext(bits, ir.IntType(64)), ir.Constant(ir.IntType(64), 32))
        return builder.or_(high, args[1])

    return types.int64(types.float64, types.int64), code


@intrinsic
def depth_of(typing_context, key):
    """The depth in a key, float32."""

    def code(context, builder, signature, args):
        high = builder.lshr(args[0], ir.Constant(ir.IntType(64), 32))
        return builder.bitcast(builder.trunc(high, ir.IntType(32)), ir.FloatType())

    return types.float32(types.int64), code


@intrinsic
def changes(typing_context, array, at, previous):
    """A bit for each of ``array[at : at + 64]`` (int32): whether it differs from the one before it.

    ``previous`` is the one before the first.
    """

    def code(context, builder, signature, args):
        word, many = ir.IntType(32), ir.VectorType(ir.IntType(32), WORD)
        view = context.make_array(signature.args[0])(context, builder, args[0])
        place = builder.bitcast(builder.gep(view.data, [args[1]]), many.as_pointer())
        here = builder.load(place)
        here.align = 4
        last = builder.insert_element(ir.Constant(many, ir.Undefined), args[2], ir.Constant(word, WORD - 1))
        lanes = ir.Constant(many, [2 * WORD - 1, *range(WORD - 1)])
        before = builder.shuffle_vector(here, last, lanes)
        return builder.bitcast(builder.icmp_signed("!=", here, before), ir.IntType(WORD))

    return types.int64(array, types.intp, types.int32), code


@intrinsic
def lowest(typing_context, mask):
    """Position of the lowest set bit."""

    def code(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), code


@intrinsic
def prefetch(typing_context, array, at):
    """Begin to bring ``array[at]`` of a flat array into the cache, without waiting for it."""

    def code(context, builder, signature, args):
        view = context.make_array(signature.args[0])(context, builder, args[0])
        bring(builder, builder.ptrtoint(builder.gep(view.data, [args[1]]), ir.IntType(64)))
        return context.get_dummy_value()

    return types.void(array, types.intp), code


@intrinsic
def ramp(typing_context, array, at, start, slope, first):
    """Write ``start + slope * i`` to ``array[at : at + STEP]`` (float32), for i from ``first`` on."""

    def code(context, builder, signature, args):
        many = ir.VectorType(ir.FloatType(), STEP)
        view = context.make_array(signature.args[0])(context, builder, args[0])
        place = builder.bitcast(builder.gep(view.data, [args[1]]), many.as_pointer())
        start, slope = (_splat(builder, value, STEP) for value in args[2:4])
        lanes = builder.sitofp(
            builder.add(
                _splat(builder, builder.trunc(args[4], ir.IntType(32)), STEP),
                ir.Constant(ir.VectorType(ir.IntType(32), STEP), list(range(STEP))),
            ),
            many,
        )
        builder.store(builder.fadd(start, builder.fmul(slope, lanes)), place).align = 4
        return context.get_dummy_value()

    return types.void(array, types.intp, types.float32, types.float32, types.intp), code
