"""The exact list of a model's matrix multiplies, without running it.

A test holds this list equal to the ledger of a real forward pass, so that what is predicted is what
is executed. Conventions: 2 FLOP a multiply-add; causal attention counted as executed (the masked
half is computed too, keys beyond a layer's window are not); the embedding look-up is no product.

Which experts the tokens of a longer text go to, only the text can say: their products are listed as if all
experts were chosen equally often, unless ``routing`` says how often. FLOP do not depend on it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from whygpu.engine import UserError
from whygpu.models.architecture import Architecture, Experts, Layer

__all__ = [
    "FAST_CHUNK",
    "FAST_TILES",
    "PREFILL_CHUNK",
    "Work",
    "attention_tiles",
    "bytes_per_token",
    "kv_bytes",
    "kv_bytes_per_token",
    "matmuls",
    "weight_bytes",
    "weights_read",
]

PREFILL_CHUNK = 512
"""Tokens of a prompt that ``think`` pushes through at once: bounds the memory of the attention scores."""
FAST_CHUNK = 64
"""The same on its fast path: activations stay in the L2 cache."""
FAST_TILES = (4, 16)
"""Rows of queries, and positions, that the fast path's attention multiplies at once."""


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
    tiles: tuple[int, int] | None = None,
    routing: Sequence[Sequence[int]] | None = None,
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
    tiles
        Attention goes by tiles of so many rows of queries over the keys that the last of them sees, rounded
        up to a multiple of so many, as with ``FAST_TILES``; None: all rows over all keys.
    routing
        For each layer with experts, how many tokens each of them gets; None: as even a split as there is.
        Needs a single chunk.

    Returns
    -------
    list of Work
        In order of execution; equal products of several layers are one row, where the first of them ran.

    Raises
    ------
    UserError
        For counts that cannot be.
    """
    step = _step(tokens, past, batch, chunk, routing)
    works: list[Work] = []
    for part in range(ceil(tokens / step)):
        done = part * step
        new = min(step, tokens - done)
        works += _blocks(architecture, new, past + done, batch, tiles, routing)
        if logits == "all":
            works.append(_head(architecture, batch * new))
    if logits == "last":
        works.append(_head(architecture, batch))
    return works


def _step(
    tokens: int, past: int, batch: int, chunk: int | None, routing: Sequence[Sequence[int]] | None
) -> int:
    """Tokens of a chunk, once the counts are checked."""
    if tokens < 1 or past < 0 or batch < 1 or (chunk is not None and chunk < 1):
        raise UserError(
            f"tokens={tokens}, past={past}, batch={batch}, chunk={chunk}: "
            "give 1 or more tokens, a past of 0 or more, a batch and a chunk of 1 or more"
        )
    step = chunk or tokens
    if routing is not None and step < tokens:
        raise UserError(f"routing: {tokens} tokens in chunks of {step}; a routing is that of one chunk")
    return step


def attention_tiles(
    new: int, past: int, group: int, tiles: tuple[int, int], window: int | None = None
) -> dict[int, int]:
    """Rows of one K/V head by the number of keys that they are multiplied with.

    Rows are (token, query head) pairs, ``group`` heads of a token side by side; ``tiles`` as in ``matmuls``.
    With a ``window``, a tile leaves out the whole runs of keys that none of its tokens sees.
    """
    height, width = tiles
    rows, reach = new * group, Counter[int]()
    for first in range(0, rows, height):
        last = min(first + height - 1, rows - 1)
        unseen = 0 if window is None else max(past + first // group + 1 - window, 0) // width * width
        reach[ceil((past + last // group + 1) / width) * width - unseen] += last - first + 1
    return dict(reach)


def _blocks(
    a: Architecture,
    new: int,
    past: int,
    batch: int,
    tiles: tuple[int, int] | None,
    routing: Sequence[Sequence[int]] | None,
) -> list[Work]:
    """All blocks' products over one chunk, equal ones as one row."""
    mixtures = sum(block.experts is not None for block in a.blocks)
    if routing is not None and len(routing) != mixtures:
        raise UserError(f"routing: {len(routing)} rows for {mixtures} layers with experts")
    counts: Counter[Work] = Counter()
    if routing is None:  # blocks that are alike have the same products
        for block, times in Counter(a.blocks).items():
            for work in _block(a, block, new, past, batch, tiles, None):
                counts[work] += times
    else:
        rows = iter(routing)
        for block in a.blocks:
            routed = next(rows) if block.experts else None
            counts.update(_block(a, block, new, past, batch, tiles, routed))
    return [replace(work, count=count) for work, count in counts.items()]


