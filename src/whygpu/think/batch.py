"""Several sequences, one decode step: the products with weights multiply by a matrix, not by a vector.

A decode step of one sequence reads every weight for one row. With B sequences side by side the same reading
serves B rows: tokens a second grow until arithmetic is what decides. Sequences join and leave between steps
(continuous batching: Yu et al. 2022, Orca); each keeps its own cache, at its own length.
"""

from collections.abc import Sequence
from typing import Any

from whygpu import engine
from whygpu.engine import current, ranks
from whygpu.models import Architecture, Layer
from whygpu.think.cache import Cache, Places
from whygpu.think.layers import embed, norm, residual, rope, soft_cap, softmax
from whygpu.think.model import Block, Model
from whygpu.think.passes import decode_one_token
from whygpu.think.transformer import linear, mlp, product

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
    a, w, backend, together = model.architecture, model.weights, current(), ranks.here()
    xp = backend.xp
    for cache in caches:
        cache.reserve(1)
    places = [cache.places(1) for cache in caches]
    found = []
    for token, place in zip(tokens, places, strict=True):
        rows = None if w.positions is None else place.rows(w.positions)
        here = backend.asarray([[token]], dtype="int64")
        found.append(embed(w.embedding, rows, here, a.embedding_scale, w.first_token))
    x = xp.concat(found, axis=0)  # (B, d)
    for layer, (shape, block) in enumerate(zip(w.shapes or a.blocks, w.blocks, strict=True)):
        seen = norm(x, block.attention_norm, block.attention_norm_bias, a.norm_eps)
        update = _attention(a, shape, block, layer, seen, caches, places)
        if block.shares_attention:
            update = together.sum(update, "attention")
        x = residual(x, norm(update, block.attention_post_norm, None, a.norm_eps))
        seen = norm(x, block.mlp_norm, block.mlp_norm_bias, a.norm_eps)
        update = together.sum(mlp(a, shape, block, seen), "MLP")
        x = residual(x, norm(update, block.mlp_post_norm, None, a.norm_eps))
    for cache in caches:
        cache.advance(1)
    x = norm(x, w.norm, w.norm_bias, a.norm_eps)
    scores = together.gather(product(x, w.head.T, "head"), w.vocabulary, "head")
    return soft_cap(scores, a.logit_cap)  # (B, vocab)


def _attention(
    a: Architecture,
    shape: Layer,
    w: Block,
    layer: int,
    x: Any,
    caches: Sequence[Cache],
    places: Sequence[Places],
) -> Any:
    """Each sequence's token looks at its own past: (B, d) -> (B, d)."""
    xp, batch = current().xp, x.shape[0]
    q = xp.reshape(linear(x, w.q, w.q_bias, "Q"), (batch, 1, shape.heads, a.head_dim))
    k = xp.reshape(linear(x, w.k, w.k_bias, "K"), (batch, 1, shape.kv_heads, a.head_dim))
    v = xp.reshape(linear(x, w.v, w.v_bias, "V"), (batch, 1, shape.kv_heads, a.head_dim))
    q, k = norm(q, w.q_norm, None, a.norm_eps), norm(k, w.k_norm, None, a.norm_eps)
    mixed = []
    for i, (cache, place) in enumerate(zip(caches, places, strict=True)):
        turn = None if shape.rope is None else place.turn(shape.rope)
        key = xp.permute_dims(rope(k[i : i + 1, :, :, :], turn), (0, 2, 1, 3))
        value = xp.permute_dims(v[i : i + 1, :, :, :], (0, 2, 1, 3))
        keys, values = cache.append(layer, key, value, shape.window)  # (1, kv_heads, S, head_dim)
        query = rope(q[i : i + 1, :, :, :], turn)  # (1, 1, heads, head_dim)
        query = xp.reshape(query, (1, shape.kv_heads, shape.group, a.head_dim))
        scores = product(query, keys.mT, "scores")  # (1, kv_heads, group, S)
        mask = place.mask(shape.window)
        weights = softmax(scores, a.score_scale, mask, shape.group, a.attention_cap)
        one = product(weights, values, "weighted V")  # (1, kv_heads, group, head_dim)
        mixed.append(xp.reshape(one, (1, shape.heads * a.head_dim)))
    return linear(xp.concat(mixed, axis=0), w.out, w.out_bias, "out")
