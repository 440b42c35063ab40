"""Colour of every lit pixel, once: runs are interpolated, blocks of pixels lit together, and encoded.

Lighting and encoding are loops over a block that the compiler vectorises, however short the runs are.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

import sys

import numpy as np

from whygpu.draw.fast.arithmetic import inverse_root, srgb
from whygpu.draw.fast.bins import node_of
from whygpu.draw.fast.runs import BLOCK, fetch, find_runs, lay, weigh
from whygpu.engine.jit import inlined, kernel
from whygpu.engine.sync import claim

__all__ = ["FIELDS", "shade"]

FIELDS = 14
"""Floats of working space a pixel."""
ROWS = 8
"""Rows that a thread takes at a time."""

# Where red, green, blue and alpha stand in the 32 bits of a pixel whose bytes are RGBA.
RED_AT, GREEN_AT, BLUE_AT = (0, 8, 16) if sys.byteorder == "little" else (24, 16, 8)
OPAQUE = 255 << 24 if sys.byteorder == "little" else 255

# Where in a block's working space each field begins.
NX, NY, NZ = 0, BLOCK, 2 * BLOCK  # the normal
RED, GREEN, BLUE, SCALE = 3 * BLOCK, 4 * BLOCK, 5 * BLOCK, 6 * BLOCK  # base colour times SCALE
VX, VY, VZ, TO_EYE = 7 * BLOCK, 8 * BLOCK, 9 * BLOCK, 10 * BLOCK  # the unit vector to the eye, n . v
SUM_R, SUM_G, SUM_B = 11 * BLOCK, 12 * BLOCK, 13 * BLOCK  # the light so far


@inlined
def _prepare(space, count, row, x, rays, ambient, material):
    """Turn a block's raw attributes into unit vectors and base colours, and start its light sums."""
    one, two, tiny = np.float32(1), np.float32(2), np.float32(1e-30)
    metallic = material[3]
    keep = one - metallic
    plain = np.float32(0.04) * keep
    mean_r, mean_g, mean_b = ambient[0, 0], ambient[0, 1], ambient[0, 2]
    tilt_r, tilt_g, tilt_b = ambient[1, 0], ambient[1, 1], ambient[1, 2]
    start_x = rays[0, 0] + row * rays[2, 0]
    start_y = rays[0, 1] + row * rays[2, 1]
    start_z = rays[0, 2] + row * rays[2, 2]
    for i in range(count):
        nx, ny, nz = space[NX + i], space[NY + i], space[NZ + i]
        inverse = inverse_root(max(nx * nx + ny * ny + nz * nz, tiny))
        nx, ny, nz = nx * inverse, ny * inverse, nz * inverse
        column = np.float32(x + i)
        vx, vy, vz = (
            start_x + column * rays[1, 0],
            start_y + column * rays[1, 1],
            start_z + column * rays[1, 2],
        )
        inverse = inverse_root(max(vx * vx + vy * vy + vz * vz, tiny))
        vx, vy, vz = vx * inverse, vy * inverse, vz * inverse
        to_eye = nx * vx + ny * vy + nz * vz
        scale = inverse_root(max(space[SCALE + i], tiny))
        scale = scale * scale
        red, green, blue = space[RED + i] * scale, space[GREEN + i] * scale, space[BLUE + i] * scale
        up = two * to_eye * ny - vy  # of the reflected ray
        space[SUM_R + i] = (material[4] + red * keep * (mean_r + tilt_r * ny)) + (red * metallic + plain) * (
            mean_r + tilt_r * up
        )
        space[SUM_G + i] = (material[5] + green * keep * (mean_g + tilt_g * ny)) + (
            green * metallic + plain
        ) * (mean_g + tilt_g * up)
        space[SUM_B + i] = (material[6] + blue * keep * (mean_b + tilt_b * ny)) + (
            blue * metallic + plain
        ) * (mean_b + tilt_b * up)
        space[NX + i], space[NY + i], space[NZ + i] = nx, ny, nz
        space[VX + i], space[VY + i], space[VZ + i], space[TO_EYE + i] = vx, vy, vz, to_eye
        space[RED + i], space[GREEN + i], space[BLUE + i] = red, green, blue


