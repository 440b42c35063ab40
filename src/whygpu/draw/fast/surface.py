"""What a block's pixels are made of: factors of their material, places in the world, textures."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import numpy as np

from whygpu.draw.fast.arithmetic import unit
from whygpu.draw.fast.fields import (
    ALPHA,
    EMISSIVE_B,
    EMISSIVE_G,
    EMISSIVE_R,
    METAL,
    NX,
    NY,
    NZ,
    OCCLUSION,
    PX,
    PY,
    RED,
    ROUGH,
    SMOOTH_X,
    SMOOTH_Y,
    SMOOTH_Z,
    STRIDE,
    TW,
    TX,
    WX,
    WY,
    WZ,
)  # fmt: skip
from whygpu.draw.fast.runs import SCALE_X, SCALE_Y, U
from whygpu.draw.fast.texels import mix
from whygpu.draw.fast.texture import corners, mip_level
from whygpu.draw.fast.vectors import LANES, keep_three, three
from whygpu.engine.jit import inlined
from whygpu.engine.simd import (
    choose,
    count_from,
    floor,
    larger,
    load_f32x16,
    max_lanes,
    smaller,
    store_f32x16,
    store_f64x16,
    zero_f32,
)

__all__ = ["locate", "make_up", "texture"]

_BASE, _METAL_ROUGH, _NORMAL, _OCCLUSION, _EMISSIVE = range(5)
_LENGTH = STRIDE
_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)


@inlined
def make_up(space, count, material):
    """Give pixels the factors of their material."""
    metallic, rough = material[3], material[7]
    red, green, blue = material[4], material[5], material[6]
    for i in range((count + LANES - 1) & -LANES):
        space[METAL + i], space[ROUGH + i], space[OCCLUSION + i] = metallic, rough, np.float32(1)
        space[EMISSIVE_R + i], space[EMISSIVE_G + i], space[EMISSIVE_B + i] = red, green, blue
        nx, ny, nz = space[NX + i], space[NY + i], space[NZ + i]
        space[SMOOTH_X + i], space[SMOOTH_Y + i], space[SMOOTH_Z + i] = nx, ny, nz


@inlined
def locate(space, places, count, full):
    """Turn pixels' distances into places in the world, in float64."""
    s, near, deep = full.sight, full.distance[0], full.distance[1]
    for i in range((count + LANES - 1) & -LANES):  # whole vectors
        x, y = np.float64(space[PX + i]), np.float64(space[PY + i])
        far = near + deep * places[WX + i]
        places[WX + i] = ((s[0, 0] + x * s[1, 0]) + y * s[2, 0]) + far * (
            (s[3, 0] + x * s[4, 0]) + y * s[5, 0]
        )
        places[WY + i] = ((s[0, 1] + x * s[1, 1]) + y * s[2, 1]) + far * (
            (s[3, 1] + x * s[4, 1]) + y * s[5, 1]
        )
        places[WZ + i] = ((s[0, 2] + x * s[1, 2]) + y * s[2, 2]) + far * (
            (s[3, 2] + x * s[4, 2]) + y * s[5, 2]
        )


@inlined
def _bend(space, i, red, green, blue, scale, turn):
    """Turn normals as their normal map says; see portable ``_bent``."""
    x, y, z = (red * _2 - _1) * scale, (green * _2 - _1) * scale, blue * _2 - _1
    ux, uy, uz = three(space, TX + i, STRIDE)
    tx, ty, tz = unit(
        ux * turn[0, 0] + uy * turn[1, 0] + uz * turn[2, 0],
        ux * turn[0, 1] + uy * turn[1, 1] + uz * turn[2, 1],
        ux * turn[0, 2] + uy * turn[1, 2] + uz * turn[2, 2],
    )
    nx, ny, nz = three(space, NX + i, STRIDE)
    y = choose(_0, load_f32x16(space, TW + i), _0 - y, y)
    bx, by, bz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
    nx, ny, nz = unit((tx * x + bx * y) + nx * z, (ty * x + by * y) + ny * z, (tz * x + bz * y) + nz * z)
    keep_three(space, NX + i, nx, ny, nz)


@inlined
def _times(space, field, i, factor):
    store_f32x16(space, field + i, load_f32x16(space, field + i) * factor)


