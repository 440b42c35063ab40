"""What a pass of the fast kernel multiplied, told to the ledger.

The kernel counts ticks a stage in some of the layers, which stand for all; the seconds of the whole pass are
split by them. Where one stage holds several products (Q, K and V; gate and up; scores and weighted V), its
time is split by their FLOP: derived, not measured.
"""

from dataclasses import dataclass
from math import ceil
from typing import Any

from whygpu.engine import report, report_other
from whygpu.models import FAST_TILES, Architecture, attention_tiles
from whygpu.think.fast.state import WATCHED

__all__ = ["STAGES", "Books"]

STAGES = ("norm", "Q K V", "rope", "attention", "merge", "out", "gate up", "down", "head")
"""What the kernel's clock counts, in its order."""
STAGE_PRODUCTS = {
    "Q K V": ("Q", "K", "V"),
    "out": ("out",),
    "gate up": ("gate", "up"),
    "down": ("down",),
}
FLOAT, HALF = 4, 2


@dataclass(frozen=True, slots=True)
class Books:
    """What does not change from pass to pass: each product's shape and packed bytes, by its ledger name."""

    architecture: Architecture
    shapes: dict[str, tuple[int, int, float]]  # (n, k, its share of its stage's multiply-adds)
    sizes: dict[str, int]

    def account(self, tokens: int, past: int, wanted: bool, clock: Any, seconds: float) -> None:
        """Report one pass of ``seconds``; ``clock`` are its ticks by stage."""
        a = self.architecture
        watched = a.layers / ceil(a.layers / WATCHED)  # layers that each watched one stands for
        ticks = [
            int(tick) * (1 if stage == "head" else watched) for stage, tick in zip(STAGES, clock, strict=True)
        ]
        second = seconds / (sum(ticks) or 1)
        share = {stage: second * tick for stage, tick in zip(STAGES, ticks, strict=True)}
        for stage, names in STAGE_PRODUCTS.items():
            self._products(names, tokens, a.layers, share[stage])
        if wanted:
            self._products(("head",), 1, 1, share["head"])
        _attention(a, tokens, past, share["attention"])
        width = a.d_model * tokens * a.layers
        report_other("norm", flop=2 * 7 * width, size=4 * FLOAT * width, seconds=share["norm"])
        turned = (a.heads + 2 * a.kv_heads) * a.head_dim * tokens * a.layers
        report_other("rope", flop=3 * turned, size=2 * FLOAT * turned, seconds=share["rope"])
        report_other("merge", flop=2 * width, size=2 * FLOAT * width, seconds=share["merge"])

    def _products(self, names: tuple[str, ...], rows: int, count: int, seconds: float) -> None:
        for name in names:
            n, k, share = self.shapes[name]
            size = self.sizes[name] + rows * (k + FLOAT * n)
            report(name, m=rows, n=n, k=k, dtype="int8", size=size, count=count, seconds=seconds * share)


def _attention(a: Architecture, tokens: int, past: int, seconds: float) -> None:
    tiles = attention_tiles(tokens, past, a.group, FAST_TILES)
    work = {positions: positions * rows * (4 * a.head_dim + 6) for positions, rows in tiles.items()}
    whole = sum(work.values())
    numbers = 0
    for positions, rows in tiles.items():
        half = seconds * work[positions] / whole * 2 * a.head_dim / (4 * a.head_dim + 6)
        moved = positions * a.head_dim * HALF + rows * (a.head_dim + positions) * FLOAT
        size = a.kv_heads * moved

        def product(
            name: str, n: int, k: int, rows: int = rows, size: int = size, half: float = half
        ) -> None:
            report(
                name,
                batch=a.kv_heads,
                m=rows,
                n=n,
                k=k,
                dtype="float16",
                size=size,
                count=a.layers,
                seconds=half,
            )

        product("scores", positions, a.head_dim)
        product("weighted V", a.head_dim, positions)
        numbers += positions * rows * a.kv_heads * a.layers
    spent = seconds * 6 / (4 * a.head_dim + 6)
    report_other("softmax", flop=6 * numbers, size=2 * FLOAT * numbers, seconds=spent)
