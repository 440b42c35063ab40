"""Which triangle is seen in which pixel: edge functions as matrix products, then a sort by depth.

A triangle's three edge functions (Pineda, 1988) are linear in the pixel's x and y. So a tile of 8 x 8
pixels against n triangles is one product: (3 n, 3) rows [d/dx, d/dy, value at the tile's corner] times
(3, 64) columns [x, y, 1]. All numbers are integers below 2**53: the product is exact in float64.

There is no scatter in the Array API standard: the nearest fragment of each pixel is found by sorting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from whygpu.draw.fast.rules import HALF, ONE, SUBPIXEL_BITS
from whygpu.draw.portable.clip import Triangles
from whygpu.draw.uniforms import Uniforms
from whygpu.engine import current, matmul, other

__all__ = ["Visible", "covered", "rasterise"]

TILE = 8
TRIANGLES_AT_ONCE = 1 << 17
PAIRS_AT_ONCE = 1 << 15
"""(triangle, tile) pairs whose 64 pixels are tested together: about 100 MB."""


@dataclass(frozen=True, eq=False)
class Visible:
    """What is seen, by pixel."""

    depth: Any
    """(height * width,) float32; 1 where nothing is."""
    ids: Any
    """(height * width,) int64: triangle id; -1 where nothing is."""
    tested: int
    """How many pixels the edge functions were evaluated for."""


@dataclass(frozen=True, eq=False)
class Setup:
    """What a triangle needs to be tested, corners turned so that the inside is positive; n triangles."""

    source: Any
    """(n,) int64: id."""
    x: Any
    """(n, 3) int64: corners, sub-pixel units."""
    y: Any
    """(n, 3) int64."""
    across: Any
    """(n, 3) int64: what each edge function gains for one pixel to the right."""
    down: Any
    """(n, 3) int64: and for one pixel down."""
    bias: Any
    """(n, 3) int64: -1 where a pixel centre on the edge is not inside (the top-left rule)."""
    plane: Any
    """(n, 3) float64: depth at the anchor pixel, its slope in x, in y."""
    box: Any
    """(n, 4) int64: first and last pixel column, first and last row that may be covered."""


def rasterise(triangles: Triangles, double_sided: Any, flip: Any, uniforms: Uniforms) -> Visible:
    """Find the nearest triangle of every pixel (depth test LESS; on a tie the lower id wins).

    ``double_sided`` and ``flip`` are (T,) bool by triangle id.
    """
    backend = current()
    xp = backend.xp
    pixels = uniforms.width * uniforms.height
    nothing = xp.zeros(0, dtype=xp.int64, device=backend.device)
    found = (nothing, xp.astype(nothing, xp.float32), nothing)  # pixel, depth, id; sorted by pixel
    tested = 0
    for fragments, looked in covered(triangles, double_sided, flip, uniforms):
        tested += looked
        with other("depth test", size=40 * fragments[0].shape[0]):
            found = _nearest(xp, found, fragments)
    with other("resolve", size=20 * pixels):
        depth, ids = _picture(xp, found, pixels)
    return Visible(depth, ids, tested)


def covered(
    triangles: Triangles, double_sided: Any, flip: Any, uniforms: Uniforms
) -> Iterator[tuple[tuple[Any, Any, Any], int]]:
    """All pixels that triangles cover, in portions: (pixel, depth, id) and how many pixels were tested.

    Within a portion and from one to the next, ids ascend for each pixel.
    """
    xp = current().xp
    count = triangles.corners.shape[0]
    for start in range(0, count, TRIANGLES_AT_ONCE):
        part = slice(start, min(start + TRIANGLES_AT_ONCE, count))
        with other("triangle setup", size=200 * (part.stop - start)):
            setup = _setup(xp, triangles, part, double_sided, flip, uniforms)
        if setup is None:
            continue
        tiles, first = _tiles(xp, setup)
        pairs = int(tiles[-1])
        for start_pair in range(0, pairs, PAIRS_AT_ONCE):
            stop = min(start_pair + PAIRS_AT_ONCE, pairs)
            yield (
                _fragments(xp, setup, tiles, first, start_pair, stop, uniforms),
                TILE * TILE * (stop - start_pair),
            )


def _setup(
    xp: Any, triangles: Triangles, part: slice, double_sided: Any, flip: Any, uniforms: Uniforms
) -> Setup | None:
    """Cull what faces away, has no area or covers no pixel centre; None where nothing is left."""
    source, corners = triangles.source[part], triangles.corners[part, ...]
    flat = xp.reshape(corners, (-1,))
    at = xp.reshape(xp.take(triangles.screen, flat, axis=0), (-1, 3, 2))
    z = xp.astype(xp.reshape(xp.take(triangles.depth, flat, axis=0), (-1, 3)), xp.float64)
    x, y = at[:, :, 0], at[:, :, 1]
    area = (x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (x[:, 2] - x[:, 0]) * (y[:, 1] - y[:, 0])
    front = (area < 0) != xp.take(flip, source, axis=0)  # y points down: counter-clockwise is negative
    box = xp.stack(
        [
            _at_least(xp, (xp.min(x, axis=1) + HALF - 1) >> SUBPIXEL_BITS, 0),
            _at_most(xp, (xp.max(x, axis=1) - HALF) >> SUBPIXEL_BITS, uniforms.width - 1),
            _at_least(xp, (xp.min(y, axis=1) + HALF - 1) >> SUBPIXEL_BITS, 0),
            _at_most(xp, (xp.max(y, axis=1) - HALF) >> SUBPIXEL_BITS, uniforms.height - 1),
        ],
        axis=1,
    )
    drawn = (area != 0) & (front | xp.take(double_sided, source, axis=0))
    drawn = drawn & (box[:, 0] <= box[:, 1]) & (box[:, 2] <= box[:, 3])
    (kept,) = xp.nonzero(drawn)
    if kept.shape[0] == 0:
        return None
    x, y, z, area = (xp.take(a, kept, axis=0) for a in (x, y, z, area))
    x, y, z = (_turned(xp, a, area) for a in (x, y, z))
    dx, dy = _edges(xp, x), _edges(xp, y)  # (n, 3): edge i is opposite corner i
    across, down = -dy * ONE, dx * ONE
    inclusive = (dy < 0) | ((dy == 0) & (dx > 0))  # left edges, top edges
    bias = xp.astype(inclusive, xp.int64) - 1
    plane = _depth_plane(xp, x, y, z, across, down, xp.abs(area))
    source, box = xp.take(source, kept, axis=0), xp.take(box, kept, axis=0)
    return Setup(source, x, y, across, down, bias, plane, box)


def _turned(xp: Any, corners: Any, area: Any) -> Any:
    """Swap the last two corners where the area is negative; (n, 3)."""
    swapped = xp.stack([corners[:, 0], corners[:, 2], corners[:, 1]], axis=1)
    return xp.where((area < 0)[:, None], swapped, corners)


def _edges(xp: Any, corner: Any) -> Any:
    """Along each edge: from corner 1 to 2, 2 to 0, 0 to 1; (n, 3)."""
    a, b, c = corner[:, 0], corner[:, 1], corner[:, 2]
    return xp.stack([c - b, a - c, b - a], axis=1)


def _depth_plane(xp: Any, x: Any, y: Any, z: Any, across: Any, down: Any, area: Any) -> Any:
    """Depth is linear in the picture: its value at the pixel of corner 0 and its two slopes; (n, 3)."""
    to_1, to_2 = z[:, 1] - z[:, 0], z[:, 2] - z[:, 0]
    inverse = xp.ones_like(to_1) / xp.astype(area, xp.float64)
    across, down = xp.astype(across, xp.float64), xp.astype(down, xp.float64)
    slope_x = (across[:, 1] * to_1 + across[:, 2] * to_2) * inverse
    slope_y = (down[:, 1] * to_1 + down[:, 2] * to_2) * inverse
    away_x = xp.astype((x[:, 0] >> SUBPIXEL_BITS) * ONE + HALF - x[:, 0], xp.float64) * (1 / ONE)
    away_y = xp.astype((y[:, 0] >> SUBPIXEL_BITS) * ONE + HALF - y[:, 0], xp.float64) * (1 / ONE)
    return xp.stack([(z[:, 0] + slope_x * away_x) + slope_y * away_y, slope_x, slope_y], axis=1)


def _tiles(xp: Any, setup: Setup) -> tuple[Any, Any]:
    """Number the (triangle, tile) pairs: running totals, and the number of each triangle's first; (n,)."""
    tile = setup.box // TILE  # first and last tile column, first and last tile row
    count = (tile[:, 1] - tile[:, 0] + 1) * (tile[:, 3] - tile[:, 2] + 1)
    total = xp.cumulative_sum(count)
    return total, total - count


