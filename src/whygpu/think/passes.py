"""The two ways through a model: a whole prompt at once, bound by arithmetic; one token, bound by memory.

Both return the scores of the token that comes next. What is above them (sampling, stopping, chats) does not
know how keys and values are kept.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whygpu import engine, models
from whygpu.engine import UserError
from whygpu.models import PREFILL_CHUNK
from whygpu.think.cache import Cache, Remembers
from whygpu.think.model import Model
from whygpu.think.static import static_step, steps_are_compiled
from whygpu.think.transformer import forward

__all__ = ["FLOAT", "bytes_read", "check_ids", "decode_one_token", "logits", "new_cache", "prefill"]

FLOAT = 4
"""Bytes of a float32."""
ROOM = 256
"""Tokens by which the room of a compiled step's cache is rounded up."""


def new_cache(model: Model, capacity: int) -> Remembers:
    """An empty cache for one sequence of at most ``capacity`` tokens, on the current backend."""
    if model.packed is not None:
        from whygpu.think.fast.run import FastCache

        return FastCache(model.architecture, capacity)
    # compiled steps are made for one room: few different ones are enough
    room = -(-capacity // ROOM) * ROOM if engine.current().compiles else 0
    return Cache(model.architecture, capacity, dtype=model.dtype, room=room)


def prefill(
    model: Model, ids: Sequence[int], cache: Any, *, between: Callable[[], None] = lambda: None
) -> Any:
    """Push a whole prompt through, many tokens at once: bound by arithmetic.

    ``between`` is called before each chunk of it and may raise, to give the prompt up; the cache then holds
    the chunks before. Returns (vocab,) NumPy scores of the token after the prompt.
    """
    backend = engine.current()
    with engine.scope("think", "prefill"):
        if model.packed is not None:
            return model.packed.prefill(ids, cache, between)
        for start in range(0, len(ids), PREFILL_CHUNK):
            between()
            part = backend.asarray([list(ids[start : start + PREFILL_CHUNK])], dtype="int64")  # (1, T)
            last = start + PREFILL_CHUNK >= len(ids)
            scores = forward(model, part, cache, logits="last" if last else "none")
        return backend.to_numpy(scores[0, :])


def decode_one_token(model: Model, token: int, cache: Any) -> Any:
    """Push one token through, reading every weight for it: bound by memory.

    Returns (vocab,) NumPy scores of the token after it.
    """
    backend = engine.current()
    with engine.scope("think", "decode"):
        if model.packed is not None:
            return model.packed.prefill([token], cache)
        here = backend.asarray([[token]], dtype="int64")  # (1, 1)
        step = static_step if steps_are_compiled(model, cache) else forward
        scores = step(model, here, cache)  # (1, vocab)
        return backend.to_numpy(scores[0, :])


def bytes_read(model: Model, past: float) -> float:
    """Bytes that a decode step reads of weights and of a cache of ``past`` tokens, the new one among them."""
    if model.packed is not None:
        return model.packed.bytes_read(past)
    whole, size = int(past), FLOAT if model.dtype == "float32" else 2
    here, more = (
        models.bytes_per_token(
            model.architecture, past=tokens, bits_per_weight=8 * size, bytes_per_value=size
        )
        for tokens in (whole, whole + 1)
    )
    return here + (past - whole) * (more - here)


def logits(model: Model, ids: Sequence[int]) -> Any:
    """The scores of every next token after each of ``ids``: (T, vocab) float32 NumPy.

    Raises
    ------
    UserError
        For no ids, ids outside the vocabulary, or more than the model's context.
    """
    check_ids(model, ids, model.architecture.context + 1)
    with engine.using(model.backend) as backend, engine.scope("think", "prefill"):
        cache = Cache(model.architecture, len(ids), dtype=model.dtype)
        parts = []
        for start in range(0, len(ids), PREFILL_CHUNK):
            part = backend.asarray([list(ids[start : start + PREFILL_CHUNK])], dtype="int64")
            parts.append(backend.to_numpy(forward(model, part, cache, logits="all")[0, :, :]))
        return np.concatenate(parts, axis=0)


def check_ids(model: Model, ids: Sequence[int], limit: int) -> None:
    """There must be some, in the vocabulary, and room for one more in a context of ``limit``.

    Raises
    ------
    UserError
        Where that is not so.
    """
    if not ids:
        raise UserError("the prompt has no tokens; give the model something to answer")
    if len(ids) >= limit:
        raise UserError(f"the prompt has {len(ids)} tokens; a context of {limit} has room for {limit - 1}")
    outside = [token for token in ids if not 0 <= token < model.architecture.vocab]
    if outside:
        raise UserError(f"token {outside[0]} is outside the vocabulary of {model.architecture.vocab}")
