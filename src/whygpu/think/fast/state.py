"""What the kernel works on, as named tuples of arrays: sizes, weights, cache, buffers."""

from typing import Any, NamedTuple, TypeVar

import numpy as np

from whygpu.models import FAST_CHUNK, Architecture
from whygpu.think.fast.activations import ROUNDED
from whygpu.think.fast.formats import BLOCK, LANES

__all__ = [
    "CHUNK",
    "MATRICES",
    "VECTORS",
    "WATCHED",
    "Buffers",
    "Cache",
    "Mixture",
    "Places",
    "Sizes",
    "Tables",
    "addresses",
    "buffers",
    "filled",
    "mixture",
    "shapes",
    "sizes",
]

CHUNK = FAST_CHUNK
"""Tokens of a prompt that go through all layers together."""
WATCHED = 8
"""One layer in so many is timed stage by stage, while a ledger listens."""

MATRICES = ("q", "k", "v", "out", "gate", "up", "down", "router", "expert_gate", "expert_up", "expert_down")
"""The matrices of a block, in the order of ``Tables.matrices``."""
VECTORS = (
    "attention_norm", "attention_norm_bias", "q_bias", "k_bias", "v_bias", "q_norm", "k_norm", "out_bias",
    "attention_post_norm", "mlp_norm", "mlp_norm_bias", "gate_bias", "up_bias", "down_bias", "mlp_post_norm",
)  # fmt: skip
"""The vectors of a block, in the order of ``Tables.places``."""


class Sizes(NamedTuple):
    """What holds for every block."""

    layers: int
    width: int
    head_dim: int
    vocab: int
    epsilon: Any  # float32
    score_scale: Any  # float32
    attention_cap: Any  # float32; 0: none
    logit_cap: Any  # float32; 0: none
    centred: bool  # LayerNorm, not RMSNorm
    gelu: bool
    gated: bool


class Tables(NamedTuple):
    """Where each weight lies, and each block's shape."""

    matrices: (
        Any  # (layers + 1, MATRICES, 5) int64: address, function, bytes of 16 rows, k, bytes of an expert
    )
    vectors: Any  # float32: all vectors end to end
    places: Any  # (layers + 1, VECTORS) int64: where a vector begins, or -1; the last row: norm, norm_bias
    shapes: Any  # (layers, 8) int64: heads, kv_heads, d_ff, window, rope, experts, used, normalised


class Cache(NamedTuple):
    """Keys and values in float16, laid out as ``attention`` says, and the rotary tables for its length."""

    keys: Any  # int16
    values: Any  # int16
    starts: Any  # (layers,) int64: where each layer's begin
    room: int  # positions
    cosines: Any  # (ropes, room * head_dim / 2) float32; in each as many columns a position as pairs turn
    sines: Any
    halves: Any  # (ropes,) int64: pairs that turn
    attend: int = 0  # address of ``attend.attend``
    attention: int = 0  # and of what it works on


class Buffers(NamedTuple):
    """Activations of one chunk, float32 unless it says otherwise. ``_own``: one row a thread."""

    x: Any  # (CHUNK, width): the residual stream
    y: Any  # (CHUNK, width): what joins it next
    normed: Any  # (CHUNK, widest): inputs of the next product
    rounded: Any  # the same, rounded, uint8
    qkv: Any  # (CHUNK, q + 2 kv)
    queries: Any  # (CHUNK, q): turned and scaled
    row_own: Any  # (threads, head_dim)
    scores_own: Any  # (threads, 4, room)
    room: int  # positions
    mixed: Any  # (rows, parts, head_dim)
    tops: Any  # (rows, parts)
    wholes: Any
    gate: Any  # (CHUNK, d_ff)
    up: Any
    hidden: Any  # gate and up together, rounded, uint8
    logits: Any  # (vocab,)


class Places(NamedTuple):
    """What attention works on, in one array of int64: of ``Cache``, ``Tables``, ``Buffers``, ``Sizes``."""

    keys: int
    values: int
    starts: int
    room: int
    shapes: int
    queries: int
    scores_own: int
    scores_room: int
    mixed: int
    tops: int
    wholes: int
    normed: int
    rounded: int
    head_dim: int
    cap: int  # address of a float32


