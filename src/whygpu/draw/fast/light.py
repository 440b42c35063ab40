"""Lighting of a block of pixels: loops that the compiler vectorises, however short the runs are.

The formulas are those of ``portable.light``, fractions brought together. ``full`` is None where material and
lights are the same for all pixels of a segment.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

import numpy as np

from whygpu.draw.fast.arithmetic import inverse_root
from whygpu.draw.fast.fields import (
    BLUE,
    EMISSIVE_B,
    EMISSIVE_G,
    EMISSIVE_R,
    GREEN,
    HIDDEN_EYE,
    LX,
    LY,
    LZ,
    METAL,
    NX,
    NY,
    NZ,
    OCCLUSION,
    PX,
    PY,
    RED,
    ROUGH,
    SCALE,
    STRENGTH,
    STRIDE,
    SUM_B,
    SUM_G,
    SUM_R,
    TO_EYE,
    VX,
    VY,
    VZ,
    WX,
    WY,
    WZ,
)  # fmt: skip
from whygpu.draw.fast.shadow import shade_lamp
from whygpu.engine.jit import inlined

__all__ = ["DIELECTRIC", "SMOOTHEST", "ambient_light", "arrive", "light", "prepare"]

DIELECTRIC = 0.04
"""What a surface that is no metal reflects of light that falls on it straight."""
SMOOTHEST = 4e-5
"""The least roughness to the fourth power: a smoother surface's highlight would be lost between pixels."""

_F0, _LEAST = np.float32(DIELECTRIC), np.float32(SMOOTHEST)


@inlined
def prepare(space, count, row, x, rays, material, colored, full):
    """Turn a block's raw attributes into unit vectors and base colours."""
    tiny = np.float32(1e-30)
    for i in range(count):
        nx, ny, nz = space[NX + i], space[NY + i], space[NZ + i]
        inverse = inverse_root(max(nx * nx + ny * ny + nz * nz, tiny))
        space[NX + i], space[NY + i], space[NZ + i] = nx * inverse, ny * inverse, nz * inverse
    if colored:
        for i in range(count):
            scale = inverse_root(max(space[SCALE + i], tiny))
            scale = scale * scale
            space[RED + i], space[GREEN + i] = space[RED + i] * scale, space[GREEN + i] * scale
            space[BLUE + i] = space[BLUE + i] * scale
    else:
        for i in range(count):
            space[RED + i], space[GREEN + i], space[BLUE + i] = material[0], material[1], material[2]
    if full is not None or not is_matte(material):
        _look(space, count, row, x, rays, full)


@inlined
def is_matte(material):
    """Whether nothing is mirrored: Lambert's law alone."""
    return material[15] == 0 and material[3] == 0


@inlined
def _look(space, count, row, x, rays, full):
    """The unit vectors to the eye."""
    tiny = np.float32(1e-30)
    start_x = rays[0, 0] + row * rays[2, 0]
    start_y = rays[0, 1] + row * rays[2, 1]
    start_z = rays[0, 2] + row * rays[2, 2]
    for i in range(count):
        column = np.float32(x + i)
        if full is not None:
            column, line = space[PX + i], space[PY + i]
            start_x = rays[0, 0] + line * rays[2, 0]
            start_y = rays[0, 1] + line * rays[2, 1]
            start_z = rays[0, 2] + line * rays[2, 2]
        vx, vy, vz = (
            start_x + column * rays[1, 0],
            start_y + column * rays[1, 1],
            start_z + column * rays[1, 2],
        )
        inverse = inverse_root(max(vx * vx + vy * vy + vz * vz, tiny))
        space[VX + i], space[VY + i], space[VZ + i] = vx * inverse, vy * inverse, vz * inverse


@inlined
def _matte_ambient(space, count, ambient, material):
    """What sky and ground send to a surface that mirrors nothing."""
    mean_r, mean_g, mean_b = ambient[0, 0], ambient[0, 1], ambient[0, 2]
    tilt_r, tilt_g, tilt_b = ambient[1, 0], ambient[1, 1], ambient[1, 2]
    for i in range(count):
        ny = space[NY + i]
        space[SUM_R + i] = material[4] + space[RED + i] * (mean_r + tilt_r * ny)
        space[SUM_G + i] = material[5] + space[GREEN + i] * (mean_g + tilt_g * ny)
        space[SUM_B + i] = material[6] + space[BLUE + i] * (mean_b + tilt_b * ny)


