"""SIMD vectors inside kernels: types and operations as LLVM instructions.

Portable LLVM IR wherever it is as good; x86 instructions only for the dot product of bytes, where no
portable form is recognised. Which one is chosen before compiling, from the CPU's features as Numba names
them (``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` are honoured): an instruction that the CPU lacks would
end the process.
"""

from whygpu.engine.simd.floats import (
    add,
    divide,
    fma,
    fma_scalar,
    larger,
    magnitude,
    max_lanes,
    multiply,
    power_of_two,
    round_to_int,
    scale,
    smaller,
    splat_f32,
    subtract,
    sum_lanes,
    ticks,
    to_float,
    zero_f32,
)
from whygpu.engine.simd.halves import half_bits, half_to_float
from whygpu.engine.simd.memory import (
    load_f16x16,
    load_f32x16,
    load_i8x64,
    repeat_four,
    store_f32x16,
    store_i8x16,
)
from whygpu.engine.simd.octets import and_low, dot_bytes, shift_high, splat_i32, sum_lanes_i32
from whygpu.engine.simd.vectors import Vector, byte_dot, f16x16, f32x16, i8x64, i32x16

__all__ = [
    "Vector",
    "add",
    "and_low",
    "byte_dot",
    "divide",
    "dot_bytes",
    "f16x16",
    "f32x16",
    "fma",
    "fma_scalar",
    "half_bits",
    "half_to_float",
    "i8x64",
    "i32x16",
    "larger",
    "load_f16x16",
    "load_f32x16",
    "load_i8x64",
    "magnitude",
    "max_lanes",
    "multiply",
    "power_of_two",
    "repeat_four",
    "round_to_int",
    "scale",
    "shift_high",
    "smaller",
    "splat_f32",
    "splat_i32",
    "store_f32x16",
    "store_i8x16",
    "subtract",
    "sum_lanes",
    "sum_lanes_i32",
    "ticks",
    "to_float",
    "zero_f32",
]
