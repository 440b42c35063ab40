"""Tensor parallel: which part of each weight array a rank has (Shoeybi et al. 2019, Megatron-LM).

Q, K, V, gate and up are cut by rows, out and down by columns, so that attention and MLP each need one sum
over the ranks; embedding and head are cut by the vocabulary. Experts are cut by their width, each rank has a
part of all of them. Heads that cannot be shared evenly are not: every rank then has all of attention, and no
sum follows.
"""

from dataclasses import dataclass, replace
from typing import Any

from whygpu.engine import Backend, Progress, ranks, silent
from whygpu.engine.ranks import bounds
from whygpu.models import Architecture, Checkpoint, Layer
from whygpu.think.model import Weights, gather

__all__ = ["Heads", "Share", "gather_share"]


@dataclass(frozen=True, slots=True)
class Heads:
    """A rank's part of one block's attention: heads ``first`` to ``last`` of Q, and of K and V."""

    q: tuple[int, int]
    kv: tuple[int, int]
    whole: bool
    """Whether every rank has all heads."""


@dataclass(frozen=True, slots=True)
class Share:
    """Rank ``rank``'s share of a model among ``size``."""

    architecture: Architecture
    rank: int
    size: int

    def heads(self, block: Layer) -> Heads:
        """Query heads in equal parts; K/V heads too, or, where there are fewer, the one that these share."""
        rank, size = self.rank, self.size
        if block.heads % size or (block.kv_heads % size and size % block.kv_heads):
            return Heads((0, block.heads), (0, block.kv_heads), whole=True)
        q = bounds(block.heads, rank, size)
        if block.kv_heads % size == 0:
            return Heads(q, bounds(block.kv_heads, rank, size), whole=False)
        one = rank * block.kv_heads // size
        return Heads(q, (one, one + 1), whole=False)

    def shape(self, block: Layer) -> Layer:
        """The shapes of this rank's part of a block."""
        part = self.heads(block)
        return replace(block, heads=part.q[1] - part.q[0], kv_heads=part.kv[1] - part.kv[0])

    def part(self, name: str) -> tuple[int, int, int] | None:
        """Axis, first and last of this rank's part of an array of ``Architecture.tensors()``.

        None: all of it. Of what is added once to a sum over the ranks the first rank alone has anything: for
        the others the part is empty.
        """
        a, rank, size = self.architecture, self.rank, self.size
        layer, _, kind = name.rpartition(".")
        if kind in ("embedding", "head"):
            return (0, *bounds(a.vocab, rank, size))
        if not layer:
            return None
        block = a.blocks[int(layer)]
        heads, matrix = self.heads(block), kind.removesuffix("_bias")
        width = bounds(block.experts.d_ff if block.experts else block.d_ff, rank, size)
        if kind in ("out_bias", "down_bias"):
            once = kind == "out_bias" and heads.whole
            return None if once or rank == 0 else (0, 0, 0)
        if matrix in ("q", "k", "v", "out"):
            if heads.whole:
                return None
            first, last = heads.kv if matrix in ("k", "v") else heads.q
            return (int(matrix == "out"), first * a.head_dim, last * a.head_dim)
        axes = {"gate": 0, "up": 0, "down": 1, "expert_gate": 1, "expert_up": 1, "expert_down": 2}
        return (axes[matrix], *width) if matrix in axes else None


def gather_share(
    checkpoint: Checkpoint, backend: Backend, dtype: str = "float32", progress: Progress = silent
) -> Weights:
    """This rank's share of a checkpoint's weights; the rest is not turned into numbers here.

    Raises
    ------
    UserError
        Where the ranks have different models.
    """
    a, here = checkpoint.architecture, ranks.here()
    share = Share(a, here.rank, here.size)
    here.agree("the model", f"{a.name} ({a.parameters} weights of {a.quant})")

    def array(name: str) -> Any:
        part = share.part(name)
        if part is None:
            return checkpoint.array(name)
        axis, start, stop = part
        return checkpoint.part(name, axis, start, stop) if stop > start else None

    each = [bounds(a.vocab, rank, here.size) for rank in range(here.size)]
    return gather(
        a,
        array,
        backend,
        progress,
        dtype,
        shares_attention=[not share.heads(block).whole for block in a.blocks],
        shapes=tuple(share.shape(block) for block in a.blocks),
        vocabulary=tuple(stop - start for start, stop in each),
        first_token=each[here.rank][0],
    )