@inlined
def ambient_light(space, count, ambient, material, full):
    """Start a block's light sums with what it emits, and what sky and ground send."""
    if full is None and is_matte(material):
        _matte_ambient(space, count, ambient, material)
        return
    one, two = np.float32(1), np.float32(2)
    metallic, rough, specular = material[3], material[7], material[15]
    mean_r, mean_g, mean_b = ambient[0, 0], ambient[0, 1], ambient[0, 2]
    tilt_r, tilt_g, tilt_b = ambient[1, 0], ambient[1, 1], ambient[1, 2]
    for i in range(count):
        emissive_r, emissive_g, emissive_b, arriving = material[4], material[5], material[6], one
        if full is not None:
            metallic, rough, arriving = space[METAL + i], space[ROUGH + i], space[OCCLUSION + i]
            emissive_r, emissive_g = space[EMISSIVE_R + i], space[EMISSIVE_G + i]
            emissive_b = space[EMISSIVE_B + i]
        keep = one - metallic
        plain = _F0 * specular * keep
        most = metallic + specular * keep  # reflectance at grazing incidence
        alpha2 = max((rough * rough) * (rough * rough), _LEAST)
        ny, vy = space[NY + i], space[VY + i]
        to_eye = space[NX + i] * space[VX + i] + ny * vy + space[NZ + i] * space[VZ + i]
        eye = abs(to_eye)
        space[TO_EYE + i] = to_eye
        space[HIDDEN_EYE + i] = eye + np.sqrt(alpha2 + (one - alpha2) * (eye * eye))
        grazing = one - min(eye, one)
        grazing2 = grazing * grazing
        grazing = grazing2 * grazing2 * grazing
        up = two * to_eye * ny - vy  # of the reflected ray
        red, green, blue, gain = space[RED + i], space[GREEN + i], space[BLUE + i], (one - rough) * most
        mirror = red * metallic + plain
        mirror = mirror + (max(gain, mirror) - mirror) * grazing
        around = red * keep * (mean_r + tilt_r * ny) + mirror * (mean_r + tilt_r * up)
        space[SUM_R + i] = emissive_r + around * arriving
        mirror = green * metallic + plain
        mirror = mirror + (max(gain, mirror) - mirror) * grazing
        around = green * keep * (mean_g + tilt_g * ny) + mirror * (mean_g + tilt_g * up)
        space[SUM_G + i] = emissive_g + around * arriving
        mirror = blue * metallic + plain
        mirror = mirror + (max(gain, mirror) - mirror) * grazing
        around = blue * keep * (mean_b + tilt_b * ny) + mirror * (mean_b + tilt_b * up)
        space[SUM_B + i] = emissive_b + around * arriving


@inlined
def _from_point(space, places, count, lamp, at):
    """Direction and strength of a light that has a place: distance and, of a spot, the cone."""
    ax, ay, az = np.float32(lamp[0]), np.float32(lamp[1]), np.float32(lamp[2])
    for i in range(count):
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
        for i in range(count):
            space[LX + i], space[LY + i], space[LZ + i], space[STRENGTH + i] = ax, ay, az, np.float32(1)
            at[2 * STRIDE + i] = 0.0
    if lamp[13] >= 0:
        shade_lamp(space, places, count, lamp, full.maps, full.matrices, at)


@inlined
def light(space, places, count, lights, material, at, full):
    """Add every light's share to a block's sums: glTF 2.0, appendix B."""
    matte = is_matte(material)
    for lamp in range(lights.shape[0]):
        if full is not None:
            arrive(space, places, count, full.lamps[lamp], at, full)
        if matte:
            _matte(space, count, lights[lamp], full)
        else:
            _glossy(space, count, lights[lamp], material, full)


@inlined
def _matte(space, count, lamp, full):
    """Lambert's law alone."""
    lx, ly, lz = lamp[0], lamp[1], lamp[2]
    lamp_r, lamp_g, lamp_b = lamp[3], lamp[4], lamp[5]
    for i in range(count):
        if full is not None:
            lx, ly, lz = space[LX + i], space[LY + i], space[LZ + i]
        facing = max(space[NX + i] * lx + space[NY + i] * ly + space[NZ + i] * lz, np.float32(0))
        if full is not None:
            facing = facing * space[STRENGTH + i]
        space[SUM_R + i] += lamp_r * facing * space[RED + i]
        space[SUM_G + i] += lamp_g * facing * space[GREEN + i]
        space[SUM_B + i] += lamp_b * facing * space[BLUE + i]


@inlined
def _glossy(space, count, lamp, material, full):
    """The whole model: a diffuse part, and microfacets that mirror (GGX, Smith, Schlick)."""
    one, two, zero, half = np.float32(1), np.float32(2), np.float32(0), np.float32(0.5)
    metallic, rough, specular = material[3], material[7], material[15]
    lx, ly, lz = lamp[0], lamp[1], lamp[2]
    lamp_r, lamp_g, lamp_b = lamp[3], lamp[4], lamp[5]
    for i in range(count):
        if full is not None:
            metallic, rough = space[METAL + i], space[ROUGH + i]
            lx, ly, lz = space[LX + i], space[LY + i], space[LZ + i]
        keep = one - metallic
        plain = _F0 * specular * keep
        most = metallic + specular * keep
        alpha2 = max((rough * rough) * (rough * rough), _LEAST)
        cosine = space[NX + i] * lx + space[NY + i] * ly + space[NZ + i] * lz
        along = space[VX + i] * lx + space[VY + i] * ly + space[VZ + i] * lz
        half2 = max(two + two * along, np.float32(1e-6))
        both = cosine + space[TO_EYE + i]
        spread = max(both * both * (alpha2 - one) + half2, alpha2 * half2)
        facing = max(cosine, zero)
        hidden = (facing + np.sqrt(alpha2 + (one - alpha2) * (facing * facing))) * space[HIDDEN_EYE + i]
        gloss = alpha2 * (half2 * half2) / (spread * spread * hidden)
        off = one - min(half * np.sqrt(half2), one)
        off2 = off * off
        schlick = off2 * off2 * off
        diffuse = keep * (one - specular * (_F0 + (one - _F0) * schlick))
        mirror = (one - schlick) * gloss  # of what is reflected straight; the rest whatever the colour
        rest = most * schlick * gloss
        if full is not None:
            facing = facing * space[STRENGTH + i]
        red, green, blue = space[RED + i], space[GREEN + i], space[BLUE + i]
        space[SUM_R + i] += lamp_r * facing * (red * diffuse + (red * metallic + plain) * mirror + rest)
        space[SUM_G + i] += lamp_g * facing * (green * diffuse + (green * metallic + plain) * mirror + rest)
        space[SUM_B + i] += lamp_b * facing * (blue * diffuse + (blue * metallic + plain) * mirror + rest)
