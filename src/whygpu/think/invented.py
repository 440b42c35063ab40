"""A stand-in for a machine without network: a known model's shapes with random weights.

It multiplies exactly what the real one would, so its timings hold. Its words mean nothing, and
``Model.invented`` says so to everything that shows them.
"""

from collections.abc import Callable
from itertools import islice, product
from typing import Any

import numpy as np

from whygpu import engine, models
from whygpu.engine import Backend, Progress, ranks, silent
from whygpu.models import Architecture, Tokenizer
from whygpu.models.tokenizer import byte_characters
from whygpu.think.model import Model, gather, load

__all__ = ["invented", "load_or_invent"]

SPREAD = 0.02
"""Standard deviation of the weights, as GPT-2 was initialised (Radford et al. 2018)."""


def invented(
    name: str = "gpt2-small",
    *,
    seed: int = 0,
    backend: Backend | str | None = None,
    progress: Progress = silent,
) -> Model:
    """A model with the shapes of a catalogue entry, random weights and an invented vocabulary.

    Raises
    ------
    UserError
        For an unknown name.
    """
    architecture = models.get(name)
    with engine.using(backend) as here:
        weights = gather(architecture, _random_arrays(architecture, seed), here, progress)
    source = f"random weights in the shapes of {architecture.name}"
    tokenizer = _tokenizer(architecture.vocab)
    return Model(architecture, tokenizer, lambda: weights, here, source=source, invented=True)


def load_or_invent(
    name: str = models.DEFAULT,
    *,
    backend: Backend | str | None = None,
    dtype: str = "float32",
    progress: Progress = silent,
) -> Model:
    """The named model, or the invented GPT-2 small where it cannot be had (offline and not cached).

    A file that is damaged or not supported is still an error: only absence is made up for.
    """
    try:
        return load(name, backend=backend, dtype=dtype, progress=progress)
    except models.Unavailable as error:
        if ranks.here().size > 1 or dtype != "float32":
            raise
        progress("think.invented", None, reason=str(error))
        return invented(backend=backend, progress=progress)


def _random_arrays(architecture: Architecture, seed: int) -> Callable[[str], Any]:
    shapes = architecture.tensors()
    random = np.random.default_rng(seed)

    def array(name: str) -> Any:
        shape = shapes[name]
        if name.endswith("_bias"):
            return np.zeros(shape, np.float32)
        if name.endswith("norm"):
            return np.ones(shape, np.float32)
        values = random.standard_normal(shape, dtype=np.float32)
        values *= SPREAD
        return values

    return array


def _tokenizer(size: int) -> Tokenizer:
    """A vocabulary of ``size``: the 256 bytes, an end token, and for the rest made-up words."""
    syllables = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
    words = ("Ġ" + "".join(parts) for length in (2, 3, 4) for parts in product(syllables, repeat=length))
    tokens = [*byte_characters(), *islice(words, size - 257), "<|endoftext|>"]
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * (size - 1) + [3],
        "tokenizer.ggml.merges": [],
        "tokenizer.ggml.eos_token_id": size - 1,
    }
    return models.tokenizer_from_metadata(metadata, "the invented vocabulary")
