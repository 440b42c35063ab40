"""What a block's pixels are made of: factors of their material, places in the world, textures."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

import numpy as np

from whygpu.draw.fast.arithmetic import inverse_root
from whygpu.draw.fast.fields import (
    ALPHA, BLOCK, BLUE, EMISSIVE_B, EMISSIVE_G, EMISSIVE_R, GREEN, METAL, NX, NY, NZ, OCCLUSION, PX, PY, RED, ROUGH,
    SMOOTH_X, SMOOTH_Y, SMOOTH_Z, TW, TX, TY, TZ, WX, WY, WZ,
)  # fmt: skip
from whygpu.draw.fast.runs import SCALE_X, SCALE_Y, U
from whygpu.draw.fast.texture import sample
from whygpu.engine.jit import inlined

__all__ = ["locate", "make_up", "texture"]

_BASE, _METAL_ROUGH, _NORMAL, _OCCLUSION, _EMISSIVE = range(5)
_LENGTH = BLOCK


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
        places[WX + i] = ((s[0, 0] + x * s[1, 0]) + y * s[2, 0]) + far * ((s[3, 0] + x * s[4, 0]) + y * s[5, 0])
        places[WY + i] = ((s[0, 1] + x * s[1, 1]) + y * s[2, 1]) + far * ((s[3, 1] + x * s[4, 1]) + y * s[5, 1])
        places[WZ + i] = ((s[0, 2] + x * s[1, 2]) + y * s[2, 2]) + far * ((s[3, 2] + x * s[4, 2]) + y * s[5, 2])


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
def texture(space, count, runs, functions, material, node, full):
    """Sample the textures of all pixels of ``count`` runs."""
    for slot in range(5):
        sampler, m = full.samplers[node, slot], full.transforms[node, slot]
        if sampler[1] == 0 or (slot == _NORMAL and full.tangents.shape[0] == 0):
            continue
        colors = full.tables[1 if slot == _BASE or slot == _EMISSIVE else 0]
        width, height = np.float64(full.levels[sampler[0], 1]), np.float64(full.levels[sampler[0], 2])
        column = U + 3 * sampler[7] * BLOCK
        for run in range(count):
            f = functions[run:]
            u0, ux, uy = f[column], f[column + BLOCK], f[column + 2 * BLOCK]
            v0, vx, vy = f[column + 3 * BLOCK], f[column + 4 * BLOCK], f[column + 5 * BLOCK]
            sx, sy = f[SCALE_X], f[SCALE_Y]
            for i in range(runs[_LENGTH + run]):
                along = np.float64(i)
                inverse = 1.0 / (1.0 + sx * along)
                u, v = (u0 + ux * along) * inverse, (v0 + vx * along) * inverse
                # by the quotient rule, as portable ``_coordinates``
                dux, dvx = (ux - u * sx) * inverse, (vx - v * sx) * inverse
                duy, dvy = (uy - u * sy) * inverse, (vy - v * sy) * inverse
                ax, bx = (m[0] * dux + m[1] * dvx) * width, (m[3] * dux + m[4] * dvx) * height
                ay, by = (m[0] * duy + m[1] * dvy) * width, (m[3] * duy + m[4] * dvy) * height
                red, green, blue, alpha = sample(
                    full.texels, full.levels, sampler, colors, full.tables[0], (m[0] * u + m[1] * v) + m[2],
                    (m[3] * u + m[4] * v) + m[5], ax * ax + bx * bx, ay * ay + by * by,
                )  # fmt: skip
                _apply(
                    space, runs[run] + i, slot, red, green, blue, alpha, material, full.turn[node]
                )
