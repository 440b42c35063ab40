"""The forward pass: token ids in, the scores of every possible next token out.

Portable: Array API on the current backend's namespace. It reads in the order in which data flows; every
product goes through ``engine.matmul`` under its own name, the rest through ``layers``, which counts it too.

Among several ranks each has a share of the heads, of the MLP's width and of the vocabulary (``parallel``);
what attention and MLP give is then a part of a sum. Alone, ``ranks`` gives back what it gets.

Rows: the tokens of all sequences are kept as the rows of one matrix, (B*T, d), since a product with weights
treats each token alike; only attention needs to know which token belongs to which sequence.
"""

from math import prod
from typing import Any, Literal

from whygpu.engine import current, matmul, other, ranks
from whygpu.models import Architecture, Layer, Rope
from whygpu.think.cache import Cache
from whygpu.think.experts import mixture
from whygpu.think.layers import (
    activation,
    add_bias,
    embed,
    norm,
    residual,
    rope,
    soft_cap,
    softmax,
)
from whygpu.think.model import Block, Model

__all__ = ["forward", "states"]


def forward(
    model: Model, tokens: Any, cache: Cache, *, logits: Literal["last", "all", "none"] = "last"
) -> Any:
    """One pass over new tokens, on the current backend; the cache remembers them.

    Parameters
    ----------
    tokens
        (B, T) integers of the backend, each below ``vocab``.
    cache
        What was seen before; its length grows by T.
    logits
        For the last token of each sequence, for all, or for none (a part of a longer prompt).

    Returns
    -------
    array
        (B, vocab) or (B, T, vocab) float32; None where no scores are wanted.
    """
    a, w, xp = model.architecture, model.weights, current().xp
    batch, length = tokens.shape
    x = states(model, tokens, cache)  # (B*T, d)
    if logits == "none":
        return None
    if logits == "last":
        x = xp.reshape(x, (batch, length, a.d_model))[:, -1, :]  # (B, d)
    x = norm(x, w.norm, w.norm_bias, a.norm_eps)
    scores = product(x, w.head.T, "head")  # (B, vocab) or (B*T, vocab)
    scores = soft_cap(ranks.here().gather(scores, w.vocabulary, "head"), a.logit_cap)
    return scores if logits == "last" else xp.reshape(scores, (batch, length, a.vocab))


def states(model: Model, tokens: Any, cache: Cache) -> Any:
    """What the last block makes of new tokens, before the last norm: (B, T) integers -> (B*T, d)."""
    a, w = model.architecture, model.weights
    batch, length = tokens.shape
    cache.reserve(length)

    places = cache.places(length)
    rows = None if w.positions is None else places.rows(w.positions)
    x = embed(w.embedding, rows, tokens, a.embedding_scale, w.first_token)  # (B*T, d)
    masks = {window: places.mask(window) for window in {b.window for b in a.blocks}}
    turns: dict[Rope | None, Any] = {None: None}
    turns |= {turn: places.turn(turn) for turn in {b.rope for b in a.blocks} if turn is not None}
    for layer, (shape, block) in enumerate(zip(w.shapes or a.blocks, w.blocks, strict=True)):
        mask, turn = masks[shape.window], turns[shape.rope]
        seen = norm(x, block.attention_norm, block.attention_norm_bias, a.norm_eps)
        update = attention(a, shape, block, layer, seen, cache, mask, turn, batch)
        if block.shares_attention:
            update = ranks.here().sum(update, "attention")
        x = residual(x, norm(update, block.attention_post_norm, None, a.norm_eps))
        seen = norm(x, block.mlp_norm, block.mlp_norm_bias, a.norm_eps)
        update = ranks.here().sum(mlp(a, shape, block, seen), "MLP")
        x = residual(x, norm(update, block.mlp_post_norm, None, a.norm_eps))
    cache.advance(length)
    return x


def attention(
    a: Architecture,
    shape: Layer,
    w: Block,
    layer: int,
    x: Any,
    cache: Cache,
    mask: Any,
    turn: Any,
    batch: int,
) -> Any:
    """Every token looks at those before it: (B*T, d) -> (B*T, d).

    Vaswani et al. 2017; with fewer K/V heads than heads (GQA): Ainslie et al. 2023; only at the last
    ``window`` of them: Beltagy et al. 2020.
    """
    xp = current().xp
    rows = x.shape[0]
    length = rows // batch
    q = xp.reshape(linear(x, w.q, w.q_bias, "Q"), (batch, length, shape.heads, a.head_dim))
    k = xp.reshape(linear(x, w.k, w.k_bias, "K"), (batch, length, shape.kv_heads, a.head_dim))
    v = xp.reshape(linear(x, w.v, w.v_bias, "V"), (batch, length, shape.kv_heads, a.head_dim))
    q, k = norm(q, w.q_norm, None, a.norm_eps), norm(k, w.k_norm, None, a.norm_eps)
    q, k = rope(q, turn), rope(k, turn)
    keys, values = cache.append(layer, _heads_first(k), _heads_first(v), shape.window)

    # the query heads of a group share one K/V head: stacked as rows they read it once
    q = xp.reshape(_heads_first(q), (batch, shape.kv_heads, shape.group * length, a.head_dim))
    scores = product(q, keys.mT, "scores")  # (B, kv_heads, group * T, S)
    weights = softmax(scores, a.score_scale, mask, shape.group, a.attention_cap)
    mixed = product(weights, values, "weighted V")  # (B, kv_heads, group * T, head_dim)

    mixed = xp.reshape(mixed, (batch, shape.heads, length, a.head_dim))
    mixed = xp.reshape(_heads_first(mixed), (rows, shape.heads * a.head_dim))
    return linear(mixed, w.out, w.out_bias, "out")


def mlp(a: Architecture, shape: Layer, w: Block, x: Any) -> Any:
    """Each token by itself, through a wider layer and back: (B*T, d) -> (B*T, d)."""
    kind = a.features.activation
    if shape.experts is not None:

        def expert(i: int, part: Any) -> Any:
            gate = linear(part, w.expert_gate[i, :, :], None, "gate")  # (rows of this expert, d_ff)
            up = linear(part, w.expert_up[i, :, :], None, "up")
            return linear(activation(kind, up, gate), w.expert_down[i, :, :], None, "down")

        return mixture(shape.experts, x, product(x, w.router.T, "router"), expert)
    gate = None if w.gate is None else linear(x, w.gate, w.gate_bias, "gate")  # (B*T, d_ff)
    up = linear(x, w.up, w.up_bias, "up")  # (B*T, d_ff)
    return linear(activation(kind, up, gate), w.down, w.down_bias, "down")


def linear(x: Any, weight: Any, bias: Any, name: str) -> Any:
    """(rows, k) times the transpose of (n, k), plus (n,) where there is a bias."""
    return add_bias(product(x, weight.T, name), bias)


def product(x: Any, right: Any, name: str) -> Any:
    """``x @ right`` in the type that ``right`` is held in, as float32.

    Where weights or cache are held in bfloat16 or float16, ``x`` is rounded to that, as Tensor Cores want it.
    """
    xp = current().xp
    if right.dtype == x.dtype:
        return matmul(x, right, name=name)
    with other("round", size=6 * prod(x.shape)):
        x = xp.astype(x, right.dtype)
    out = matmul(x, right, name=name)
    with other("round", size=6 * prod(out.shape)):
        return xp.astype(out, xp.float32)


def _heads_first(x: Any) -> Any:
    """(B, T, heads, head_dim) to (B, heads, T, head_dim), or back."""
    return current().xp.permute_dims(x, (0, 2, 1, 3))
