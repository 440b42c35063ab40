"""Pixels with lists: sorted front to back, mixed in linear light, encoded."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

import numpy as np

from whygpu.draw.fast.arithmetic import ALPHA_AT, packed
from whygpu.draw.fast.bins import node_of
from whygpu.draw.fast.fragments import SOLID
from whygpu.engine.jit import inlined, kernel
from whygpu.engine.sync import claim

__all__ = ["blend"]


@inlined
def _sort(keys, order, count):
    """Sort by key, ascending (Shell, 1959, with gaps that triple)."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            key, entry, j = keys[i], order[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j], order[j] = keys[j - gap], order[j - gap]
                j -= gap
            keys[j], order[j] = key, entry
        gap //= 3


@inlined
def _list(head, nexts, owners, bits, masks, keys, order):
    """Write a pixel's entries and their keys: transparent before opaque, then depth, then id.

    The pieces of a clipped triangle follow one another and become one entry, with the nearest one's depth.
    """
    count, entry, last = 0, head, -1
    while entry >= 0:
        if last >= 0 and owners[entry] == owners[last] and (masks[entry] | masks[last]) & SOLID == 0:
            masks[last] |= masks[entry]
            bits[last] = min(bits[last], bits[entry])
            count -= 1
        else:
            last = entry
        solid = np.int64(masks[last] & SOLID) << 46
        keys[count] = solid | np.int64(bits[last]) << 32 | np.int64(owners[last])
        order[count] = last
        count, entry = count + 1, nexts[entry]
    return count


@kernel
def blend(
    rank, size, barrier, tiles, next_tile, heads, nexts, owners, depths, bits, masks, colors, entry_facing,
    triangle_start, material, background, tables, keys, order, through, depth, ids, out, facing,
):  # fmt: skip
    """Mix every pixel of ``tiles`` that has a list into ``out`` (height, width) int32, a view of RGBA bytes.

    What is masked and shows becomes the pixel's depth and id. ``keys``, ``order`` and ``through`` are working
    space by rank: as long as the longest list, and as a pixel has samples.
    """
    zero, one = np.float32(0), np.float32(1)
    own_keys, own_order, shine = keys[rank], order[rank], through[rank]
    samples = shine.shape[0]
    share = np.float32(1 / samples)
    thorough = (
        facing.shape[0] > 0
    )  # whether what cannot be seen may still become a pixel's depth, id or normal
    for node in range(material.shape[0]):
        thorough |= material[node, 10] == 1
    at = claim(next_tile, 0)
    while at < tiles.shape[0]:
        for y in range(tiles[at, 2], tiles[at, 3]):
            for x in range(tiles[at, 0], tiles[at, 1]):
                if heads[y, x] < 0:
                    continue
                count = _list(heads[y, x], nexts, owners, bits, masks, own_keys, own_order)
                _sort(own_keys, own_order, count)
                for s in range(samples):
                    shine[s] = one
                red, green, blue, left = zero, zero, zero, one
                done = 0
                while done < count and (left > 0 or thorough):
                    entry = own_order[done]
                    opacity, weight, left = colors[entry, 3], zero, zero
                    for s in range(samples):
                        own = opacity if masks[entry] >> s & 1 else zero
                        weight += shine[s] * own
                        shine[s] = shine[s] * (one - own)
                        left += shine[s]
                    weight *= share
                    red, green, blue = (
                        red + weight * colors[entry, 0],
                        green + weight * colors[entry, 1],
                        blue + weight * colors[entry, 2],
                    )
                    t = owners[entry]
                    cuts = masks[entry] & SOLID == 0 and opacity > 0 and depths[entry] < depth[y, x]
                    if cuts and material[node_of(t, triangle_start), 10] == 1:
                        depth[y, x], ids[y, x] = depths[entry], t
                    if facing.shape[0] > 0 and ids[y, x] == t:
                        for axis in range(3):
                            facing[y, x, axis] = entry_facing[entry, axis]
                    done += 1
                left *= share
                alpha = left * tables[0, background[y, 3]]
                red, green, blue = (
                    red + tables[1, background[y, 0]] * alpha,
                    green + tables[1, background[y, 1]] * alpha,
                    blue + tables[1, background[y, 2]] * alpha,
                )
                alpha = (one - left) + alpha
                inverse = one / (alpha if alpha > np.float32(1e-6) else one)
                code = np.int32(alpha * np.float32(255) + np.float32(0.5))
                out[y, x] = packed(red * inverse, green * inverse, blue * inverse, code << ALPHA_AT)
                if code == 0:
                    out[y, x] = 0
        at = claim(next_tile, 0)
