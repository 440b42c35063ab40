"""Lighting, 16 pixels at once and most of it in registers, however short the runs are.

The formulas are those of ``portable.light``, fractions brought together. ``light_plain`` is for segments of
one material under lights that come from one direction each; the rest is for ``full`` pictures, where textures
and shadows come between the steps, in a block's working space.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg"

import numpy as np

from whygpu.draw.fast.arithmetic import OPAQUE, packed, unit
from whygpu.draw.fast.fields import (
    EMISSIVE_R,
    HIDDEN_EYE,
    LX,
    LY,
    LZ,
    METAL,
    NX,
    OCCLUSION,
    PX,
    PY,
    RED,
    ROUGH,
    SCALE,
    STRENGTH,
    STRIDE,
    SUM_R,
    TO_EYE,
    VX,
    WX,
    WY,
    WZ,
)  # fmt: skip
from whygpu.draw.fast.shadow import shade_lamp
from whygpu.draw.fast.vectors import LANES, keep_three, three
from whygpu.engine.jit import inlined
from whygpu.engine.simd import (
    count_from,
    larger,
    load_f32x16,
    magnitude,
    quick_root,
    smaller,
    splat_f32,
    store_f32x16,
    store_i32x16,
)

__all__ = ["DIELECTRIC", "SMOOTHEST", "ambient_light", "arrive", "light", "light_plain", "prepare"]

DIELECTRIC = 0.04
"""What a surface that is no metal reflects of light that falls on it straight."""
SMOOTHEST = 4e-5
"""The least roughness to the fourth power: a smoother surface's highlight would be lost between pixels."""

_F0, _LEAST, _TINY = np.float32(DIELECTRIC), np.float32(SMOOTHEST), np.float32(1e-30)
_0, _HALF, _1, _2 = np.float32(0), np.float32(0.5), np.float32(1), np.float32(2)


@inlined
def _normal(space, i, turn):
    """The unit normal in the world, from what was interpolated in the space of the mesh."""
    x, y, z = three(space, NX + i, STRIDE)
    return unit(
        x * turn[0, 0] + y * turn[1, 0] + z * turn[2, 0],
        x * turn[0, 1] + y * turn[1, 1] + z * turn[2, 1],
        x * turn[0, 2] + y * turn[1, 2] + z * turn[2, 2],
    )


@inlined
def _base(space, i, material, colored):
    """The base colour; with vertex colours it is interpolated times a scale."""
    if colored:
        scale = _1 / larger(load_f32x16(space, SCALE + i), _TINY)
        red, green, blue = three(space, RED + i, STRIDE)
        return red * scale, green * scale, blue * scale
    return splat_f32(material[0]), splat_f32(material[1]), splat_f32(material[2])


@inlined
def _to_eye(column, row, rays):
    """The unit vector to the eye from pixels of the picture."""
    return unit(
        rays[0, 0] + row * rays[2, 0] + column * rays[1, 0],
        rays[0, 1] + row * rays[2, 1] + column * rays[1, 1],
        rays[0, 2] + row * rays[2, 2] + column * rays[1, 2],
    )


@inlined
def _around(ambient, up):
    """What sky and ground send from where a unit vector points, whose part upwards is ``up``."""
    return (
        ambient[0, 0] + up * ambient[1, 0],
        ambient[0, 1] + up * ambient[1, 1],
        ambient[0, 2] + up * ambient[1, 2],
    )


@inlined
def _sharpness(rough):
    """The model's alpha squared."""
    return larger((rough * rough) * (rough * rough), _LEAST)


@inlined
def _mirrored(color, metallic, plain, gain, grazing):
    """How much of a channel is mirrored, of what comes from all around."""
    mirror = color * metallic + plain
    return mirror + (larger(gain, mirror) - mirror) * grazing


@inlined
def _ambient(base, ny, to_eye, vy, metallic, rough, specular, ambient):
    """What sky and ground send to the eye, from a surface that may mirror."""
    keep = _1 - metallic
    plain = _F0 * specular * keep
    gain = (_1 - rough) * (metallic + specular * keep)  # the second is reflectance at grazing incidence
    grazing = _1 - smaller(magnitude(to_eye), _1)
    grazing = grazing * (grazing * grazing) * (grazing * grazing)
    red, green, blue = base
    from_r, from_g, from_b = _around(ambient, ny)
    back_r, back_g, back_b = _around(ambient, _2 * to_eye * ny - vy)  # where the reflected ray comes from
    return (
        red * keep * from_r + _mirrored(red, metallic, plain, gain, grazing) * back_r,
        green * keep * from_g + _mirrored(green, metallic, plain, gain, grazing) * back_g,
        blue * keep * from_b + _mirrored(blue, metallic, plain, gain, grazing) * back_b,
    )


@inlined
def _hidden(cosine, alpha2):
    """The part of the masking term that one direction has (Smith, for GGX)."""
    return cosine + quick_root(alpha2 + (_1 - alpha2) * (cosine * cosine))


