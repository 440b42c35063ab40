"""SIMD vector types for kernels, and what their instructions are built from."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import functools

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import models, register_model

__all__ = [
    "Vector",
    "address",
    "byte_dot",
    "call",
    "constant",
    "f16x16",
    "f32x16",
    "f64x16",
    "fold",
    "i8x64",
    "i16x32",
    "i32x16",
    "in_halves",
    "joined",
    "lanes",
    "many_registers",
    "opaque",
    "repeat",
]


class Vector(types.Type):
    """A SIMD vector: ``count`` elements of ``bits`` bits, ``i`` for integers, ``f`` for floating point."""

    def __init__(self, kind: str, bits: int, count: int) -> None:
        self.kind, self.bits, self.count = kind, bits, count
        super().__init__(name=f"{kind}{bits}x{count}")

    @property
    def ir(self) -> ir.VectorType:
        """The LLVM type."""
        floats = {16: ir.HalfType, 32: ir.FloatType, 64: ir.DoubleType}
        element = floats[self.bits]() if self.kind == "f" else ir.IntType(self.bits)
        return ir.VectorType(element, self.count)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, kind.ir)


i8x64 = Vector("i", 8, 64)
i16x32 = Vector("i", 16, 32)
i32x16 = Vector("i", 32, 16)
f16x16 = Vector("f", 16, 16)
f32x16 = Vector("f", 32, 16)
f64x16 = Vector("f", 64, 16)


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


def many_registers() -> bool:
    """Whether there are 32 registers of 512 bits: room for larger tiles."""
    return byte_dot() == "avx512-vnni"


def address(context, builder, kind, array, index, element=None):
    """Where ``array[index]`` lies; ``array`` may be an address (an integer) of ``element``s too."""
    if isinstance(kind, types.Integer):
        return builder.gep(builder.inttoptr(array, element.as_pointer()), [index])
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def constant(vector, value):
    """One value in all lanes of a vector type."""
    return ir.Constant(vector.ir, [value] * vector.count)


def repeat(builder, value, count):
    """One scalar in all ``count`` lanes."""
    kind, lane = ir.VectorType(value.type, count), ir.IntType(32)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(lane, 0))
    return builder.shuffle_vector(
        first, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(lane, count), [0] * count)
    )


def lanes(builder, value, chosen):
    """The chosen lanes of a vector, as a shorter (or longer) vector."""
    lane = ir.IntType(32)
    return builder.shuffle_vector(
        value,
        ir.Constant(value.type, ir.Undefined),
        ir.Constant(ir.VectorType(lane, len(chosen)), list(chosen)),
    )


def joined(builder, parts):
    """Two vectors end to end."""
    first, second = parts
    total = 2 * first.type.count
    return builder.shuffle_vector(
        first, second, ir.Constant(ir.VectorType(ir.IntType(32), total), list(range(total)))
    )


def call(builder, name, result, args):
    """Call an LLVM intrinsic by name."""
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def in_halves(work):
    """Do with both halves of vectors what the CPU cannot do with 512 bits: ``work(builder, *vectors)``."""

    def both(builder, *vectors):
        parts = []
        for half in range(2):
            chosen = [range(half * v.type.count // 2, (half + 1) * v.type.count // 2) for v in vectors]
            parts.append(work(builder, *(lanes(builder, v, c) for v, c in zip(vectors, chosen, strict=True))))
        return joined(builder, parts)

    return both


def opaque(builder, value):
    """The same value, of which LLVM's patterns do not see where it comes from (its ``freeze``)."""
    instruction = ir.Instruction(builder.block, value.type, "freeze", [value])
    builder._insert(instruction)
    return instruction


def fold(builder, value, work):
    """Combine all lanes in a fixed order: halves, quarters, eighths, pairs."""
    count = value.type.count
    while count > 1:
        count //= 2
        low, high = lanes(builder, value, range(count)), lanes(builder, value, range(count, 2 * count))
        value = work(low, high)
    return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))