def _block(
    a: Architecture,
    block: Layer,
    new: int,
    past: int,
    batch: int,
    tiles: tuple[int, int] | None,
    routed: Sequence[int] | None,
) -> Iterator[Work]:
    rows, d = batch * new, a.d_model
    attention, shared = block.heads * a.head_dim, block.kv_heads * a.head_dim
    for name, n in (("Q", attention), ("K", shared), ("V", shared)):
        yield Work(name, 1, 1, rows, n, d, "weights")
    # the query heads that share a K/V head are rows of one product: its K and V are read once
    groups = batch * block.kv_heads
    reach = {block.seen(past, new): block.group * new}
    if tiles is not None:
        reach = attention_tiles(new, past, block.group, tiles, block.window)
    for seen, queries in reach.items():
        yield Work("scores", 1, groups, queries, seen, a.head_dim, "kv")
        yield Work("weighted V", 1, groups, queries, a.head_dim, seen, "kv")
    yield Work("out", 1, 1, rows, d, attention, "weights")
    if block.experts is None:
        yield from _mlp(a, rows, block.d_ff)
        return
    yield Work("router", 1, 1, rows, block.experts.count, d, "weights")
    for part in _even(block.experts, rows) if routed is None else routed:
        if part:
            yield from _mlp(a, part, block.experts.d_ff)


def _mlp(a: Architecture, rows: int, d_ff: int) -> Iterator[Work]:
    for name in ("gate", "up") if a.features.gated else ("up",):
        yield Work(name, 1, 1, rows, d_ff, a.d_model, "weights")
    yield Work("down", 1, 1, rows, a.d_model, d_ff, "weights")


def _even(experts: Experts, rows: int) -> list[int]:
    """Tokens of each expert, as equal as can be."""
    each, more = divmod(rows * experts.used, experts.count)
    return [each + 1] * more + [each] * (experts.count - more)


def _head(a: Architecture, rows: int) -> Work:
    return Work("head", 1, 1, rows, a.vocab, a.d_model, "weights")


def weight_bytes(architecture: Architecture, bits_per_weight: float | None = None) -> int:
    """Bytes that all weights take; ``bits_per_weight`` None: as the architecture says it is stored."""
    bits = architecture.bits_per_weight if bits_per_weight is None else bits_per_weight
    return round(architecture.parameters * bits / 8)


def weights_read(architecture: Architecture, batch: int = 1) -> int:
    """Weights that one decode step must read.

    All but the tables of which it takes single rows, and but the experts that no token was sent to. One
    token reads those it uses; for ``batch`` tokens it is the expected number, if all are chosen equally
    often and independently: count x (1 - (1 - used / count) ^ batch).
    """
    a = architecture
    read = a.parameters
    if not a.tied_head:
        read -= a.vocab * a.d_model
    if a.features.positions == "learned":
        read -= a.context * a.d_model
    for block, times in Counter(a.blocks).items():
        if block.experts is not None:
            e = block.experts
            unread = e.count * (1 - e.used / e.count) ** batch
            read -= times * round(unread * 3 * e.d_ff * a.d_model)
    return read


def kv_bytes_per_token(architecture: Architecture, bytes_per_value: float = 2) -> float:
    """Bytes of K/V cache that each token of a sequence adds, as long as it is shorter than any window."""
    return 2 * sum(block.kv_heads for block in architecture.blocks) * architecture.head_dim * bytes_per_value


def kv_bytes(architecture: Architecture, tokens: int, bytes_per_value: float = 2) -> float:
    """Bytes of K/V cache that a decode step reads of a sequence of ``tokens``, its own included.

    Layers with a window read that much only.
    """
    a = architecture
    values = sum(
        times * block.kv_heads * block.seen(tokens - 1, 1) for block, times in Counter(a.blocks).items()
    )
    return 2 * values * a.head_dim * bytes_per_value


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
    cache = batch * kv_bytes(architecture, past, bytes_per_value)
    return weights_read(architecture, batch) * bits / 8 + cache