@inlined
def _gloss(cosine, along, to_eye, hidden_eye, metallic, alpha2, specular):
    """Microfacets that mirror (GGX, Smith, Schlick): what a light's share is made of, see ``_reflected``.

    ``cosine`` is that between normal and light, ``along`` that between light and eye.
    """
    keep = _1 - metallic
    half2 = larger(_2 + _2 * along, np.float32(1e-6))
    both = cosine + to_eye
    spread = larger(both * both * (alpha2 - _1) + half2, alpha2 * half2)
    hidden = _hidden(larger(cosine, _0), alpha2) * hidden_eye
    gloss = alpha2 * (half2 * half2) / (spread * spread * hidden)
    off = _1 - smaller(_HALF * quick_root(half2), _1)
    schlick = off * (off * off) * (off * off)
    diffuse = keep * (_1 - specular * (_F0 + (_1 - _F0) * schlick))
    mirror = (_1 - schlick) * gloss  # of what is reflected straight; the rest whatever the colour
    return diffuse, mirror, (metallic + specular * keep) * schlick * gloss


@inlined
def _reflected(color, diffuse, mirror, rest, metallic, plain):
    """What a channel reflects of a light."""
    return color * diffuse + (color * metallic + plain) * mirror + rest


@inlined
def is_matte(material):
    """Whether nothing is mirrored: Lambert's law alone."""
    return material[15] == 0 and material[3] == 0


@inlined
def light_plain(space, count, row, x, rays, turn, material, colored, ambient, lights, colors, at):
    """Light a segment and encode it: pixels go to ``colors`` (int32) from ``at`` on."""
    if is_matte(material):
        _plain_matte(space, count, turn, material, colored, ambient, lights, colors, at)
    else:
        _plain_glossy(space, count, row, x, rays, turn, material, colored, ambient, lights, colors, at)


@inlined
def _plain_matte(space, count, turn, material, colored, ambient, lights, colors, at):
    for i in range(0, count, LANES):
        nx, ny, nz = _normal(space, i, turn)
        red, green, blue = _base(space, i, material, colored)
        from_r, from_g, from_b = _around(ambient, ny)
        for lamp in lights:
            facing = larger(nx * lamp[0] + ny * lamp[1] + nz * lamp[2], _0)
            from_r = from_r + facing * lamp[3]
            from_g = from_g + facing * lamp[4]
            from_b = from_b + facing * lamp[5]
        color = packed(
            red * from_r + material[4], green * from_g + material[5], blue * from_b + material[6], OPAQUE
        )
        store_i32x16(colors, at + i, color)


@inlined
def _plain_glossy(space, count, row, x, rays, turn, material, colored, ambient, lights, colors, at):
    metallic, rough, specular = material[3], material[7], material[15]
    plain, alpha2 = _F0 * specular * (_1 - metallic), _sharpness(rough)
    for i in range(0, count, LANES):
        nx, ny, nz = _normal(space, i, turn)
        vx, vy, vz = _to_eye(count_from(np.float32(x + i)), row, rays)
        base = _base(space, i, material, colored)
        red, green, blue = base
        to_eye = nx * vx + ny * vy + nz * vz
        hidden_eye = _hidden(magnitude(to_eye), alpha2)
        sum_r, sum_g, sum_b = _ambient(base, ny, to_eye, vy, metallic, rough, specular, ambient)
        for lamp in lights:
            cosine = nx * lamp[0] + ny * lamp[1] + nz * lamp[2]
            along = vx * lamp[0] + vy * lamp[1] + vz * lamp[2]
            diffuse, mirror, rest = _gloss(cosine, along, to_eye, hidden_eye, metallic, alpha2, specular)
            facing = larger(cosine, _0)
            sum_r = sum_r + facing * lamp[3] * _reflected(red, diffuse, mirror, rest, metallic, plain)
            sum_g = sum_g + facing * lamp[4] * _reflected(green, diffuse, mirror, rest, metallic, plain)
            sum_b = sum_b + facing * lamp[5] * _reflected(blue, diffuse, mirror, rest, metallic, plain)
        color = packed(sum_r + material[4], sum_g + material[5], sum_b + material[6], OPAQUE)
        store_i32x16(colors, at + i, color)


@inlined
def prepare(space, count, rays, turn, material, colored):
    """Turn a block's raw attributes into unit vectors and base colours."""
    for i in range(0, count, LANES):
        nx, ny, nz = _normal(space, i, turn)
        keep_three(space, NX + i, nx, ny, nz)
        red, green, blue = _base(space, i, material, colored)
        keep_three(space, RED + i, red, green, blue)
        vx, vy, vz = _to_eye(load_f32x16(space, PX + i), load_f32x16(space, PY + i), rays)
        keep_three(space, VX + i, vx, vy, vz)


