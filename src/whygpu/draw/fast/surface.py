"""What a block's pixels are made of: factors of their material, places in the world, textures."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

import numpy as np

from whygpu.draw.fast.arithmetic import inverse_root
from whygpu.draw.fast.fields import (
    ALPHA,
    BLUE,
    EMISSIVE_B,
    EMISSIVE_G,
    EMISSIVE_R,
    GREEN,
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
    TY,
    TZ,
    WX,
    WY,
    WZ,
)  # fmt: skip
from whygpu.draw.fast.runs import SCALE_X, SCALE_Y, U
from whygpu.draw.fast.texture import place, sample
from whygpu.engine.jit import inlined

__all__ = ["locate", "make_up", "texture"]

_BASE, _METAL_ROUGH, _NORMAL, _OCCLUSION, _EMISSIVE = range(5)
_LENGTH = STRIDE


@inlined
def make_up(space, count, material):
    """Give pixels the factors of their material."""
    metallic, rough = material[3], material[7]
    red, green, blue = material[4], material[5], material[6]
    for i in range(count):
        space[METAL + i], space[ROUGH + i], space[OCCLUSION + i] = metallic, rough, np.float32(1)
        space[EMISSIVE_R + i], space[EMISSIVE_G + i], space[EMISSIVE_B + i] = red, green, blue
        nx, ny, nz = space[NX + i], space[NY + i], space[NZ + i]
        space[SMOOTH_X + i], space[SMOOTH_Y + i], space[SMOOTH_Z + i] = nx, ny, nz


@inlined
def locate(space, places, count, full):
    """Turn pixels' distances into places in the world, in float64."""
    s, near, deep = full.sight, full.distance[0], full.distance[1]
    for i in range(count):
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
def _bend(space, i, red, green, scale, blue, turn):
    """Turn a pixel's normal as its normal map says; see portable ``_bent``."""
    one, two, tiny = np.float32(1), np.float32(2), np.float32(1e-30)
    x, y, z = (red * two - one) * scale, (green * two - one) * scale, blue * two - one
    ux, uy, uz = space[TX + i], space[TY + i], space[TZ + i]
    tx = ux * turn[0, 0] + uy * turn[1, 0] + uz * turn[2, 0]
    ty = ux * turn[0, 1] + uy * turn[1, 1] + uz * turn[2, 1]
    tz = ux * turn[0, 2] + uy * turn[1, 2] + uz * turn[2, 2]
    inverse = inverse_root(max(tx * tx + ty * ty + tz * tz, tiny))
    tx, ty, tz = tx * inverse, ty * inverse, tz * inverse
    nx, ny, nz = space[NX + i], space[NY + i], space[NZ + i]
    side = -y if space[TW + i] < 0 else y
    bx, by, bz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
    nx, ny, nz = (tx * x + bx * side) + nx * z, (ty * x + by * side) + ny * z, (tz * x + bz * side) + nz * z
    inverse = inverse_root(max(nx * nx + ny * ny + nz * nz, tiny))
    space[NX + i], space[NY + i], space[NZ + i] = nx * inverse, ny * inverse, nz * inverse


@inlined
def _apply(space, i, slot, red, green, blue, alpha, material, turn):
    """Multiply a factor by what its texture says."""
    if slot == _BASE:
        space[RED + i] *= red
        space[GREEN + i] *= green
        space[BLUE + i] *= blue
        space[ALPHA + i] *= alpha
    elif slot == _METAL_ROUGH:
        space[ROUGH + i] *= green
        space[METAL + i] *= blue
    elif slot == _NORMAL:
        _bend(space, i, red, green, material[12], blue, turn)
    elif slot == _OCCLUSION:
        space[OCCLUSION + i] = np.float32(1) + material[13] * (red - np.float32(1))
    else:
        space[EMISSIVE_R + i] *= red
        space[EMISSIVE_G + i] *= green
        space[EMISSIVE_B + i] *= blue


@inlined
def _follow(count, runs, functions, column, m, width, height, coordinates):
    """Texture coordinates of all pixels of ``count`` runs, after the texture's transform.

    Third comes the square of how many texels lie between a pixel and the next."""
    for run in range(count):
        f, to = functions[run:], coordinates[runs[run] :]
        u0, ux, uy = f[column], f[column + STRIDE], f[column + 2 * STRIDE]
        v0, vx, vy = f[column + 3 * STRIDE], f[column + 4 * STRIDE], f[column + 5 * STRIDE]
        sx, sy = f[SCALE_X], f[SCALE_Y]
        # A transform of the coordinates is one of their homogeneous functions.
        p0, px, py = (m[0] * u0 + m[1] * v0) + m[2], (m[0] * ux + m[1] * vx), (m[0] * uy + m[1] * vy)
        q0, qx, qy = (m[3] * u0 + m[4] * v0) + m[5], (m[3] * ux + m[4] * vx), (m[3] * uy + m[4] * vy)
        px, py, qx, qy = px + m[2] * sx, py + m[2] * sy, qx + m[5] * sx, qy + m[5] * sy
        for i in range(runs[_LENGTH + run]):
            along = np.float64(i)
            inverse = 1.0 / (1.0 + sx * along)
            p, q = (p0 + px * along) * inverse, (q0 + qx * along) * inverse
            # by the quotient rule, as portable ``_coordinates``
            across_p, across_q = (px - p * sx) * inverse * width, (qx - q * sx) * inverse * height
            down_p, down_q = (py - p * sy) * inverse * width, (qy - q * sy) * inverse * height
            to[i], to[STRIDE + i] = p, q
            across = across_p * across_p + across_q * across_q
            to[2 * STRIDE + i] = max(across, down_p * down_p + down_q * down_q)


@inlined
def texture(space, count, runs, begin, stop, functions, coordinates, material, node, owners, full):
    """Sample the textures of the pixels from ``begin`` to ``stop``, which ``count`` runs make up."""
    for slot in range(5):
        first, levels = full.samplers[node, slot, 0], full.samplers[node, slot, 1]
        if levels == 0 or (slot == _NORMAL and full.tangents.shape[0] == 0):
            continue
        wrap_u, wrap_v = full.samplers[node, slot, 2], full.samplers[node, slot, 3]
        magnify, minify = full.samplers[node, slot, 4] == 1, full.samplers[node, slot, 5] == 1
        between = full.samplers[node, slot, 6]
        table, plain = full.tables[1 if slot in (_BASE, _EMISSIVE) else 0], full.tables[0]
        width, height = np.float64(full.levels[first, 1]), np.float64(full.levels[first, 2])
        column, last = U + 3 * full.samplers[node, slot, 7] * STRIDE, np.float64(levels - 1)
        _follow(count, runs, functions, column, full.transforms[node, slot], width, height, coordinates)
        place(coordinates, begin, stop, last, between, wrap_u, wrap_v)
        for i in range(begin, stop):
            if owners[i] < 0:
                continue
            linear = minify if coordinates[3 * STRIDE + i] > 0 else magnify
            red, green, blue, alpha = sample(
                full.texels, full.levels, first, coordinates[2 * STRIDE + i], linear, wrap_u, wrap_v, table,
                plain, coordinates[i], coordinates[STRIDE + i],
            )  # fmt: skip
            _apply(space, i, slot, red, green, blue, alpha, material, full.turn[node])
