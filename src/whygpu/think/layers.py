"""What a transformer does between its products. Each step is timed and counted as no product.

The FLOP of a step are its additions, multiplications, divisions, comparisons, roots and exponentials, one
each; its bytes are the arrays it must read and write, as if nothing were kept in a cache.
"""

from math import pi, sqrt
from typing import Any

import numpy as np

from whygpu import engine

__all__ = [
    "activation",
    "add_bias",
    "causal_mask",
    "embed",
    "norm",
    "residual",
    "rope",
    "rope_table",
    "softmax",
]

FLOAT = 4
"""Bytes of a float32."""


def embed(table: Any, positions: Any, tokens: Any, past: int) -> Any:
    """Look the tokens' vectors up and, where the family has such, add those of their positions.

    ``table`` (vocab, d), ``positions`` (context, d) or None, ``tokens`` (B, T) integers -> (B*T, d).
    """
    xp = engine.current().xp
    batch, length = tokens.shape
    d = table.shape[1]
    values = batch * length * d
    adds = 0 if positions is None else values
    with engine.other("embedding", flop=adds, size=FLOAT * (2 * values + adds)):
        x = xp.take(table, xp.reshape(tokens, (-1,)), axis=0)  # (B*T, d)
        if positions is not None:
            x = xp.reshape(x, (batch, length, d)) + positions[past : past + length, :]
            x = xp.reshape(x, (-1, d))
    return x


def norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    """RMSNorm (Zhang and Sennrich 2019) where ``bias`` is None, else LayerNorm (Ba et al. 2016).

    ``x`` (rows, d), ``weight`` and ``bias`` (d,) -> (rows, d).
    """
    xp = engine.current().xp
    rows, d = x.shape
    flop = rows * d * (4 if bias is None else 7)
    with engine.other("norm", flop=flop, size=FLOAT * 2 * rows * d):
        if bias is not None:
            x = x - xp.sum(x, axis=-1, keepdims=True) * (1.0 / d)
        scale = 1.0 / xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True) * (1.0 / d) + eps)  # (rows, 1)
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


def rope_table(head_dim: int, theta: float, factors: Any, start: int, length: int) -> tuple[Any, Any]:
    """Cosines and sines of the rotary angles of ``length`` positions from ``start``.

    Two arrays (length, 1, head_dim / 2). Frequency i is ``theta ** (-2 i / head_dim)``, divided by
    ``factors[i]`` where the checkpoint brings those (Llama 3.1). Computed in float64: in float32 the
    angle of position 8000 is off by half a milliradian.
    """
    backend = engine.current()
    frequencies = theta ** (-np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    if factors is not None:
        frequencies = frequencies / np.asarray(factors, dtype=np.float64)
    angles = np.arange(start, start + length, dtype=np.float64)[:, None, None] * frequencies
    return (
        backend.asarray(np.cos(angles).astype(np.float32)),
        backend.asarray(np.sin(angles).astype(np.float32)),
    )


def rope(x: Any, table: tuple[Any, Any]) -> Any:
    """Turn each pair (i, i + head_dim / 2) of every head by its position's angle (Su et al. 2021).

    ``x`` (B, T, heads, head_dim) -> the same shape.
    """
    xp = engine.current().xp
    cosine, sine = table  # (T, 1, head_dim / 2), broadcast over the heads
    values = x.shape[0] * x.shape[1] * x.shape[2] * x.shape[3]
    with engine.other("rope", flop=3 * values, size=FLOAT * 2 * values):
        half = x.shape[3] // 2
        first, second = x[..., :half], x[..., half:]
        return xp.concat([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


def causal_mask(length: int, past: int) -> Any:
    """What is added to the scores so that no token sees a later one.

    (T, past + T) of 0 and -inf; None for a single token, which may see all.
    """
    if length == 1:
        return None
    with engine.other("mask", size=FLOAT * length * (past + length)):
        later = np.arange(past + length)[None, :] > np.arange(past, past + length)[:, None]
        return engine.current().asarray(np.where(later, -np.inf, 0.0).astype(np.float32))


def softmax(scores: Any, scale: float, mask: Any, group: int) -> Any:
    """Scores to weights that sum to 1.

    Scaled, masked, exponentiated less their maximum, divided by their sum.
    ``scores`` (B, kv_heads, group * T, S); ``mask`` (T, S) or None, the same for the ``group`` query heads.
    """
    xp = engine.current().xp
    batch, kv_heads, rows, seen = scores.shape
    values = batch * kv_heads * rows * seen
    flop = values * (6 if mask is None else 7)
    with engine.other("softmax", flop=flop, size=FLOAT * 2 * values):
        scores = scores * scale
        if mask is not None:
            scores = xp.reshape(scores, (batch, kv_heads, group, rows // group, seen)) + mask
            scores = xp.reshape(scores, (batch, kv_heads, rows, seen))
        scores = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
        return scores / xp.sum(scores, axis=-1, keepdims=True)


def activation(kind: str, up: Any, gate: Any) -> Any:
    """The MLP's non-linearity.

    SiLU of the gate times ``up`` (Shazeer 2020), or GELU of ``up`` in its tanh form.
    ``up`` and ``gate`` (rows, d_ff), ``gate`` None in a plain MLP -> (rows, d_ff).
    """
    xp = engine.current().xp
    rows, d_ff = up.shape
    arrays = 2 if gate is None else 3
    with engine.other(
        "activation", flop=rows * d_ff * (6 if kind == "silu" else 9), size=FLOAT * arrays * rows * d_ff
    ):
        if kind == "silu":
            # the logistic function by tanh, which cannot overflow: 1 / (1 + exp(-x)) = (1 + tanh(x / 2)) / 2
            return gate * (0.5 + 0.5 * xp.tanh(0.5 * gate)) * up
        inner = sqrt(2 / pi) * (up + 0.044715 * up * up * up)
        return 0.5 * up * (1.0 + xp.tanh(inner))