def _fragments(
    xp: Any, setup: Setup, tiles: Any, first: Any, start: int, stop: int, uniforms: Uniforms
) -> tuple[Any, Any, Any]:
    """Test the pixels of the pairs from ``start`` to ``stop``; pixel, depth, id of those covered."""
    device = current().device
    pair = xp.arange(start, stop, dtype=xp.int64, device=device)
    with other("tile setup", size=150 * (stop - start)):
        triangle = xp.searchsorted(tiles, pair, side="right")
        box = xp.take(setup.box, triangle, axis=0)
        place = pair - xp.take(first, triangle, axis=0)
        columns = box[:, 1] // TILE - box[:, 0] // TILE + 1
        left = (box[:, 0] // TILE + place % columns) * TILE  # (pairs,) pixel column of the tile's corner
        top = (box[:, 2] // TILE + place // columns) * TILE
        edges = _tile_edges(xp, setup, triangle, left, top)  # (3 * pairs, 3)
        pixels = _tile_pixels(xp, device)  # (3, 64)
    value = matmul(edges, pixels, name="edge functions")  # (3 * pairs, 64)
    with other("coverage", flop=3 * 64 * (stop - start), size=8 * 3 * 64 * (stop - start)):
        inside = xp.all(xp.reshape(value, (-1, 3, TILE * TILE)) >= 0, axis=1)  # (pairs, 64)
        which, offset = xp.nonzero(inside)
        x = xp.take(left, which, axis=0) + offset % TILE
        y = xp.take(top, which, axis=0) + offset // TILE
        (seen,) = xp.nonzero((x < uniforms.width) & (y < uniforms.height))
        x, y, which = (xp.take(a, seen, axis=0) for a in (x, y, which))
        triangle = xp.take(triangle, which, axis=0)
        depth = _depth(xp, setup, triangle, x, y)
        (near,) = xp.nonzero(depth < 1)  # what lies on the far plane is background
        pixel = xp.take(y * uniforms.width + x, near, axis=0)
        source = xp.take(setup.source, xp.take(triangle, near, axis=0), axis=0)
        return pixel, xp.take(depth, near, axis=0), source


def _tile_edges(xp: Any, setup: Setup, triangle: Any, left: Any, top: Any) -> Any:
    """Rows of the product: three edge functions a pair, relative to the tile's first pixel centre."""
    across, down = xp.take(setup.across, triangle, axis=0), xp.take(setup.down, triangle, axis=0)
    x, y, bias = (xp.take(a, triangle, axis=0) for a in (setup.x, setup.y, setup.bias))
    px, py = left * ONE + HALF, top * ONE + HALF  # (pairs,)
    # edge i starts at corner i + 1
    start_x = xp.stack([x[:, 1], x[:, 2], x[:, 0]], axis=1)
    start_y = xp.stack([y[:, 1], y[:, 2], y[:, 0]], axis=1)
    value = (down >> SUBPIXEL_BITS) * (py[:, None] - start_y)
    value = value + (across >> SUBPIXEL_BITS) * (px[:, None] - start_x) + bias
    rows = xp.stack([across, down, value], axis=2)  # (pairs, 3 edges, 3)
    return xp.astype(xp.reshape(rows, (-1, 3)), xp.float64)


def _tile_pixels(xp: Any, device: Any) -> Any:
    """Columns of the product: x, y, 1 of each pixel of a tile; (3, 64) float64."""
    place = xp.arange(TILE * TILE, dtype=xp.int64, device=device)
    return xp.astype(xp.stack([place % TILE, place // TILE, xp.ones_like(place)], axis=0), xp.float64)


def _depth(xp: Any, setup: Setup, triangle: Any, x: Any, y: Any) -> Any:
    """Depth of pixels, (n,) float32. The order of the operations is part of the rules."""
    plane = xp.take(setup.plane, triangle, axis=0)
    anchor_x = xp.take(setup.x[:, 0], triangle, axis=0) >> SUBPIXEL_BITS
    anchor_y = xp.take(setup.y[:, 0], triangle, axis=0) >> SUBPIXEL_BITS
    row = plane[:, 0] + plane[:, 2] * xp.astype(y - anchor_y, xp.float64)
    depth = row + plane[:, 1] * xp.astype(x - anchor_x, xp.float64)
    return xp.astype(xp.where(depth > 0, depth, xp.zeros_like(depth)), xp.float32)


def _nearest(xp: Any, found: tuple[Any, Any, Any], fragments: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Keep one fragment a pixel. Both sorts are stable and later ones have higher ids: ties are settled."""
    pixel, depth, source = (xp.concat([a, b], axis=0) for a, b in zip(found, fragments, strict=True))
    if pixel.shape[0] == 0:
        return found
    by_depth = xp.argsort(depth, stable=True)
    order = xp.take(by_depth, xp.argsort(xp.take(pixel, by_depth, axis=0), stable=True), axis=0)
    pixel = xp.take(pixel, order, axis=0)
    (first,) = xp.nonzero(xp.concat([xp.ones_like(pixel[:1]) == 1, pixel[1:] != pixel[:-1]], axis=0))
    kept = xp.take(order, first, axis=0)
    return xp.take(pixel, first, axis=0), xp.take(depth, kept, axis=0), xp.take(source, kept, axis=0)


def _picture(xp: Any, found: tuple[Any, Any, Any], pixels: int) -> tuple[Any, Any]:
    """Spread what was found over all pixels by search, since nothing may be scattered."""
    pixel, depth, source = found
    device = current().device
    every = xp.arange(pixels, dtype=xp.int64, device=device)
    far = xp.ones(pixels, dtype=xp.float32, device=device)
    if pixel.shape[0] == 0:
        return far, xp.zeros_like(every) - 1
    place = _at_most(xp, xp.searchsorted(pixel, every), pixel.shape[0] - 1)
    hit = xp.take(pixel, place, axis=0) == every
    return xp.where(hit, xp.take(depth, place, axis=0), far), xp.where(
        hit, xp.take(source, place, axis=0), xp.zeros_like(every) - 1
    )


def _at_least(xp: Any, values: Any, low: int) -> Any:
    return xp.where(values < low, xp.zeros_like(values) + low, values)


def _at_most(xp: Any, values: Any, high: int) -> Any:
    return xp.where(values > high, xp.zeros_like(values) + high, values)
