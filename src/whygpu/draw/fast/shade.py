"""Colour of every lit pixel, once: runs are interpolated, blocks of pixels lit together, and encoded.

Lighting and encoding are loops over a block that the compiler vectorises, however short the runs are.
The kernel has two variants: plain, and with ``full`` for textures, shadows, alpha and the rest.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, var-annotated"

import numpy as np
from numba import types
from numba.extending import overload

from whygpu.draw.fast.arithmetic import OPAQUE, packed
from whygpu.draw.fast.bins import node_of
from whygpu.draw.fast.fetch import fetch
from whygpu.draw.fast.fields import ALPHA, BLOCK, BLUE, GREEN, NX, NY, NZ, RED, SUM_B, SUM_G, SUM_R
from whygpu.draw.fast.light import ambient_light, light, light_plain, prepare
from whygpu.draw.fast.runs import COLOR, PIECES, find_runs, lay, lay_full, split, weigh, weigh_full
from whygpu.draw.fast.surface import locate, make_up, texture
from whygpu.draw.fast.texture import CUTOFF_TIE
from whygpu.draw.fast.vectors import LANES
from whygpu.engine.jit import INLINED, inlined, kernel
from whygpu.engine.simd import choose, load_f32x16, load_i32x16, store_i32x16
from whygpu.engine.sync import claim

__all__ = ["shade"]

ROWS = 8
"""Rows that a thread takes at a time."""


@inlined
def _keep(space, count, y, x, owners, colors, begin, at, places, full):
    """Encode a segment's light, or keep its linear colours for the list."""
    if full.facing.shape[0] > 0:
        _face(space, count, owners, full.facing[y, x:])
    if places.shape[0] > 0:
        _store(space, count, owners, full.colors, at)
        return
    for i in range(0, count, LANES):
        red, green = load_f32x16(space, SUM_R + i), load_f32x16(space, SUM_G + i)
        store_i32x16(colors, COLOR + begin + i, packed(red, green, load_f32x16(space, SUM_B + i), OPAQUE))


@inlined
def _show(owners, colors, empty, out):
    """Write a block's colours where a triangle is seen, the background elsewhere."""
    columns = owners.shape[0]
    for i in range(0, columns & -LANES, LANES):
        seen = choose(load_i32x16(owners, i), -1, load_i32x16(colors, COLOR + i), empty)
        store_i32x16(out, i, seen)
    for i in range(columns & -LANES, columns):
        out[i] = colors[COLOR + i] if owners[i] >= 0 else empty


@inlined
def _finish(space, count, material):
    """What is unlit shows its base colour; alpha by mode: opaque 1, mask 0 or 1, blend as it is."""
    zero, one = np.float32(0), np.float32(1)
    if material[11] > 0:
        gain = material[14]
        for i in range((count + LANES - 1) & -LANES):
            space[SUM_R + i] = space[RED + i] * gain
            space[SUM_G + i] = space[GREEN + i] * gain
            space[SUM_B + i] = space[BLUE + i] * gain
    mode, cutoff = material[10], material[9] - np.float32(CUTOFF_TIE)
    for i in range((count + LANES - 1) & -LANES):
        alpha = space[ALPHA + i]
        masked = one if alpha >= cutoff else zero
        blended = min(max(alpha, zero), one)
        space[ALPHA + i] = one if mode == 0 else (masked if mode == 1 else blended)


@inlined
def _store(space, count, owners, colors, first):
    """Keep linear colour and alpha of listed pixels, from row ``first`` of ``colors`` on."""
    for i in range(count):
        if owners[i] >= 0:
            at = first + i
            colors[at, 0], colors[at, 1] = space[SUM_R + i], space[SUM_G + i]
            colors[at, 2], colors[at, 3] = space[SUM_B + i], space[ALPHA + i]


@inlined
def _face(space, count, owners, facing):
    """Keep the normals of pixels."""
    for i in range(count):
        if owners[i] >= 0:
            facing[i, 0], facing[i, 1], facing[i, 2] = space[NX + i], space[NY + i], space[NZ + i]


def _segment(
    rank, count, runs, begin, stop, x, y, width, colored, mirrored, corners, attributes, linear, space, rays,
    ambient, lights, material, turn, node, owners, places, full,
):  # fmt: skip
    """Light a segment and keep its colours; compiled is the variant that ``full`` asks for, and no other."""


