"""A text as one vector: what the model holds of it after its last block."""

from typing import Any

import numpy as np

from whygpu import engine
from whygpu.engine import UserError
from whygpu.models import PREFILL_CHUNK
from whygpu.think.cache import Cache
from whygpu.think.layers import norm
from whygpu.think.model import Model
from whygpu.think.transformer import states

__all__ = ["embed"]


def embed(model: Model, text: str) -> Any:
    """A text as a vector of length 1: (d,) float32 NumPy. Texts of like meaning have a larger dot product.

    The mean, over all tokens, of the last hidden states (after the last norm, as the head sees them),
    divided by its length. Mean pooling is what sentence-transformers does unless a model says otherwise;
    a model that was trained to chat gives usable but not excellent vectors.

    Raises
    ------
    UserError
        For an empty text or one longer than the model's context.
    """
    ids = model.tokenizer.encode(text)
    a = model.architecture
    if not text.strip() or not ids:
        raise UserError("the text is empty; give the model something to embed")
    if len(ids) > a.context:
        raise UserError(f"the text has {len(ids)} tokens; {a.name} has room for {a.context}")
    total = np.zeros(a.d_model, np.float64)
    with engine.using(model.backend) as backend, engine.scope("think", "prefill"):
        cache = Cache(a, len(ids), dtype=model.dtype)
        for start in range(0, len(ids), PREFILL_CHUNK):
            part = backend.asarray([ids[start : start + PREFILL_CHUNK]], dtype="int64")  # (1, T)
            x = states(model, part, cache)  # (T, d)
            x = norm(x, model.weights.norm, model.weights.norm_bias, a.norm_eps)
            total += backend.to_numpy(x).sum(axis=0, dtype=np.float64)
    return (total / np.linalg.norm(total)).astype(np.float32)
