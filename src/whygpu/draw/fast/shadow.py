"""How much of a light arrives at a place; the rules are those of ``portable.shadow``, to the last bit."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from whygpu.draw.fast.fields import (
    LX,
    LY,
    LZ,
    NX,
    NY,
    NZ,
    SMOOTH_X,
    SMOOTH_Y,
    SMOOTH_Z,
    STRENGTH,
    STRIDE,
    WX,
    WY,
    WZ,
)  # fmt: skip
from whygpu.draw.fast.vectors import LANES
from whygpu.engine.jit import inlined

__all__ = ["BEYOND", "STEEP", "WIDER", "shade_lamp"]

STEEP = 0.1
"""The smallest cosine between a surface and a light that the bias follows."""
WIDER = 1.5
"""Texels over which the filter sees the surface rise."""

BEYOND = 4
"""Floats that must lie in memory behind the last map, since texels are read four at a time."""

_FACE = 3 * STRIDE  # after column, row and depth in the working space


@intrinsic
def _behind(typing_context, maps, first, side, depth, above, below):
    """Of three columns of 3 x 3 texels the weights of those that lie no nearer than ``depth``, float32.

    The first texel is number ``first`` of all ``maps``; rows weigh ``above``, 1 and ``below``.
    """

    def code(context, builder, signature, args):
        four, wide = ir.VectorType(ir.FloatType(), 4), ir.VectorType(ir.DoubleType(), 4)
        view = context.make_array(signature.args[0])(context, builder, args[0])

        def splat(value):
            one = builder.insert_element(
                ir.Constant(ir.VectorType(value.type, 4), ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
            )
            return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4))

        limit, place, total = splat(args[3]), args[1], None
        for weight in (splat(args[4]), ir.Constant(four, [1.0] * 4), splat(args[5])):
            row = builder.load(builder.bitcast(builder.gep(view.data, [place]), four.as_pointer()))
            row.align = 4
            lies = builder.fcmp_ordered("<=", limit, builder.fpext(row, wide))
            share = builder.select(lies, weight, ir.Constant(four, [0.0] * 4))
            total = share if total is None else builder.fadd(total, share)
            place = builder.add(place, args[2])
        columns = [builder.extract_element(total, ir.Constant(ir.IntType(32), i)) for i in range(3)]
        return context.make_tuple(builder, signature.return_type, columns)

    whole = types.int64
    result = types.UniTuple(types.float32, 3)
    return result(maps, whole, whole, types.float64, types.float32, types.float32), code


@inlined
def _face(lamp, x, y, z):
    """Which map shows a place: a point light's has the largest coordinate's axis and sign."""
    first = np.int64(lamp[13])
    if lamp[6] != 1:
        return first
    x, y, z = x - lamp[7], y - lamp[8], z - lamp[9]
    ax, ay, az = abs(x), abs(y), abs(z)
    if ax >= ay and ax >= az:
        return first + (x < 0)
    return first + 2 + (y < 0) if ay >= az else first + 4 + (z < 0)


@inlined
def _towards(lamp, x, y, z, lx, ly, lz, away, cosine):
    """A place moved to the light by as much as the surface rises within the filter."""
    slope = np.float64(cosine) if cosine > np.float32(STEEP) else np.float64(np.float32(STEEP))
    rise = 1.0 + WIDER * np.sqrt(1.0 - (slope * slope if slope < 1 else 1.0)) / slope
    step = (lamp[14] + lamp[15] * away) * rise
    return x + np.float64(lx) * step, y + np.float64(ly) * step, z + np.float64(lz) * step


@inlined
def _in_map(m, x, y, z):
    """Where a map shows a place: column, row and depth; the column of what lies behind it is below 0."""
    column = ((m[0, 0] * x + m[0, 1] * y) + m[0, 2] * z) + m[0, 3]
    row = ((m[1, 0] * x + m[1, 1] * y) + m[1, 2] * z) + m[1, 3]
    depth = ((m[2, 0] * x + m[2, 1] * y) + m[2, 2] * z) + m[2, 3]
    w = ((m[3, 0] * x + m[3, 1] * y) + m[3, 2] * z) + m[3, 3]
    inverse = 1.0 / (w if w > 0 else 1.0)
    return column * inverse if w > 0 else -1.0, row * inverse, depth * inverse


@inlined
def _look_up(space, places, count, lamp, matrices, around, at):
    """Turn the distances from a light in the third row of ``at`` into column, row and depth in its map, and
    which map that is; ``around``: whether it has six."""
    first = np.int64(lamp[13])
    single = matrices[first]
    for i in range((count + LANES - 1) & -LANES):  # whole vectors
        lx, ly, lz = space[LX + i], space[LY + i], space[LZ + i]
        cosine = space[SMOOTH_X + i] * lx + space[SMOOTH_Y + i] * ly + space[SMOOTH_Z + i] * lz
        x, y, z = places[WX + i], places[WY + i], places[WZ + i]
        x, y, z = _towards(lamp, x, y, z, lx, ly, lz, at[2 * STRIDE + i], cosine)
        face = _face(lamp, x, y, z) if around else first
        at[i], at[STRIDE + i], at[2 * STRIDE + i] = _in_map(matrices[face] if around else single, x, y, z)
        at[_FACE + i] = np.float64(face)


@inlined
def _share(maps, face, x, y, depth):
    """The share of light at column ``x`` and row ``y`` of a map."""
    one, side = np.float32(1), maps.shape[1]
    left, top = np.floor(x), np.floor(y)
    fx, fy = np.float32(x - left), np.float32(y - top)
    first = (face * side + np.int64(top) - 1) * side + np.int64(left) - 1
    a, b, c = _behind(maps, first, side, depth, one - fy, fy)
    return ((a * (one - fx) + b) + c * fx) * np.float32(0.25)


@inlined
def shade_lamp(space, places, count, lamp, maps, matrices, at):
    """Multiply a light's strength by the share of it, from 0 to 1, that reaches each pixel.

    The rules are those of ``portable.shadow``. ``at`` (4 * STRIDE,) float64 is working space, whose third row
    holds each pixel's distance from the light.
    """
    if lamp[6] == 1:  # two loops: with one map it becomes vectors (the duck's shade stage: 8.0 ms, else 9.3)
        _look_up(space, places, count, lamp, matrices, True, at)
    else:
        _look_up(space, places, count, lamp, matrices, False, at)
    edge = np.float64(maps.shape[1] - 1)
    for i in range(count):
        facing = space[NX + i] * space[LX + i] + space[NY + i] * space[LY + i] + space[NZ + i] * space[LZ + i]
        x, y, depth = at[i], at[STRIDE + i], at[2 * STRIDE + i]
        inside = x >= 1 and y >= 1 and x < edge and y < edge and depth < 1
        if facing > 0 and space[STRENGTH + i] > 0 and inside:
            space[STRENGTH + i] *= _share(maps, np.int64(at[_FACE + i]), x, y, depth)