@inlined
def _apply(space, i, slot, red, green, blue, alpha, material, turn):
    """Multiply a factor by what its texture says."""
    if slot in (_BASE, _EMISSIVE):
        field = RED if slot == _BASE else EMISSIVE_R
        _times(space, field, i, red)
        _times(space, field + STRIDE, i, green)
        _times(space, field + 2 * STRIDE, i, blue)
        if slot == _BASE:
            _times(space, ALPHA, i, alpha)
    elif slot == _METAL_ROUGH:
        _times(space, ROUGH, i, green)
        _times(space, METAL, i, blue)
    elif slot == _NORMAL:
        _bend(space, i, red, green, blue, material[12], turn)
    else:
        store_f32x16(space, OCCLUSION + i, (red - _1) * material[13] + _1)


@inlined
def _follow(count, runs, functions, column, m, width, height, coordinates):
    """Texture coordinates of all pixels of ``count`` runs, after the texture's transform.

    Third comes the square of how many texels lie between a pixel and the next."""
    for run in range(count):
        f, to = functions[run:], runs[run]
        u0, ux, uy = f[column], f[column + STRIDE], f[column + 2 * STRIDE]
        v0, vx, vy = f[column + 3 * STRIDE], f[column + 4 * STRIDE], f[column + 5 * STRIDE]
        sx, sy = f[SCALE_X], f[SCALE_Y]
        # A transform of the coordinates is one of their homogeneous functions.
        p0, px, py = (m[0] * u0 + m[1] * v0) + m[2], (m[0] * ux + m[1] * vx), (m[0] * uy + m[1] * vy)
        q0, qx, qy = (m[3] * u0 + m[4] * v0) + m[5], (m[3] * ux + m[4] * vx), (m[3] * uy + m[4] * vy)
        px, py, qx, qy = px + m[2] * sx, py + m[2] * sy, qx + m[5] * sx, qy + m[5] * sy
        for i in range(0, runs[_LENGTH + run], LANES):  # what is written too much, the next run mends
            along = count_from(np.float64(i))
            inverse = 1.0 / (along * sx + 1.0)
            p, q = (along * px + p0) * inverse, (along * qx + q0) * inverse
            # by the quotient rule, as portable ``_coordinates``
            inverse_p, inverse_q = inverse * width, inverse * height
            across_p, across_q = (px - p * sx) * inverse_p, (qx - q * sx) * inverse_q
            down_p, down_q = (py - p * sy) * inverse_p, (qy - q * sy) * inverse_q
            store_f64x16(coordinates, to + i, p)
            store_f64x16(coordinates, STRIDE + to + i, q)
            across = across_p * across_p + across_q * across_q
            store_f64x16(coordinates, 2 * STRIDE + to + i, larger(across, down_p * down_p + down_q * down_q))


@inlined
def texture(space, count, runs, begin, stop, functions, coordinates, material, node, full):
    """Sample the textures of the pixels from ``begin`` to ``stop``, which ``count`` runs make up.

    Pixels between them that show nothing are sampled too, somewhere; they are not kept.
    """
    for slot in range(5):
        first, last = full.samplers[node, slot, 0], full.samplers[node, slot, 1] - 1
        if last < 0 or (slot == _NORMAL and full.tangents.shape[0] == 0):
            continue
        wrap_u, wrap_v = full.samplers[node, slot, 2], full.samplers[node, slot, 3]
        magnify, minify = np.float32(full.samplers[node, slot, 4]), np.float32(full.samplers[node, slot, 5])
        between = full.samplers[node, slot, 6]
        width, height = np.float64(full.levels[first, 1]), np.float64(full.levels[first, 2])
        column = U + 3 * full.samplers[node, slot, 7] * STRIDE
        _follow(count, runs, functions, column, full.transforms[node, slot], width, height, coordinates)
        srgb = slot in (_BASE, _EMISSIVE)
        for i in range(begin, stop, LANES):
            level, small = mip_level(coordinates, i, last, between)
            linear = small * minify + (_1 - small) * magnify
            whole = floor(level)
            part = level - whole
            sums = zero_f32(), zero_f32(), zero_f32(), zero_f32()
            for deeper in range(2):
                spots = corners(coordinates, i, whole, linear, full.levels, first, wrap_u, wrap_v)
                sums = mix(
                    full.texels, full.levels[first, 0], spots, part if deeper else _1 - part, srgb, sums
                )
                if max_lanes(part) == 0:
                    break
                whole = smaller(whole + _1, np.float32(last))
            red, green, blue, alpha = sums
            _apply(space, i, slot, red, green, blue, alpha, material, full.turn[node])
