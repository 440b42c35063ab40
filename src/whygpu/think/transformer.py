"""The forward pass: token ids in, the scores of every possible next token out.

Portable: Array API on the current backend's namespace. It reads in the order in which data flows; every
product goes through ``engine.matmul`` under its own name, the rest through ``layers``, which counts it too.

Rows: the tokens of all sequences are kept as the rows of one matrix, (B*T, d), since a product with weights
treats each token alike; only attention needs to know which token belongs to which sequence.
"""

from typing import Any, Literal

from whygpu.engine import current, matmul
from whygpu.models import Architecture, family
from whygpu.think.cache import Cache
from whygpu.think.layers import (
    activation,
    add_bias,
    causal_mask,
    embed,
    norm,
    residual,
    rope,
    rope_table,
    softmax,
)
from whygpu.think.model import Block, Model

__all__ = ["forward"]


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
    cache.reserve(length)

    x = embed(w.embedding, w.positions, tokens, cache.length)  # (B*T, d)
    mask = causal_mask(length, cache.length)  # (T, S) or None
    turn = None
    if family(a.family).positions == "rope":
        turn = rope_table(a.head_dim, a.rope_theta, w.rope_factors, cache.length, length)
    for layer, block in enumerate(w.blocks):
        seen = norm(x, block.attention_norm, block.attention_norm_bias, a.norm_eps)
        x = residual(x, attention(a, block, layer, seen, cache, mask, turn, batch))
        seen = norm(x, block.mlp_norm, block.mlp_norm_bias, a.norm_eps)
        x = residual(x, mlp(a, block, seen))
    cache.advance(length)

    if logits == "none":
        return None
    if logits == "last":
        x = xp.reshape(x, (batch, length, a.d_model))[:, -1, :]  # (B, d)
    x = norm(x, w.norm, w.norm_bias, a.norm_eps)
    scores = matmul(x, w.head.T, name="head")  # (B, vocab) or (B*T, vocab)
    return scores if logits == "last" else xp.reshape(scores, (batch, length, a.vocab))


def attention(
    a: Architecture, w: Block, layer: int, x: Any, cache: Cache, mask: Any, turn: Any, batch: int
) -> Any:
    """Every token looks at those before it: (B*T, d) -> (B*T, d).

    Vaswani et al. 2017; with fewer K/V heads than heads (GQA): Ainslie et al. 2023.
    """
    xp = current().xp
    rows = x.shape[0]
    length = rows // batch
    q = xp.reshape(linear(x, w.q, w.q_bias, "Q"), (batch, length, a.heads, a.head_dim))
    k = xp.reshape(linear(x, w.k, w.k_bias, "K"), (batch, length, a.kv_heads, a.head_dim))
    v = xp.reshape(linear(x, w.v, w.v_bias, "V"), (batch, length, a.kv_heads, a.head_dim))
    if turn is not None:
        q, k = rope(q, turn), rope(k, turn)
    keys, values = cache.append(layer, _heads_first(k), _heads_first(v))  # (B, kv_heads, S, head_dim)

    # the query heads of a group share one K/V head: stacked as rows they read it once
    q = xp.reshape(_heads_first(q), (batch, a.kv_heads, a.group * length, a.head_dim))
    scores = matmul(q, keys.mT, name="scores")  # (B, kv_heads, group * T, S)
    weights = softmax(scores, a.head_dim**-0.5, mask, a.group)
    mixed = matmul(weights, values, name="weighted V")  # (B, kv_heads, group * T, head_dim)

    mixed = xp.reshape(mixed, (batch, a.heads, length, a.head_dim))
    mixed = xp.reshape(_heads_first(mixed), (rows, a.heads * a.head_dim))
    return linear(mixed, w.out, w.out_bias, "out")


def mlp(a: Architecture, w: Block, x: Any) -> Any:
    """Each token by itself, through a wider layer and back: (B*T, d) -> (B*T, d)."""
    gate = None if w.gate is None else linear(x, w.gate, None, "gate")  # (B*T, d_ff)
    up = linear(x, w.up, w.up_bias, "up")  # (B*T, d_ff)
    return linear(activation(family(a.family).activation, up, gate), w.down, w.down_bias, "down")


def linear(x: Any, weight: Any, bias: Any, name: str) -> Any:
    """(rows, k) times the transpose of (n, k), plus (n,) where there is a bias."""
    return add_bias(matmul(x, weight.T, name=name), bias)


def _heads_first(x: Any) -> Any:
    """(B, T, heads, head_dim) to (B, heads, T, head_dim), or back."""
    return current().xp.permute_dims(x, (0, 2, 1, 3))