class Mixture(NamedTuple):
    """What a mixture of experts needs beside."""

    router: Any  # (CHUNK, experts)
    chosen: Any  # (CHUNK, used) int64
    shares: Any  # (CHUNK, used)
    routed: Any  # (layers, experts) int64: tokens of each
    picked: Any  # (CHUNK,) int64: the slots of one expert
    picked_x: Any  # (CHUNK, width): their inputs
    picked_rounded: Any  # uint8
    said: Any  # (CHUNK, width): what it makes of them


Arrays = TypeVar("Arrays", Tables, Cache, Buffers, Mixture)


def addresses(arrays: Arrays) -> Arrays:
    """The same with each array's address in its place: so the kernel takes them, which compiles much faster.

    The arrays must live as long as the addresses are used.
    """
    return type(arrays)(*(x if isinstance(x, int) else x.ctypes.data for x in arrays))


def filled(count: int) -> int:
    """``count`` rounded up to whole groups of lanes."""
    return -(-count // LANES) * LANES


def sizes(a: Architecture) -> Sizes:
    """The constants of an architecture."""
    known = a.features
    return Sizes(
        a.layers,
        a.d_model,
        a.head_dim,
        filled(a.vocab),
        np.float32(a.norm_eps),
        np.float32(a.score_scale),
        np.float32(a.attention_cap),
        np.float32(a.logit_cap),
        known.norm == "layer",
        known.activation == "gelu_tanh",
        known.gated,
    )


def shapes(a: Architecture) -> Any:
    """Each block's, as ``Tables.shapes`` has them; ropes are numbered as they first appear."""
    ropes = list(dict.fromkeys(block.rope for block in a.blocks if block.rope is not None))
    rows = []
    for b in a.blocks:
        turn = -1 if b.rope is None else ropes.index(b.rope)
        e = b.experts
        mixture = (e.count, e.used, e.normalised) if e else (0, 0, 0)
        width = e.d_ff if e else b.d_ff
        rows.append((b.heads, b.kv_heads, width, b.window or 0, turn, *mixture))
    return np.array(rows, np.int64)


def buffers(a: Architecture, threads: int, room: int) -> Buffers:
    """Memory for chunks of up to ``CHUNK`` tokens and a cache of ``room`` positions."""
    heads, shared = (max(getattr(b, name) for b in a.blocks) for name in ("heads", "kv_heads"))
    d_ff = max(b.experts.d_ff if b.experts else b.d_ff for b in a.blocks)
    nq, widest = heads * a.head_dim, max(a.d_model, heads * a.head_dim)
    rows = max(CHUNK * heads, heads * threads)
    return Buffers(
        x=_floats(CHUNK, a.d_model),
        y=_floats(CHUNK, a.d_model),
        normed=_floats(CHUNK, widest),
        rounded=_rounded(widest),
        qkv=_floats(CHUNK, nq + 2 * shared * a.head_dim),
        queries=_floats(CHUNK, nq),
        row_own=_floats(threads, a.head_dim),
        scores_own=_floats(threads, 4, room),
        room=room,
        mixed=_floats(rows, a.head_dim),
        tops=_floats(rows),
        wholes=_floats(rows),
        gate=_floats(CHUNK, d_ff),
        up=_floats(CHUNK, d_ff),
        hidden=_rounded(d_ff),
        logits=_floats(filled(a.vocab)),
    )


def mixture(a: Architecture) -> Mixture | None:
    """Memory for experts, where the model has such."""
    if not a.experts:
        return None
    experts = filled(a.experts)
    return Mixture(
        router=_floats(CHUNK, experts),
        chosen=np.zeros((CHUNK, a.experts_used), np.int64),
        shares=_floats(CHUNK, a.experts_used),
        routed=np.zeros((a.layers, experts), np.int64),
        picked=np.zeros(CHUNK * a.experts_used, np.int64),
        picked_x=_floats(CHUNK, a.d_model),
        picked_rounded=_rounded(a.d_model),
        said=_floats(CHUNK, a.d_model),
    )


def _floats(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def _rounded(columns: int) -> Any:
    return np.zeros(CHUNK * columns // BLOCK * ROUNDED, np.uint8)
