"""Several sequences, one decode step: the products with weights multiply by a matrix, not by a vector.

A decode step of one sequence reads every weight for one row. With B sequences side by side the same reading
serves B rows: tokens a second grow until arithmetic is what decides. Sequences join and leave between steps
(continuous batching: Yu et al. 2022, Orca); each keeps its own cache, at its own length.
"""

from collections.abc import Sequence
from typing import Any

from whygpu import engine
from whygpu.engine import current, matmul
from whygpu.think.cache import Cache
from whygpu.think.layers import causal_mask, embed, norm, residual, rope, rope_table, soft_cap, softmax
from whygpu.think.model import Block, Model
from whygpu.think.passes import decode_one_token
from whygpu.think.transformer import linear, mlp

__all__ = ["Batch", "decode_side_by_side"]


class Batch:
    """Decode steps of up to ``size`` sequences of one model, on the path that the model takes.

    Raises ``UserError`` where the fast path cannot take so many.
    """

    def __init__(self, model: Model, size: int) -> None:
        self.model, self.size = model, size
        self._fast: Any = None
        if model.packed is not None:
            from whygpu.think.fast.batch_run import FastBatch

            self._fast = FastBatch(model.packed, size)

    def decode(self, tokens: Sequence[int], caches: Sequence[Any]) -> Any:
        """Push one token of each sequence through: (B, vocab) NumPy scores of the tokens after them.

        They are valid until the next step.
        """
        if len(tokens) == 1:
            return decode_one_token(self.model, tokens[0], caches[0])[None]
        with engine.scope("think", "decode"):
            if self._fast is not None:
                return self._fast.decode(tokens, caches)
            return current().to_numpy(decode_side_by_side(self.model, tokens, caches))


def decode_side_by_side(model: Model, tokens: Sequence[int], caches: Sequence[Cache]) -> Any:
    """The portable step: one token of each of B sequences; (B, vocab) scores on the current backend."""
    a, w, backend = model.architecture, model.weights, current()
    xp = backend.xp
    for cache in caches:
        cache.reserve(1)
    rows = [backend.asarray([[token]], dtype="int64") for token in tokens]
    x = xp.concat(
        [
            embed(w.embedding, w.positions, row, cache.length, a.embedding_scale)
            for row, cache in zip(rows, caches, strict=True)
        ],
        axis=0,
    )  # (B, d)
    for layer, block in enumerate(w.blocks):
        seen = norm(x, block.attention_norm, block.attention_norm_bias, a.norm_eps)
        update = _attention(model, layer, block, seen, caches)
        x = residual(x, norm(update, block.attention_post_norm, None, a.norm_eps))
        seen = norm(x, block.mlp_norm, block.mlp_norm_bias, a.norm_eps)
        update = mlp(a, a.blocks[layer], block, seen)
        x = residual(x, norm(update, block.mlp_post_norm, None, a.norm_eps))
    for cache in caches:
        cache.advance(1)
    x = norm(x, w.norm, w.norm_bias, a.norm_eps)
    return soft_cap(matmul(x, w.head.T, name="head"), a.logit_cap)  # (B, vocab)


def _attention(model: Model, layer: int, w: Block, x: Any, caches: Sequence[Cache]) -> Any:
    """Each sequence's token looks at its own past: (B, d) -> (B, d)."""
    a, shape, xp = model.architecture, model.architecture.blocks[layer], current().xp
    batch = x.shape[0]
    q = xp.reshape(linear(x, w.q, w.q_bias, "Q"), (batch, 1, shape.heads, a.head_dim))
    k = xp.reshape(linear(x, w.k, w.k_bias, "K"), (batch, 1, shape.kv_heads, a.head_dim))
    v = xp.reshape(linear(x, w.v, w.v_bias, "V"), (batch, 1, shape.kv_heads, a.head_dim))
    q, k = norm(q, w.q_norm, None, a.norm_eps), norm(k, w.k_norm, None, a.norm_eps)
    mixed = []
    for i, cache in enumerate(caches):
        turn = shape.rope and rope_table(shape.rope, cache.length, 1, long=shape.rope.is_long(cache.capacity))
        query = rope(q[i : i + 1, :, :, :], turn)  # (1, 1, heads, head_dim)
        key = xp.permute_dims(rope(k[i : i + 1, :, :, :], turn), (0, 2, 1, 3))
        keys, values = cache.append(layer, key, xp.permute_dims(v[i : i + 1, :, :, :], (0, 2, 1, 3)))
        seen = shape.seen(cache.length, 1)
        first = keys.shape[2] - seen
        keys, values = keys[:, :, first:, :], values[:, :, first:, :]  # (1, kv_heads, S, head_dim)
        query = xp.reshape(query, (1, shape.kv_heads, shape.group, a.head_dim))
        scores = matmul(query, keys.mT, name="scores")  # (1, kv_heads, group, S)
        mask = causal_mask(1, cache.length, seen, shape.window)
        weights = softmax(scores, a.score_scale, mask, shape.group, a.attention_cap)
        mixed.append(xp.reshape(matmul(weights, values, name="weighted V"), (1, shape.heads * a.head_dim)))
    return linear(xp.concat(mixed, axis=0), w.out, w.out_bias, "out")