@overload(_segment, jit_options=INLINED)  # type: ignore[arg-type]  # its stub knows fewer options
def _variant(
    rank, count, runs, begin, stop, x, y, width, colored, mirrored, corners, attributes, linear, space, rays,
    ambient, lights, material, turn, node, owners, places, full,
):  # fmt: skip
    return _plain_segment if isinstance(full, types.NoneType) else _full_segment


def _plain_segment(
    rank, count, runs, begin, stop, x, y, width, colored, mirrored, corners, attributes, linear, space, rays,
    ambient, lights, material, turn, node, owners, places, full,
):  # fmt: skip
    """Directional light alone."""
    light_plain(
        space[begin:], stop - begin, np.float32(y), x + begin, rays, turn, material, colored, ambient, lights,
        runs, COLOR + begin,
    )  # fmt: skip


def _full_segment(
    rank, count, runs, begin, stop, x, y, width, colored, mirrored, corners, attributes, linear, space, rays,
    ambient, lights, material, turn, node, owners, places, full,
):  # fmt: skip
    """All that there is: textures, places in the world, shadows, alpha."""
    functions, located = full.functions[rank], full.located_at[rank]
    segment, segment_at, count_of = space[begin:], located[begin:], stop - begin
    weigh_full(count, corners, attributes, colored, mirrored, material[8], linear, functions, full)
    lay_full(count, runs, x, y, linear, functions, space, located, places, full)
    prepare(segment, count_of, rays, turn, material, colored)
    make_up(segment, count_of, material)
    texture(space, count, runs, begin, stop, functions, full.coordinates[rank], material, node, full)
    if full.located:
        locate(segment, segment_at, count_of, full)
    ambient_light(segment, count_of, ambient, material)
    lights = lights[:0] if material[11] > 0 else lights
    light(segment, segment_at, count_of, lights, material, full.coordinates[rank], full)
    _finish(segment, count_of, material)
    _keep(segment, count_of, y, x + begin, owners[begin:], runs, begin, y * width + begin, places, full)


@kernel
def shade(
    rank, size, barrier, positions, colors, triangles, triangle_start, flip, clip, grid, viewport,
    depth_scale, records, normals, turns, cut, material, rays, lights, ambient, background, ids, next_rows,
    runs, raw, corners, attributes, linear, working, out, lit, full,
):  # fmt: skip
    """Fill ``out`` (height, width) int32, a view of RGBA bytes, from the triangles in ``ids``.

    With ``full.places`` the "picture" is a list of pixels, and ``full.colors`` is filled instead. ``cut``
    says whether any vertex was clipped; ``triangles`` (3 T,) and the vertices' ``records``, two int64
    each, and ``normals``, three float32 as int32, are flat. ``runs`` to ``working`` are working space by
    rank.
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
                places = owners
                if full is not None:
                    places = full.places[min(y, full.places.shape[0] - 1), : full.listed * BLOCK]
                pieces, piece = split(owners, own, places, full), 0
                while piece < pieces:
                    begin = own[PIECES + piece]
                    if owners[begin] < 0:
                        piece += 1
                        continue
                    # As far as pixels show one node, they are one segment: one material.
                    node = node_of(owners[begin], triangle_start)
                    low, high, look = triangle_start[node], triangle_start[node + 1], material[node]
                    count, stop, lit_here, piece = find_runs(
                        piece, pieces, owners, low, high, cut, triangles, records, own
                    )
                    fetch(
                        count, own, owners, x, y, triangles, records, normals, positions, clip[node],
                        grid[node], viewport, depth_scale, cut, colors, raw[rank], corner, attribute, places,
                        full,
                    )  # fmt: skip
                    shown += lit_here
                    mirrored = flip[node] != 0
                    weigh(count, corner, attribute, colored, mirrored, look, function, full)
                    lay(count, own, function, colored, space)
                    _segment(
                        rank, count, own, begin, stop, x, y, width, colored, mirrored, corner, attribute,
                        function, space, rays, ambient, lights, look, turns[node], node, owners, places,
                        full,
                    )  # fmt: skip
                if full is None or places.shape[0] == 0:
                    _show(owners, own, empty, pixels)
        y0 = claim(next_rows, 0) * ROWS
    lit[rank] = shown
