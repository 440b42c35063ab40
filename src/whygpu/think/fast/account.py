"""What a pass of the fast kernel multiplied, told to the ledger.

The kernel counts ticks a stage in some of the layers, which stand for all; the seconds of the whole pass are
split by them. Where one stage holds several products (Q, K and V; gate and up; scores and weighted V), its
time is split by their FLOP: derived, not measured.
"""

from collections import Counter
from dataclasses import dataclass
from math import ceil
from typing import Any

from whygpu.engine import report, report_other
from whygpu.models import FAST_TILES, Architecture, Layer, attention_tiles
from whygpu.think.fast.formats import FORMATS
from whygpu.think.fast.state import WATCHED

__all__ = ["STAGES", "Books"]

STAGES = ("norm", "Q K V", "rope", "attention", "merge", "out", "gate up", "down", "head", "router")
"""What the kernel's clock counts, in its order."""
PLACES = {"Q": "q", "K": "k", "V": "v", "out": "out", "gate": "gate", "up": "up", "down": "down"}
STAGE_OF = {"Q": "Q K V", "K": "Q K V", "V": "Q K V", "out": "out", "gate": "gate up", "up": "gate up",
            "down": "down", "router": "router", "head": "head"}  # fmt: skip
FLOAT, HALF = 4, 2


@dataclass(frozen=True, slots=True)
class _Product:
    """``count`` equal products of a pass."""

    name: str
    m: int
    n: int
    k: int
    dtype: str
    weights: int  # bytes


@dataclass(frozen=True, slots=True)
class Books:
    """What does not change from pass to pass: each matrix's packed bytes and block type, by its name."""

    architecture: Architecture
    sizes: dict[str, int]
    kinds: dict[str, str]

    def account(self, tokens: int, past: int, wanted: bool, routed: Any, clock: Any, seconds: float) -> None:
        """Report one pass of ``seconds``; ``clock``: its ticks by stage, ``routed``: each expert's tokens."""
        a = self.architecture
        watched = a.layers / ceil(a.layers / WATCHED)  # layers that each watched one stands for
        ticks = [
            int(tick) * (1 if stage == "head" else watched) for stage, tick in zip(STAGES, clock, strict=True)
        ]
        second = seconds / (sum(ticks) or 1)
        spent = {stage: second * tick for stage, tick in zip(STAGES, ticks, strict=True)}
        products = Counter[_Product]()
        for layer in range(a.layers):
            products.update(self._products(layer, tokens, routed))
        if wanted:
            name = "embedding" if a.tied_head else "head"
            products[self._product("head", name, 1, a.vocab, a.d_model)] += 1
        _report(products, spent)
        _attention(a, tokens, past, spent["attention"])
        self._others(tokens, spent)

    def _products(self, layer: int, tokens: int, routed: Any) -> list[_Product]:
        """Those of one block."""
        a, block = self.architecture, self.architecture.blocks[layer]
        found = []
        for name, (n, k) in _sides(a, block).items():
            stored = f"{layer}.{PLACES[name]}"
            if block.experts is None or name in ("Q", "K", "V", "out"):
                found.append(self._product(name, stored, tokens, n, k))
                continue
            stored, e = f"{layer}.expert_{PLACES[name]}", block.experts
            sent = [int(count) for count in routed[layer, : e.count] if count]
            found += [self._product(name, stored, count, n, k, e.count) for count in sent]
        if block.experts is not None:
            found.append(self._product("router", f"{layer}.router", tokens, block.experts.count, a.d_model))
        return found

    def _product(self, name: str, stored: str, m: int, n: int, k: int, experts: int = 1) -> _Product:
        floats = FORMATS[self.kinds[stored]].floats
        return _Product(name, m, n, k, "float32" if floats else "int8", self.sizes[stored] // experts)

    def _others(self, tokens: int, spent: dict[str, float]) -> None:
        """What is no product."""
        a = self.architecture
        width = a.d_model * tokens * a.layers
        report_other("norm", flop=2 * 7 * width, size=4 * FLOAT * width, seconds=spent["norm"])
        turned = sum(block.heads + 2 * block.kv_heads for block in a.blocks) * a.head_dim * tokens
        report_other("rope", flop=3 * turned, size=2 * FLOAT * turned, seconds=spent["rope"])
        mixed = sum(block.heads for block in a.blocks) * a.head_dim * tokens
        report_other("merge", flop=2 * mixed, size=2 * FLOAT * mixed, seconds=spent["merge"])


def _sides(a: Architecture, block: Layer) -> dict[str, tuple[int, int]]:
    """(n, k) of a block's products with weights, the router aside."""
    d, q, kv = a.d_model, block.heads * a.head_dim, block.kv_heads * a.head_dim
    wide = block.experts.d_ff if block.experts else block.d_ff
    gate = {"gate": (wide, d)} if a.features.gated else {}
    return {
        "Q": (q, d),
        "K": (kv, d),
        "V": (kv, d),
        "out": (d, q),
        **gate,
        "up": (wide, d),
        "down": (d, wide),
    }


def _report(products: Counter[_Product], spent: dict[str, float]) -> None:
    """Each product, with its part of its stage's time by its multiply-adds."""
    whole = Counter[str]()
    for p, count in products.items():
        whole[STAGE_OF[p.name]] += count * p.m * p.n * p.k
    for p, count in products.items():
        stage = STAGE_OF[p.name]
        seconds = spent[stage] * count * p.m * p.n * p.k / whole[stage]
        size = p.weights + p.m * (p.k * (FLOAT if p.dtype == "float32" else 1) + FLOAT * p.n)
        report(p.name, m=p.m, n=p.n, k=p.k, dtype=p.dtype, size=size, count=count, seconds=seconds)


def _attention(a: Architecture, tokens: int, past: int, seconds: float) -> None:
    tiles = Counter[tuple[int, int, int]]()  # (K/V heads, positions, rows): layers
    for block, layers in Counter(a.blocks).items():
        reach = attention_tiles(tokens, past, block.group, FAST_TILES, block.window)
        for positions, rows in reach.items():
            tiles[block.kv_heads, positions, rows] += layers
    each = 4 * a.head_dim + 6
    whole = sum(layers * heads * positions * rows for (heads, positions, rows), layers in tiles.items())
    for (heads, positions, rows), layers in tiles.items():
        half = seconds * layers * heads * positions * rows / whole * 2 * a.head_dim / each
        size = heads * (positions * a.head_dim * HALF + rows * (a.head_dim + positions) * FLOAT)
        for name, n, k in (("scores", positions, a.head_dim), ("weighted V", a.head_dim, positions)):
            report(
                name, batch=heads, m=rows, n=n, k=k, dtype="float16", size=size, count=layers, seconds=half
            )  # fmt: skip
    report_other("softmax", flop=6 * whole, size=2 * FLOAT * whole, seconds=seconds * 6 / each)
