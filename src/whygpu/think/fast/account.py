"""What a pass of the fast kernel multiplied, told to the ledger.

The kernel counts ticks a stage; the seconds of the whole pass are split by them. Where one stage holds
several products (Q, K and V; gate and up; scores and weighted V), its time is split by their FLOP: derived,
not measured.
"""

from typing import Any

from whygpu.engine import report, report_other
from whygpu.models import FAST_TILES, Architecture, attention_tiles

__all__ = ["STAGES", "account"]

STAGES = ("norm", "Q K V", "rope", "attention", "merge", "out", "gate up", "down", "head")
"""What the kernel's clock counts, in its order."""
FLOAT, HALF = 4, 2


def account(
    a: Architecture, sizes: dict[str, int], tokens: int, past: int, wanted: bool, clock: Any, seconds: float
) -> None:
    """Report one pass: ``sizes`` are the packed bytes of a matrix of each name, ``clock`` ticks a stage."""
    ticks = [int(tick) for tick in clock]
    share = {stage: seconds * tick / (sum(ticks) or 1) for stage, tick in zip(STAGES, ticks, strict=True)}
    shapes = a.tensors()

    def product(name: str, tensor: str, rows: int, count: int, spent: float) -> None:
        n, k = shapes[tensor]
        moved = sizes[name] + rows * (k + FLOAT * n)
        report(name, m=rows, n=n, k=k, dtype="int8", size=moved, count=count, seconds=spent)

    def stage(name: str, tensors: dict[str, str]) -> None:
        weights = {key: shapes[tensor][0] * shapes[tensor][1] for key, tensor in tensors.items()}
        for key, tensor in tensors.items():
            product(key, tensor, tokens, a.layers, share[name] * weights[key] / sum(weights.values()))

    stage("Q K V", {"Q": "0.q", "K": "0.k", "V": "0.v"})
    stage("out", {"out": "0.out"})
    stage("gate up", {"gate": "0.gate", "up": "0.up"})
    stage("down", {"down": "0.down"})
    if wanted:
        product("head", "embedding" if a.tied_head else "head", 1, 1, share["head"])
    _attention(a, tokens, past, share["attention"])
    width = a.d_model * tokens * a.layers
    report_other("norm", flop=2 * 7 * width, size=4 * FLOAT * width, seconds=share["norm"])
    turned = (a.heads + 2 * a.kv_heads) * a.head_dim * tokens * a.layers
    report_other("rope", flop=3 * turned, size=2 * FLOAT * turned, seconds=share["rope"])
    report_other("merge", flop=2 * width, size=2 * FLOAT * width, seconds=share["merge"])


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
