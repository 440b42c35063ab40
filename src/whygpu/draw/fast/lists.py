"""Pixels with lists, in portions whose memory is bounded: planned, written, shaded elsewhere, blended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from whygpu import engine
from whygpu.draw.fast.account import account
from whygpu.draw.fast.bins import ROWS
from whygpu.draw.fast.blend import blend
from whygpu.draw.fast.fields import BLOCK
from whygpu.draw.fast.fragments import gather
from whygpu.draw.fast.rules import ONE
from whygpu.draw.fast.samples import PATTERNS
from whygpu.draw.fast.workspace import Workspace
from whygpu.draw.geometry import Geometry
from whygpu.draw.textures import TABLES
from whygpu.draw.uniforms import Uniforms
from whygpu.engine.threads import Team

__all__ = ["AT_ONCE", "Batch", "Lists"]

AT_ONCE = 1 << 20
"""Entries that are in memory together, 36 bytes each; more only where a single pixel has more."""

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Batch:
    """Tiles whose entries are in memory together; n entries in rows of ``BLOCK``."""

    tiles: Ints
    """(tiles, 4)."""
    places: Ints
    """(rows, BLOCK): row << 16 | column."""
    owners: Ints
    """(rows, BLOCK): triangles; -1 after the last entry."""
    depths: Floats
    """(n,)."""
    masks: Ints
    """(n,): bit s for sample s, ``fragments.SOLID`` for what is opaque."""
    nexts: Ints
    """(n,): the next entry of the same pixel; -1: none."""
    colors: Floats
    """(rows * BLOCK, 4): linear RGB and alpha."""
    facing: Floats
    """(rows, BLOCK, 3): normals; (0, 0, 3) where nobody asked."""


class Lists:
    """One frame's pixels with lists: ``plan``, then for each of ``batches`` shade it and ``blend`` it."""

    def __init__(
        self, team: Team, geometry: Geometry, uniforms: Uniforms, space: Workspace, nearest: Floats,
        ids: Ints, hidden: int,
    ) -> None:  # fmt: skip
        self.team, self.geometry, self.uniforms, self.space = team, geometry, uniforms, space
        self.nearest, self.ids, self.hidden = nearest, ids, hidden
        self.shown = np.empty((uniforms.height, uniforms.width), np.int32)
        self.heads = np.empty((uniforms.height, uniforms.width), np.int32)
        pattern = PATTERNS[uniforms.samples]
        self.offsets = np.array(pattern, np.int32) * np.int32(ONE // 16)
        self.edges = np.empty((team.size, len(pattern), 5), np.int64)
        self.planes = np.empty((team.size, len(pattern), 3))
        self.tiles = np.empty((0, 4), np.int32)
        self.totals = np.empty(0, np.int64)
        self.tested = 0
        """Samples for which edge functions were evaluated so far: once to count, once to write."""

    def plan(self) -> None:
        """Cut the picture into tiles of at most ``AT_ONCE`` entries."""
        u = self.uniforms
        tops = np.arange(0, u.height, ROWS, dtype=np.int32)
        tiles = np.stack([0 * tops, 0 * tops + u.width, tops, np.minimum(tops + ROWS, u.height)], axis=1)
        fresh, known = True, []
        while len(tiles):
            totals = np.zeros(len(tiles), np.int64)
            self._gather(tiles, totals, None, fresh)
            fresh = False
            sizes = (tiles[:, 1] - tiles[:, 0]) * (tiles[:, 3] - tiles[:, 2])
            large = (totals > AT_ONCE) & (sizes > 1)
            known.append((tiles[~large], totals[~large]))
            tiles = _halves(tiles[large])
        self.tiles = np.concatenate([part for part, _ in known])
        self.totals = np.concatenate([part for _, part in known])

    def batches(self, depth: Floats, seen: Ints, with_normals: bool) -> Iterator[Batch]:
        """Write the entries of as many tiles as fit, again and again.

        ``depth`` and ``seen`` (height, width) get what is opaque and nearest.
        """
        start = 0
        while start < len(self.tiles):
            sums = np.cumsum(self.totals[start:])
            stop = start + max(1, int(np.searchsorted(sums, AT_ONCE, side="right")))
            batch = self._batch(start, stop, with_normals)
            firsts = np.cumsum([0, *self.totals[start : stop - 1]], dtype=np.int64)
            self._gather(batch.tiles, firsts, (batch, depth, seen), False)
            yield batch
            start = stop

    def _batch(self, start: int, stop: int, with_normals: bool) -> Batch:
        count = int(self.totals[start:stop].sum())
        rows = -(-count // BLOCK)
        owners = np.empty((rows, BLOCK), np.int32)
        owners.ravel()[count:] = -1
        return Batch(
            np.ascontiguousarray(self.tiles[start:stop]),
            np.empty((rows, BLOCK), np.int32),
            owners,
            np.empty(count, np.float32),
            np.empty(count, np.int32),
            np.empty(count, np.int32),
            np.empty((rows * BLOCK, 4), np.float32),
            np.empty((rows, BLOCK, 3) if with_normals else (0, 0, 3), np.float32),
        )

    def _gather(
        self, tiles: Ints, totals: NDArray[np.int64], into: tuple[Batch, Floats, Ints] | None, fresh: bool
    ) -> None:
        """Count the entries of tiles, or write them."""
        g, u, space = self.geometry, self.uniforms, self.space
        none, no_depth, no_ids = _NOTHING, np.empty((0, 0), np.float32), np.empty((0, 0), np.int32)
        batch, depth, seen = (none, no_depth, no_ids) if into is None else into
        space.next[:] = 0
        tested = np.zeros(self.team.size, np.int64)
        started = perf_counter()
        self.team.run(
            gather, g.positions, g.triangles, g.triangle_start, u.flip, u.mixed, u.clip, u.grid, u.viewport,
            space.fixed, space.real, space.kept, space.clip, space.pieces, space.pieces.view(np.float32),
            self.offsets, self.edges, self.planes, self.nearest, self.ids, self.hidden, tiles, space.next[0],
            fresh, into is not None, totals, self.shown, depth, seen, self.heads, batch.nexts,
            batch.places.ravel(), batch.owners.ravel(), batch.depths, batch.masks, tested,
        )  # fmt: skip
        seconds = perf_counter() - started
        looked = int(tested.sum())
        self.tested += looked
        if engine.listening():
            products = [("edge functions", "int64", 1, looked, 3, 3, 0)] if looked else []
            size = 20 * len(batch.nexts) + 12 * self.ids.size
            account(products, [("fragment lists", 8 * looked + self.ids.size, size)], seconds)

    def blend(self, batch: Batch, depth: Floats, ids: Ints, out: Ints, facing: Floats) -> None:
        """Mix the pixels of a batch that has been shaded."""
        g, u, space = self.geometry, self.uniforms, self.space
        space.next[:] = 0
        longest = self._longest(batch)
        size, samples = self.team.size, u.samples
        started = perf_counter()
        self.team.run(
            blend, batch.tiles, space.next[0], self.heads, batch.nexts, batch.owners.ravel(), batch.depths,
            batch.depths.view(np.int32), batch.masks, batch.colors, batch.facing.reshape(-1, 3),
            g.triangle_start, u.material, u.background, TABLES, np.empty((size, longest), np.int64),
            np.empty((size, longest), np.int32), np.empty((size, samples), np.float32), depth, ids, out,
            facing,
        )  # fmt: skip
        if engine.listening():
            count = len(batch.nexts)
            engine.report_other(
                "blending", flop=(8 + 4 * samples) * count, size=44 * count, seconds=perf_counter() - started
            )

    def _longest(self, batch: Batch) -> int:
        """Entries of the pixel that has most of them."""
        if not len(batch.nexts):
            return 1
        places = batch.places.ravel()[: len(batch.nexts)]
        rows = places >> 16
        keys = (rows - rows.min()).astype(np.int64) * self.uniforms.width + (places & 0xFFFF)
        return int(np.bincount(keys).max())


def _halves(tiles: Ints) -> Ints:
    """Each tile cut in two: by rows, or by columns where it has one row."""
    parts = []
    for left, right, top, bottom in tiles.tolist():
        if bottom - top > 1:
            middle = (top + bottom) // 2
            parts += [(left, right, top, middle), (left, right, middle, bottom)]
        else:
            middle = (left + right) // 2
            parts += [(left, middle, top, bottom), (middle, right, top, bottom)]
    return np.array(parts, np.int32).reshape(-1, 4)


_NOTHING = Batch(
    np.empty((0, 4), np.int32), np.empty((0, BLOCK), np.int32), np.empty((0, BLOCK), np.int32),
    np.empty(0, np.float32), np.empty(0, np.int32), np.empty(0, np.int32), np.empty((0, 4), np.float32),
    np.empty((0, 0, 3), np.float32),
)  # fmt: skip
