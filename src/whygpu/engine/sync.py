"""A spin barrier for the engine's threads, and calls by address, as LLVM instructions inside the kernels."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import sys

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from whygpu.engine.jit import inlined

__all__ = ["call", "claim", "wait"]

SPINS = 4096
"""Looks at the barrier before a thread gives its core away: about 5 microseconds."""

_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


def _address(context, builder, kind, array, index):
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def _atomic_add(typing_context, array, index, amount):
    """Add to ``array[index]`` in one step; returns the value before."""

    def code(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("add", place, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), code


@intrinsic
def _atomic_load(typing_context, array, index):
    """Read ``array[index]`` as the other threads left it."""

    def code(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(place, "seq_cst", 8)

    return types.int64(array, types.intp), code


@intrinsic
def _atomic_store(typing_context, array, index, value):
    """Write ``array[index]`` so that the other threads see it."""

    def code(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store_atomic(args[2], place, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), code


@intrinsic
def _yield_core(typing_context):
    """Let another thread run on this core."""

    def code(context, builder, signature, args):
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), _YIELD)
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), code


@inlined
def wait(barrier, size):
    """Wait until all ``size`` threads are here. ``barrier`` is int64: [arrived, generation, ...]."""
    if size == 1:
        return
    generation = _atomic_load(barrier, 1)
    if _atomic_add(barrier, 0, 1) == size - 1:
        _atomic_store(barrier, 0, 0)
        _atomic_add(barrier, 1, 1)
        return
    spins = 0
    while _atomic_load(barrier, 1) == generation:
        spins += 1
        if spins > SPINS:
            _yield_core()


@inlined
def claim(counter, place):
    """Take the next number of ``counter[place]`` (int64); no two threads get the same one."""
    return _atomic_add(counter, place, 1)


@intrinsic
def call(typing_context, function, a, b, c, d, e, f, g, h):
    """Call a function of eight int64 numbers by its address (``jit.address``)."""

    def code(context, builder, signature, args):
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word] * 8)
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9), code