@inlined
def ambient_light(space, count, ambient, material):
    """Start a block's light sums with what it emits, and what sky and ground send."""
    specular = material[15]
    for i in range(0, count, LANES):
        nx, ny, nz = three(space, NX + i, STRIDE)
        vx, vy, vz = three(space, VX + i, STRIDE)
        to_eye = nx * vx + ny * vy + nz * vz
        metallic, rough = load_f32x16(space, METAL + i), load_f32x16(space, ROUGH + i)
        store_f32x16(space, TO_EYE + i, to_eye)
        store_f32x16(space, HIDDEN_EYE + i, _hidden(magnitude(to_eye), _sharpness(rough)))
        base, emissive = three(space, RED + i, STRIDE), three(space, EMISSIVE_R + i, STRIDE)
        red, green, blue = _ambient(base, ny, to_eye, vy, metallic, rough, specular, ambient)
        arriving = load_f32x16(space, OCCLUSION + i)
        keep_three(
            space, SUM_R + i,
            red * arriving + emissive[0], green * arriving + emissive[1], blue * arriving + emissive[2],
        )  # fmt: skip


@inlined
def _from_point(space, places, count, lamp, at):
    """Direction and strength of a light that has a place: distance and, of a spot, the cone."""
    ax, ay, az = np.float32(lamp[0]), np.float32(lamp[1]), np.float32(lamp[2])
    for i in range((count + LANES - 1) & -LANES):
        dx, dy, dz = lamp[7] - places[WX + i], lamp[8] - places[WY + i], lamp[9] - places[WZ + i]
        away2 = max((dx * dx + dy * dy) + dz * dz, 1e-30)
        away = np.sqrt(away2)
        lx, ly, lz = np.float32(dx / away), np.float32(dy / away), np.float32(dz / away)
        ratio = away2 * (lamp[10] * lamp[10])
        strength = np.float32(max(1.0 - ratio * ratio, 0.0) / away2)
        if lamp[6] == 2:
            cone = (ax * lx + ay * ly + az * lz) * np.float32(lamp[11]) + np.float32(lamp[12])
            cone = min(max(cone, np.float32(0)), np.float32(1))
            strength = strength * (cone * cone)
        space[LX + i], space[LY + i], space[LZ + i], space[STRENGTH + i] = lx, ly, lz, strength
        at[2 * STRIDE + i] = away


@inlined
def arrive(space, places, count, lamp, at, full):
    """Where a light is seen from a block's pixels, and how much of it arrives: distance, cone, shadow."""
    ax, ay, az = np.float32(lamp[0]), np.float32(lamp[1]), np.float32(lamp[2])
    if lamp[6] > 0:
        _from_point(space, places, count, lamp, at)
    else:
        for i in range((count + LANES - 1) & -LANES):
            space[LX + i], space[LY + i], space[LZ + i], space[STRENGTH + i] = ax, ay, az, np.float32(1)
            at[2 * STRIDE + i] = 0.0
    if lamp[13] >= 0:
        shade_lamp(space, places, count, lamp, full.maps, full.matrices, at)


@inlined
def light(space, places, count, lights, material, at, full):
    """Add every light's share to a block's sums: glTF 2.0, appendix B."""
    for lamp in range(lights.shape[0]):
        arrive(space, places, count, full.lamps[lamp], at, full)
        if is_matte(material):
            _matte(space, count, lights[lamp])
        else:
            _glossy(space, count, lights[lamp], material[15])


@inlined
def _add(space, i, lamp, facing, red, green, blue):
    """Add a light's share to the sums."""
    sum_r, sum_g, sum_b = three(space, SUM_R + i, STRIDE)
    facing = facing * load_f32x16(space, STRENGTH + i)
    keep_three(
        space, SUM_R + i,
        sum_r + facing * lamp[3] * red, sum_g + facing * lamp[4] * green, sum_b + facing * lamp[5] * blue,
    )  # fmt: skip


@inlined
def _matte(space, count, lamp):
    """Lambert's law alone."""
    for i in range(0, count, LANES):
        nx, ny, nz = three(space, NX + i, STRIDE)
        lx, ly, lz = three(space, LX + i, STRIDE)
        red, green, blue = three(space, RED + i, STRIDE)
        _add(space, i, lamp, larger(nx * lx + ny * ly + nz * lz, _0), red, green, blue)


@inlined
def _glossy(space, count, lamp, specular):
    """The whole model."""
    for i in range(0, count, LANES):
        nx, ny, nz = three(space, NX + i, STRIDE)
        vx, vy, vz = three(space, VX + i, STRIDE)
        lx, ly, lz = three(space, LX + i, STRIDE)
        red, green, blue = three(space, RED + i, STRIDE)
        metallic, alpha2 = load_f32x16(space, METAL + i), _sharpness(load_f32x16(space, ROUGH + i))
        cosine, along = nx * lx + ny * ly + nz * lz, vx * lx + vy * ly + vz * lz
        to_eye, hidden_eye = load_f32x16(space, TO_EYE + i), load_f32x16(space, HIDDEN_EYE + i)
        diffuse, mirror, rest = _gloss(cosine, along, to_eye, hidden_eye, metallic, alpha2, specular)
        plain = _F0 * specular * (_1 - metallic)
        _add(
            space, i, lamp, larger(cosine, _0),
            _reflected(red, diffuse, mirror, rest, metallic, plain),
            _reflected(green, diffuse, mirror, rest, metallic, plain),
            _reflected(blue, diffuse, mirror, rest, metallic, plain),
        )  # fmt: skip
