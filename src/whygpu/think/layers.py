"""What a transformer does between its products. Each step is timed and counted as no product.

The FLOP of a step are its additions, multiplications, divisions, comparisons, roots and exponentials, one
each; its bytes are the arrays it must read and write, as if nothing were kept in a cache.
"""

from math import pi, prod, sqrt
from typing import Any

import numpy as np

from whygpu import engine
from whygpu.engine import ranks
from whygpu.models import Rope, rope_frequencies

__all__ = [
    "activation",
    "add_bias",
    "causal_mask",
    "embed",
    "norm",
    "residual",
    "rope",
    "rope_table",
    "soft_cap",
    "softmax",
]

FLOAT = 4
"""Bytes of a float32."""


def embed(table: Any, rows: Any, tokens: Any, scale: float = 1.0, first: int = 0) -> Any:
    """Look the tokens' vectors up, scale them and, where the family has such, add those of their positions.

    ``table`` (vocab, d), ``rows`` (T, d) of the positions or None, ``tokens`` (B, T) integers -> (B*T, d).
    Among several ranks each has the vocabulary's rows from ``first`` on, and the others' vectors are added.
    """
    xp = engine.current().xp
    batch, length = tokens.shape
    d = table.shape[1]
    values = batch * length * d
    adds = 0 if rows is None else values
    flop = adds if scale == 1.0 else adds + values
    ids = xp.reshape(tokens, (-1,))
    with engine.other("embedding", flop=flop, size=FLOAT * (2 * values + adds)):
        if ranks.here().size == 1:
            x = xp.astype(xp.take(table, ids, axis=0), xp.float32, copy=False)  # (B*T, d)
        else:
            ids = ids - first
            own = (ids >= 0) & (ids < table.shape[0])
            x = xp.astype(xp.take(table, xp.where(own, ids, xp.zeros_like(ids)), axis=0), xp.float32)
            x = xp.where(own[:, None], x, xp.zeros_like(x))
    x = ranks.here().sum(x, "embedding")
    with engine.other("embedding"):
        if scale != 1.0:
            x = x * scale
        if rows is not None:
            x = xp.reshape(x, (batch, length, d)) + xp.astype(rows, xp.float32, copy=False)
            x = xp.reshape(x, (-1, d))
    return x


def norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    """RMSNorm (Zhang and Sennrich 2019) where ``bias`` is None, else LayerNorm (Ba et al. 2016).

    ``x`` (..., d), ``weight`` and ``bias`` (d,) -> (..., d). Where a family has no norm at a place,
    ``weight`` is None and ``x`` passes.
    """
    if weight is None:
        return x
    xp = engine.current().xp
    d = x.shape[-1]
    values = prod(x.shape)
    flop = values * (4 if bias is None else 7)
    with engine.other("norm", flop=flop, size=FLOAT * 2 * values):
        if bias is not None:
            x = x - xp.sum(x, axis=-1, keepdims=True) * (1.0 / d)
        scale = 1.0 / xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True) * (1.0 / d) + eps)  # (..., 1)
        x = x * scale * weight
        return x if bias is None else x + bias


def add_bias(x: Any, bias: Any) -> Any:
    """Add ``bias`` (n,) to each row of ``x`` (rows, n), where the family has biases."""
    if bias is None:
        return x
    rows, n = x.shape
    with engine.other("bias", flop=rows * n, size=FLOAT * 2 * rows * n):
        return x + bias


def residual(x: Any, update: Any) -> Any:
    """Add a block's result to the stream it was computed from; both (rows, d)."""
    rows, d = x.shape
    with engine.other("residual", flop=rows * d, size=FLOAT * 3 * rows * d):
        return x + update


def rope_table(rope: Rope, start: int, length: int, *, long: bool = False) -> tuple[Any, Any]:
    """Cosines and sines of the rotary angles of ``length`` positions from ``start``.

    Two arrays (length, 1, dims / 2), by the frequencies of ``models.rope``. Computed in float64: in float32
    the angle of position 8000 is off by half a milliradian.
    """
    backend = engine.current()
    angles = np.arange(start, start + length, dtype=np.float64)[:, None, None] * rope_frequencies(
        rope, long=long
    )
    return (
        backend.asarray((rope.magnitude * np.cos(angles)).astype(np.float32)),
        backend.asarray((rope.magnitude * np.sin(angles)).astype(np.float32)),
    )


