"""Sequences side by side: each gets the scores that it would get alone, and weights are counted once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_families

from whygpu import engine, models, think
from whygpu.engine import UserError

HALF = 2.0**-11
"""What rounding to float16, as the fast path's cache does, may change of a number."""
PROMPTS = (
    [5, 9, 2, 7, 11],
    [3],
    list(range(20, 58)),
    [8, 8],
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17],
)
STEPS = 3
CASES = [case for case in tiny_families.CASES if tiny_families.has_gguf(case)]


def alone(model: think.Model, prompt: list[int], said: list[int]) -> Any:
    """Scores after each of ``said``, one token at a time."""
    with engine.using(model.backend):
        cache = think.new_cache(model, 64)
        think.prefill(model, prompt, cache)
        return np.stack([think.decode_one_token(model, token, cache).copy() for token in said])


def together(model: think.Model, said: list[list[int]]) -> Any:
    """The same of all prompts: (sequences, STEPS, vocab). The last leaves after one step, and one joins."""
    with engine.using(model.backend):
        caches = [think.new_cache(model, 64) for _ in PROMPTS]
        for prompt, cache in zip(PROMPTS, caches, strict=True):
            think.prefill(model, prompt, cache)
        batch = think.Batch(model, len(PROMPTS))
        return np.stack(
            [batch.decode([words[step] for words in said], caches).copy() for step in range(STEPS)], axis=1
        )


@pytest.mark.parametrize("path", ["fast", "portable"])
@pytest.mark.parametrize("case", CASES)
def test_each_gets_what_it_would_get_alone(case: str, path: str, tmp_path: Path) -> None:
    file = tiny_families.write_gguf(case, tmp_path / "model.gguf")
    try:
        model = think.load(file, path=path, backend=engine.backend("cpu", threads=2 if path == "fast" else 1))
    except UserError as error:
        pytest.skip(str(error))
    said = [[(7 * i + 3 * step) % 60 for step in range(STEPS)] for i in range(len(PROMPTS))]
    found = together(model, said)
    for i, prompt in enumerate(PROMPTS):
        wanted = alone(model, prompt, said[i])
        spread = np.abs(wanted).max()
        tolerance = 1e-5 if path == "portable" else HALF  # parts of a cache are joined in another order
        assert np.abs(found[i] - wanted).max() <= tolerance * spread


@pytest.mark.parametrize("path", ["fast", "portable"])
def test_weights_are_counted_once(path: str, tmp_path: Path) -> None:
    file = tiny_families.write_gguf(CASES[0], tmp_path / "model.gguf")
    try:
        model = think.load(file, path=path, backend=engine.backend("cpu", threads=1))
    except UserError as error:
        pytest.skip(str(error))
    a = model.architecture
    with engine.using(model.backend), engine.ledger() as ledger:
        caches = [think.new_cache(model, 64) for _ in range(3)]
        for cache, prompt in zip(caches, PROMPTS, strict=False):
            think.prefill(model, prompt, cache)
        before = dict(ledger.counts("think"))
        think.Batch(model, 3).decode([1, 2, 3], caches)
    new = {key: count - before.get(key, 0) for key, count in ledger.counts("think").items()}
    products = {key: count for key, count in new.items() if key[0] == "decode" and count}
    q = a.blocks[0].heads * a.head_dim
    assert products["decode", "Q", 1, 3, q, a.d_model] == a.layers
    assert products["decode", "head", 1, 3, a.vocab, a.d_model] == 1
    scores = sum(count for key, count in products.items() if key[1] == "scores")
    assert scores == 3 * a.layers  # each sequence looks at its own past
    flop = sum(2 * b * m * n * k * count for (_, _, b, m, n, k), count in products.items())
    listed = sum(
        work.flop for prompt in PROMPTS[:3] for work in models.matmuls(a, tokens=1, past=len(prompt))
    )
    assert flop >= listed  # tiles of attention may reach beyond what is seen
    assert flop < 1.6 * listed


def test_a_full_context_is_refused_before_anything_is_pushed(tmp_path: Path) -> None:
    file = tiny_families.write_gguf(CASES[0], tmp_path / "model.gguf")
    model = think.load(file, backend=engine.backend("cpu", threads=1))
    with engine.using(model.backend):
        caches = [think.new_cache(model, room) for room in (16, 4)]
        for cache in caches:
            think.prefill(model, [1, 2, 3, 4], cache)
        with pytest.raises(UserError, match="context is full"):
            think.Batch(model, 2).decode([1, 1], caches)
        assert [cache.length for cache in caches] == [4, 4]