@inlined
def _light(space, count, lights, material):
    """Add every light; the formulas are those of portable ``light``, fractions brought together."""
    one, two, zero = np.float32(1), np.float32(2), np.float32(0)
    metallic, rough = material[3], material[7]
    keep = one - metallic
    plain = np.float32(0.04) * keep
    alpha2 = (rough * rough) * (rough * rough)
    gain = alpha2 / (rough + np.float32(0.5))
    for lamp in range(lights.shape[0]):
        lx, ly, lz = lights[lamp, 0], lights[lamp, 1], lights[lamp, 2]
        lamp_r, lamp_g, lamp_b = lights[lamp, 3], lights[lamp, 4], lights[lamp, 5]
        for i in range(count):
            cosine = space[NX + i] * lx + space[NY + i] * ly + space[NZ + i] * lz
            along = space[VX + i] * lx + space[VY + i] * ly + space[VZ + i] * lz
            half2 = max(two + two * along, np.float32(0.4))
            both = cosine + space[TO_EYE + i]
            spread = both * both * (alpha2 - one) + np.float32(1.0001) * half2
            gloss = gain * half2 / (spread * spread)
            facing = max(cosine, zero)
            red, green, blue = space[RED + i], space[GREEN + i], space[BLUE + i]
            space[SUM_R + i] += lamp_r * facing * (red * keep + (red * metallic + plain) * gloss)
            space[SUM_G + i] += lamp_g * facing * (green * keep + (green * metallic + plain) * gloss)
            space[SUM_B + i] += lamp_b * facing * (blue * keep + (blue * metallic + plain) * gloss)


@inlined
def _encode(space, count, owners, empty, out):
    """Write sRGB where a triangle is seen, the background elsewhere; returns how many pixels are lit."""
    lit = 0
    for i in range(count):
        red, green, blue = srgb(space[SUM_R + i]), srgb(space[SUM_G + i]), srgb(space[SUM_B + i])
        color = np.int32(OPAQUE | red << RED_AT | green << GREEN_AT | blue << BLUE_AT)
        out[i] = color if owners[i] >= 0 else empty
        lit += owners[i] >= 0
    return lit


@inlined
def _is_empty(owners):
    """Whether no triangle is seen in a block."""
    all_ = np.int32(-1)
    for i in range(owners.shape[0]):
        all_ &= owners[i]
    return all_ < 0


@kernel
def shade(
    rank, size, barrier, positions, colors, triangles, triangle_start, flip, clip, grid, viewport,
    depth_scale, fixed, real, normals, cut, material, rays, lights, ambient, background, ids, next_rows,
    runs, corners, attributes, linear, working, out, lit,
):  # fmt: skip
    """Fill ``out`` (height, width) int32, a view of RGBA bytes, from the triangles in ``ids``.

    ``cut`` says whether any vertex was clipped; ``runs`` to ``working`` are working space by rank.
    """
    height, width = ids.shape
    own, corner, attribute, function, space = (
        runs[rank],
        corners[rank],
        attributes[rank],
        linear[rank],
        working[rank],
    )
    colored = colors.shape[0] > 0
    shown = 0
    y0 = claim(next_rows, 0) * ROWS
    while y0 < height:
        for y in range(y0, min(y0 + ROWS, height)):
            empty = background[y]
            for x in range(0, width, BLOCK):
                owners, pixels = ids[y, x : x + BLOCK], out[y, x : x + BLOCK]
                columns, at = owners.shape[0], 0
                if _is_empty(owners):
                    at = columns
                    for i in range(columns):
                        pixels[i] = empty
                while at < columns:
                    if owners[at] < 0:
                        pixels[at] = empty
                        at += 1
                        continue
                    # As far as pixels show one node, they are one segment: one material.
                    begin, node = at, node_of(owners[at], triangle_start)
                    low, high, look = triangle_start[node], triangle_start[node + 1], material[node]
                    count, stop, at = find_runs(owners, at, low, high, cut, triangles, fixed, own)
                    fetch(
                        count, own, owners, x, y, triangles, fixed, real, positions, clip[node], grid[node],
                        viewport, depth_scale, normals, colors, corner, attribute,
                    )  # fmt: skip
                    weigh(count, corner, attribute, colored, flip[node] != 0, look, function)
                    lay(count, own, function, space)
                    segment, pixels_of = space[begin:], stop - begin
                    _prepare(segment, pixels_of, np.float32(y), x + begin, rays, ambient, look)
                    _light(segment, pixels_of, lights, look)
                    shown += _encode(segment, pixels_of, owners[begin:], empty, pixels[begin:])
                    for i in range(stop, at):
                        pixels[i] = empty
        y0 = claim(next_rows, 0) * ROWS
    lit[rank] = shown
