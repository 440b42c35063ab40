"""The exact list of a model's matrix multiplies, without running it.

A test holds this list equal to the ledger of a real forward pass, so that what is predicted is what
is executed. Conventions: 2 FLOP a multiply-add; causal attention counted as executed (the masked
half is computed too); the embedding look-up is no product.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from whygpu.engine import UserError
from whygpu.models.architecture import Architecture, family

__all__ = [
    "PREFILL_CHUNK",
    "Work",
    "bytes_per_token",
    "kv_bytes_per_token",
    "matmuls",
    "weight_bytes",
    "weights_read",
]

PREFILL_CHUNK = 512
"""Tokens of a prompt that ``think`` pushes through at once: bounds the memory of the attention scores."""


@dataclass(frozen=True, slots=True)
class Work:
    """``count`` products of ``batch`` times (m, k) @ (k, n)."""

    name: str
    count: int
    batch: int
    m: int
    n: int
    k: int
    operand: Literal["weights", "kv"]
    """What the right-hand matrix is: weights, the same for every token, or the K/V cache."""

    @property
    def flop(self) -> int:
        """Of all ``count`` products, 2 a multiply-add."""
        return 2 * self.count * self.batch * self.m * self.n * self.k


def matmuls(
    architecture: Architecture,
    *,
    tokens: int,
    past: int = 0,
    batch: int = 1,
    logits: Literal["last", "all"] = "last",
    chunk: int | None = None,
) -> list[Work]:
    """List the products of one pass over ``tokens`` new tokens a sequence.

    Parameters
    ----------
    tokens, past
        New tokens, and tokens already in the K/V cache, of each sequence. Decoding is ``tokens=1``.
    batch
        Sequences side by side.
    logits
        Whether the head sees the last token of each sequence or all of them.
    chunk
        Push at most so many tokens through at once, as ``think`` does with ``PREFILL_CHUNK``; None: all.

    Returns
    -------
    list of Work
        In order of execution; ``count`` is the number of layers.
    """
    if tokens < 1 or past < 0 or batch < 1 or (chunk is not None and chunk < 1):
        raise UserError(
            f"tokens={tokens}, past={past}, batch={batch}, chunk={chunk}: "
            "give 1 or more tokens, a past of 0 or more, a batch and a chunk of 1 or more"
        )
    step = chunk or tokens
    works: list[Work] = []
    for part in range(ceil(tokens / step)):
        done = part * step
        new = min(step, tokens - done)
        works += _block(architecture, new, past + done, batch)
        if logits == "all":
            works.append(_weights(architecture, "head", 1, batch * new))
    if logits == "last":
        works.append(_weights(architecture, "head", 1, batch))
    return works


def _block(a: Architecture, new: int, past: int, batch: int) -> list[Work]:
    rows, seen = batch * new, past + new
    # the query heads that share a K/V head are rows of one product: its K and V are read once
    shared, queries = batch * a.kv_heads, a.group * new
    projections = ["gate", "up", "down"] if family(a.family).gated else ["up", "down"]
    return [
        *(_weights(a, name, a.layers, rows) for name in ("Q", "K", "V")),
        Work("scores", a.layers, shared, queries, seen, a.head_dim, "kv"),
        Work("weighted V", a.layers, shared, queries, a.head_dim, seen, "kv"),
        *(_weights(a, name, a.layers, rows) for name in ("out", *projections)),
    ]


def _weights(a: Architecture, name: str, count: int, rows: int) -> Work:
    shapes = {**a.block_tensors(), "head": (a.vocab, a.d_model)}
    n, k = shapes[name.lower()]
    return Work(name, count, 1, rows, n, k, "weights")


def weight_bytes(architecture: Architecture, bits_per_weight: float | None = None) -> int:
    """Bytes that all weights take; ``bits_per_weight`` None: as the architecture says it is stored."""
    bits = architecture.bits_per_weight if bits_per_weight is None else bits_per_weight
    return round(architecture.parameters * bits / 8)


def weights_read(architecture: Architecture) -> int:
    """Weights that one decode step must read: all but the tables of which it takes single rows."""
    unread = 0 if architecture.tied_head else architecture.vocab * architecture.d_model
    if family(architecture.family).positions == "learned":
        unread += architecture.context * architecture.d_model
    return architecture.parameters - unread


def kv_bytes_per_token(architecture: Architecture, bytes_per_value: float = 2) -> float:
    """Bytes of K/V cache that each token of a sequence adds."""
    a = architecture
    return 2 * a.layers * a.kv_heads * a.head_dim * bytes_per_value


def bytes_per_token(
    architecture: Architecture,
    *,
    past: int,
    bits_per_weight: float | None = None,
    bytes_per_value: float = 2,
    batch: int = 1,
) -> float:
    """Bytes that one decode step must read: the weights once, and each sequence's K/V cache.

    ``past`` is the tokens in the cache, the new one included.
    """
    bits = architecture.bits_per_weight if bits_per_weight is None else bits_per_weight
    cache = batch * past * kv_bytes_per_token(architecture, bytes_per_value)
    return weights_read(architecture) * bits / 8 + cache