def rope(x: Any, table: tuple[Any, Any] | None) -> Any:
    """Turn each pair (i, i + dims / 2) of every head by its position's angle (Su et al. 2021).

    ``x`` (B, T, heads, head_dim) -> the same shape; what lies beyond ``dims`` passes, and all of it where the
    family has no rotary positions.
    """
    if table is None:
        return x
    xp = engine.current().xp
    cosine, sine = table  # (T, 1, dims / 2), broadcast over the heads
    half = cosine.shape[2]
    values = x.shape[0] * x.shape[1] * x.shape[2] * 2 * half
    with engine.other("rope", flop=3 * values, size=FLOAT * 2 * values):
        first, second = x[..., :half], x[..., half : 2 * half]
        turned = [first * cosine - second * sine, second * cosine + first * sine]
        return xp.concat(turned if 2 * half == x.shape[3] else [*turned, x[..., 2 * half :]], axis=-1)


def causal_mask(length: int, past: int, seen: int, window: int | None = None) -> Any:
    """What is added to the scores so that no token sees a later one, or one beyond its window.

    (T, seen) of 0 and -inf, for the last ``seen`` of the past + T keys; None for a single token, which may
    see all of those.
    """
    if length == 1:
        return None
    with engine.other("mask", size=FLOAT * length * seen):
        tokens = np.arange(past, past + length)[:, None]
        keys = np.arange(past + length - seen, past + length)[None, :]
        hidden = keys > tokens
        if window is not None:
            hidden |= keys <= tokens - window
        return engine.current().asarray(np.where(hidden, -np.inf, 0.0).astype(np.float32))


def softmax(scores: Any, scale: float, mask: Any, group: int, cap: float = 0.0) -> Any:
    """Scores to weights that sum to 1.

    Scaled, bounded by a soft cap where there is one, masked, exponentiated less their maximum, divided by
    their sum. ``scores`` (B, kv_heads, group * T, S); ``mask`` (T, S) or None, the same for the ``group``
    query heads.
    """
    xp = engine.current().xp
    batch, kv_heads, rows, seen = scores.shape
    values = batch * kv_heads * rows * seen
    flop = values * (6 + (mask is not None) + 3 * (cap > 0))
    with engine.other("softmax", flop=flop, size=FLOAT * 2 * values):
        scores = scores * scale
        if cap:
            scores = cap * xp.tanh(scores / cap)
        if mask is not None:
            scores = xp.reshape(scores, (batch, kv_heads, group, rows // group, seen)) + mask
            scores = xp.reshape(scores, (batch, kv_heads, rows, seen))
        scores = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
        return scores / xp.sum(scores, axis=-1, keepdims=True)


def soft_cap(scores: Any, cap: float) -> Any:
    """Bound the head's scores smoothly (Bello et al. 2016): ``cap * tanh(scores / cap)``; 0: as they are."""
    if not cap:
        return scores
    values = prod(scores.shape)
    with engine.other("soft cap", flop=3 * values, size=FLOAT * 2 * values):
        return cap * engine.current().xp.tanh(scores / cap)


def activation(kind: str, up: Any, gate: Any) -> Any:
    """The MLP's non-linearity: of the gate, times ``up`` (Shazeer 2020), or in a plain MLP of ``up`` itself.

    SiLU, or GELU in its tanh form (Hendrycks and Gimpel 2016).
    ``up`` and ``gate`` (rows, d_ff), ``gate`` None in a plain MLP -> (rows, d_ff).
    """
    xp = engine.current().xp
    rows, d_ff = up.shape
    arrays = 2 if gate is None else 3
    flop = rows * d_ff * ((5 if kind == "silu" else 9) + (gate is not None))
    with engine.other("activation", flop=flop, size=FLOAT * arrays * rows * d_ff):
        x = up if gate is None else gate
        if kind == "silu":
            # the logistic function by tanh, which cannot overflow: 1 / (1 + exp(-x)) = (1 + tanh(x / 2)) / 2
            bent = x * (0.5 + 0.5 * xp.tanh(0.5 * x))
        else:
            bent = 0.5 * x * (1.0 + xp.tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)))
        return bent if gate is None else bent * up
