"""``+ - * /`` of 16 lanes, ``& | << >>`` of whole ones, and functions that take one number or 16 lanes alike.

So a formula reads as it does for one number, and may serve both. A product and the sum that it goes into may
be rounded once, where the CPU can multiply and add in one instruction.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import operator

from llvmlite import ir
from numba import types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic

from whygpu.engine.simd.vectors import (
    Vector,
    byte_dot,
    call,
    constant,
    f32x16,
    f64x16,
    i32x16,
    in_halves,
    many_registers,
    repeat,
)

__all__ = ["choose", "floor", "inverse_root", "larger", "product", "quick_root", "smaller", "truncate"]

_TOGETHER = {"flags": ("contract",)}
_LANE = {f32x16: types.float32, f64x16: types.float64, i32x16: types.int32}


def _is_number(vector, kind):
    return isinstance(kind, types.Integer if vector == i32x16 else types.Float)


def _matched(kinds):
    """The vector type among some types, and for each that or its lane; None where they do not match."""
    vectors = {kind for kind in kinds if isinstance(kind, Vector)}
    if len(vectors) != 1:
        return None
    vector = vectors.pop()
    if vector not in _LANE or not all(kind == vector or _is_number(vector, kind) for kind in kinds):
        return None
    return vector, [kind if kind == vector else _LANE[vector] for kind in kinds]


def _wide(builder, values, kinds, vector):
    """All values as vectors."""
    return [
        value if kind == vector else repeat(builder, value, 16)
        for value, kind in zip(values, kinds, strict=True)
    ]


def _register(function, name, vectors=tuple(_LANE)):
    """Teach Numba an operator: ``name`` is LLVM's, without its first letter for floating point."""

    @infer_global(function)
    class Operation(AbstractTemplate):
        def generic(self, args, kws):
            found = _matched(args)
            return signature(found[0], *found[1]) if found and found[0] in vectors else None

    def code(context, builder, signature, args):
        vector = signature.return_type
        a, b = _wide(builder, args, signature.args, vector)
        if vector == i32x16:
            return getattr(builder, name)(a, b)
        return getattr(builder, "f" + name)(a, b, **_TOGETHER)

    for kinds in ((Vector, Vector), (Vector, types.Number), (types.Number, Vector)):
        lower_builtin(function, *kinds)(code)


_register(operator.add, "add")
_register(operator.sub, "sub")
_register(operator.mul, "mul")
_register(operator.truediv, "div", (f32x16, f64x16))
_register(operator.and_, "and_", (i32x16,))
_register(operator.or_, "or_", (i32x16,))
_register(operator.lshift, "shl", (i32x16,))
_register(operator.rshift, "ashr", (i32x16,))


@intrinsic
def product(typing_context, a, b):
    """a b of float64, rounded by itself: for sums that must have the same bits everywhere."""

    def code(context, builder, signature, args):
        return builder.fmul(*args)

    return f64x16(f64x16, f64x16), code


def _common(kinds):
    """As ``_matched``; numbers alone are float32."""
    return _matched(kinds) or (types.float32, [types.float32] * len(kinds))


def _greater(builder, kind, a, b):
    return builder.icmp_signed(">", a, b) if kind == i32x16 else builder.fcmp_ordered(">", a, b)


def _comparing(swapped, doc):
    @intrinsic
    def pick(typing_context, a, b):
        kind, kinds = _common((a, b))

        def code(context, builder, signature, args):
            a, b = _wide(builder, args, kinds, kind) if isinstance(kind, Vector) else args
            return builder.select(_greater(builder, kind, *((b, a) if swapped else (a, b))), a, b)

        return kind(*kinds), code

    pick.__doc__ = doc
    return pick


larger = _comparing(False, "The larger of two; the second one where the first is NaN.")
smaller = _comparing(True, "The smaller of two; the second one where the first is NaN.")


@intrinsic
def choose(typing_context, x, limit, above, below):
    """``above`` where ``x > limit``, else ``below``."""
    kind, kinds = _common((x, limit, above, below))

    def code(context, builder, signature, args):
        x, limit, above, below = _wide(builder, args, kinds, kind) if isinstance(kind, Vector) else args
        return builder.select(_greater(builder, kind, x, limit), above, below)

    return kind(*kinds), code


@intrinsic
def truncate(typing_context, x):
    """To int32, towards zero."""
    kind, _ = _common((x,))
    wide = isinstance(kind, Vector)

    def code(context, builder, signature, args):
        return builder.fptosi(args[0], i32x16.ir if wide else ir.IntType(32))

    return (i32x16 if wide else types.int32)(kind), code


def _function(builder, name, x):
    """An LLVM function of one argument, number or vector."""
    bits = 64 if "double" in str(x.type) else 32
    many = f"v{x.type.count}" if isinstance(x.type, ir.VectorType) else ""
    return call(builder, f"llvm.{name}.{many}f{bits}", x.type, [x])


@intrinsic
def floor(typing_context, x):
    """The largest whole number that is not above."""
    kind, _ = _common((x,))
    return kind(kind), lambda context, builder, signature, args: _function(builder, "floor", args[0])


def _has_guess(kind):
    """Whether the CPU guesses inverse roots, so that neither a root nor a division is needed."""
    return kind == f32x16 and byte_dot() != "generic"


def _guess(builder, x):
    """1 / root: to 14 bits as AVX-512 has it, to 11 as AVX has."""
    if many_registers():
        every = ir.Constant(ir.IntType(16), 0xFFFF)
        return call(builder, "llvm.x86.avx512.rsqrt14.ps.512", x.type, [x, constant(f32x16, 0.0), every])

    def half(builder, part):
        return call(builder, "llvm.x86.avx.rsqrt.ps.256", part.type, [part])

    return in_halves(half)(builder, x)


@intrinsic
def inverse_root(typing_context, x):
    """1 / root of what is larger than zero, to about 2**-22 of it."""
    kind, _ = _common((x,))

    def code(context, builder, signature, args):
        x = args[0]
        if not _has_guess(kind):
            one = ir.Constant(x.type, [1.0] * 16) if isinstance(kind, Vector) else ir.Constant(x.type, 1.0)
            return builder.fdiv(one, _function(builder, "sqrt", x))
        guess = _guess(builder, x)  # and one step of Newton's: a third of the time of root and division
        product = builder.fmul(x, guess)
        rest = builder.fsub(constant(f32x16, 1.0), builder.fmul(product, guess, **_TOGETHER), **_TOGETHER)
        half = builder.fmul(guess, constant(f32x16, 0.5))
        return builder.fadd(guess, builder.fmul(half, rest, **_TOGETHER), **_TOGETHER)

    return kind(kind), code


@intrinsic
def quick_root(typing_context, x):
    """The root of what is larger than zero, to 2**-11 of it at least: enough for a byte."""
    kind, _ = _common((x,))

    def code(context, builder, signature, args):
        if not _has_guess(kind):
            return _function(builder, "sqrt", args[0])
        return builder.fmul(args[0], _guess(builder, args[0]))

    return kind(kind), code
