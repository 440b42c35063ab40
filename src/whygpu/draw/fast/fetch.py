"""The corners of runs: copied as they lie in memory, then unpacked as vectors.

A vertex is a record of 16 bytes, its place in the picture (``transform``), and a normal of 12 in the space of
its mesh; each is copied as two words, so that a run costs twelve loads and as many stores, whatever is
computed from them afterwards.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, assignment"

import numpy as np

from whygpu.draw.fast.block import pair, prefetch
from whygpu.draw.fast.fields import STRIDE
from whygpu.draw.fast.rules import HALF, ONE, OUTSIDE
from whygpu.draw.fast.runs import ALPHAS, COLORS, FARS, FIRST, TANGENTS, UVS
from whygpu.draw.fast.transform import clip_position
from whygpu.engine.jit import inlined

__all__ = ["RAW", "fetch"]

RAW = 13
"""int64 of working space a pixel: four words of each corner, and the centre of a run's first pixel."""

MANY = 1 << 20
"""Vertices whose records fill the caches, so that asking for them ahead pays."""

_CENTER = 12 * STRIDE
_1, _2, _3 = np.uintp(1), np.uintp(2), np.uintp(3)


@inlined
def _copy(count, runs, owners, x, y, triangles, records, normals, raw, places, full):
    """Copy each run's corners; all arrays but ``owners`` and ``runs`` are flat."""
    if records.shape[0] > 2 * MANY:
        for run in range(count):
            t = np.uintp(3 * owners[runs[FIRST + run]])
            for corner in range(3):
                v = triangles[t + np.uintp(corner)]
                prefetch(records, 2 * v)
                prefetch(normals, 3 * v)
    for run in range(count):
        first = runs[FIRST + run]
        t = np.uintp(3 * owners[first])
        raw[_CENTER + run] = (x + first) * ONE + HALF | (y * ONE + HALF) << 32
        if full is not None and places.shape[0] > 0:
            column, row = np.int64(places[first] & 0xFFFF), np.int64(places[first] >> 16)
            raw[_CENTER + run] = column * ONE + HALF | (row * ONE + HALF) << 32
        for corner in range(3):
            v = np.uintp(triangles[t + np.uintp(corner)])
            n, v = _3 * v, v << _1
            at = 4 * (corner * STRIDE + run)
            raw[at], raw[at + 1] = records[v], records[v + _1]
            raw[at + 2], raw[at + 3] = pair(normals, n), np.int64(normals[n + _2])


@inlined
def _bits(word):
    """The float32 in the low half of a word."""
    return np.int32(word).view(np.float32)


@inlined
def _unpack(count, words, centers, corners, normals, fars, full):
    """One corner of all runs as (x w, y w, w) from its first pixel's centre, and its normal."""
    for run in range(count):
        place, rest, center = words[4 * run], words[4 * run + 1], centers[run]
        w = np.float64(_bits(rest >> 32))
        # Differences of 25 bits, so int32: only that do all CPUs turn into float64 as vectors.
        across, down = np.int32(place) - np.int32(center), (place >> 32) - (center >> 32)
        corners[run] = np.float64(np.int32(across)) * w
        corners[STRIDE + run] = np.float64(np.int32(down)) * w
        corners[2 * STRIDE + run] = w
        plane, forward = words[4 * run + 2], words[4 * run + 3]
        normals[run], normals[STRIDE + run] = _bits(plane), _bits(plane >> 32)
        normals[2 * STRIDE + run] = _bits(forward)
        if full is not None:
            fars[run] = np.float64(_bits(rest)) if full.orthographic else w


@inlined
def _clipped(
    count, runs, owners, triangles, positions, matrix, grid, viewport, depth_scale, raw, corners, full
):
    """Corners that were clipped have no place in the picture: theirs comes from clip space, see portable
    ``corner_positions``."""
    for run in range(count):
        center = raw[_CENTER + run]
        cx, cy = np.float64(np.int32(center)), np.float64(center >> 32)
        for corner in range(3):
            word = raw[4 * (corner * STRIDE + run)]
            if np.int32(word) != OUTSIDE:
                continue
            v = triangles[3 * owners[runs[FIRST + run]] + corner]
            w, to = corners[(3 * corner + 2) * STRIDE + run], 3 * corner * STRIDE + run
            px, py, pz, pw = clip_position(positions, np.int64(v), matrix, grid)
            corners[to] = (px * viewport[0] + pw * viewport[1]) * depth_scale - cx * w
            corners[to + STRIDE] = (py * viewport[2] + pw * viewport[3]) * depth_scale - cy * w
            if full is not None and full.orthographic:
                corners[FARS + corner * STRIDE + run] = pz * 0.5 + 0.5


@inlined
def _more(count, runs, owners, triangles, colors, attributes, full):
    """What only some scenes have: colours, tangents, texture coordinates."""
    for run in range(count):
        for corner in range(3):
            v = np.uintp(triangles[3 * owners[runs[FIRST + run]] + corner])
            if colors.shape[0] > 0:
                for axis in range(3):
                    attributes[COLORS + (3 * corner + axis) * STRIDE + run] = colors[v, axis]
            if full is not None:
                if colors.shape[0] > 0:
                    attributes[ALPHAS + corner * STRIDE + run] = colors[v, 3]
                for part in range(4):
                    if full.tangents.shape[0] > 0:
                        attributes[TANGENTS + (4 * corner + part) * STRIDE + run] = full.tangents[v, part]
                    if full.uv.shape[0] > 0:
                        attributes[UVS + (4 * corner + part) * STRIDE + run] = full.uv[v, part]


@inlined
def fetch(
    count, runs, owners, x, y, triangles, records, normals, positions, matrix, grid, viewport, depth_scale,
    cut, colors, raw, corners, attributes, places, full,
):  # fmt: skip
    """Fetch each run's corners, as (x w, y w, w) from its first pixel's centre, and their attributes.

    ``triangles`` (3 T,), ``records`` (2 V,) int64 and ``normals`` (3 V,), float32 as int32, are flat.
    """
    _copy(count, runs, owners, x, y, triangles, records, normals, raw, places, full)
    for corner in range(3):
        to = 3 * corner * STRIDE
        fars = corners[FARS + corner * STRIDE :]
        _unpack(
            (count + 7) & -8,
            raw[4 * corner * STRIDE :],
            raw[_CENTER:],
            corners[to:],
            attributes[to:],
            fars,
            full,
        )
    if cut:
        _clipped(
            count, runs, owners, triangles, positions, matrix, grid, viewport, depth_scale, raw, corners, full
        )
    if full is not None or colors.shape[0] > 0:
        _more(count, runs, owners, triangles, colors, attributes, full)
