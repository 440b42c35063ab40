"""The forward pass against transformers, on every backend, and its products against ``models.matmuls``."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models

from whygpu import engine, models, think
from whygpu.engine import UserError

CASES: dict[str, dict[str, Any]] = {
    "grouped-query": {"heads": 4, "kv_heads": 2, "head_dim": 16},
    "multi-query, head_dim not d/heads": {"heads": 6, "kv_heads": 1, "head_dim": 10},
    "multi-head, tied": {"heads": 4, "kv_heads": 4, "head_dim": 12, "tied": True},
    "gpt2": {},
}
IDS = [int(i) for i in np.random.default_rng(5).integers(0, 256, 24)]


@pytest.fixture(scope="module", params=CASES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A GGUF file and the transformers model that it was written from."""
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    make = tiny_models.gpt2 if request.param == "gpt2" else tiny_models.llama
    return path, make(path, **CASES[request.param])


def greedy(model: think.Model, ids: list[int], count: int) -> list[int]:
    """Prefill, then decode with the cache."""
    with engine.using(model.backend):
        cache = think.Cache(model.architecture, len(ids) + count)
        said = [int(think.prefill(model, ids, cache).argmax())]
        while len(said) < count:
            said.append(int(think.decode_one_token(model, said[-1], cache).argmax()))
    return said


def test_logits_and_64_greedy_tokens_equal_transformers(pair: tuple[Path, Any]) -> None:
    path, reference = pair
    model = think.load(path, path="portable")
    expected = tiny_models.reference_logits(reference, IDS)
    found = think.logits(model, IDS)
    assert found.shape == (len(IDS), tiny_models.VOCAB)
    assert np.abs(found - expected).max() < 1e-3
    assert np.abs(expected).max() > 1.0  # the models are random, not flat
    assert greedy(model, IDS, 64) == tiny_models.reference_greedy(reference, IDS, 64)
    assert sum(parameter.numel() for parameter in reference.parameters()) == model.architecture.parameters


@pytest.mark.parametrize("name", ["strict", "torch:cpu", "python"])
def test_other_backends_say_the_same(pair: tuple[Path, Any], name: str) -> None:
    path, _ = pair
    here: Any = engine.backend("array-api-strict") if name == "strict" else name
    ids, count = (IDS[:6], 4) if name == "python" else (IDS, 32)
    ours, other = think.load(path, path="portable"), think.load(path, path="portable", backend=here)
    assert np.abs(think.logits(ours, ids) - think.logits(other, ids)).max() < 1e-3
    assert greedy(ours, ids, count) == greedy(other, ids, count)


def test_cache_equals_full_pass(pair: tuple[Path, Any]) -> None:
    model = think.load(pair[0], path="portable")
    whole = think.logits(model, IDS)
    cache = think.Cache(model.architecture, len(IDS))
    with engine.using(model.backend):
        np.testing.assert_allclose(think.prefill(model, IDS[:10], cache), whole[9], atol=1e-4)
        for at in range(10, len(IDS)):
            np.testing.assert_allclose(think.decode_one_token(model, IDS[at], cache), whole[at], atol=1e-4)
        with pytest.raises(UserError, match="the context is full"):
            think.decode_one_token(model, 1, cache)
        cache.rewind(12)
        np.testing.assert_allclose(think.decode_one_token(model, IDS[12], cache), whole[12], atol=1e-4)


def test_chunked_prefill_equals_one_pass(pair: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model = think.load(pair[0], path="portable")
    whole = think.logits(model, IDS)
    module = importlib.import_module("whygpu.think.passes")
    monkeypatch.setattr(module, "PREFILL_CHUNK", 7)
    np.testing.assert_allclose(think.logits(model, IDS), whole, atol=1e-4)
    with engine.ledger() as ledger, engine.using(model.backend):
        scores = think.prefill(model, IDS, think.Cache(model.architecture, 64))
    np.testing.assert_allclose(scores, whole[-1], atol=1e-4)
    assert ledger.counts("think") == listed("prefill", model.architecture, tokens=len(IDS), chunk=7)


def listed(stage: str, architecture: models.Architecture, **how: Any) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    for work in models.matmuls(architecture, **how):
        key = (stage, work.name, work.batch, work.m, work.n, work.k)
        counts[key] = counts.get(key, 0) + work.count
    return counts


def test_the_ledger_equals_the_list(pair: tuple[Path, Any]) -> None:
    model = think.load(pair[0], path="portable")
    a = model.architecture
    cache = think.Cache(a, 64)
    with engine.ledger() as ledger, engine.using(model.backend):
        think.prefill(model, IDS, cache)
        think.decode_one_token(model, 3, cache)
    expected = listed("prefill", a, tokens=len(IDS)) | listed("decode", a, tokens=1, past=len(IDS))
    assert ledger.counts("think") == expected
    works = models.matmuls(a, tokens=len(IDS)) + models.matmuls(a, tokens=1, past=len(IDS))
    assert ledger.totals("think").flop == sum(work.flop for work in works)
    others = {name for _, name in ledger.others}
    assert {"embedding", "norm", "softmax", "activation", "residual", "cache", "mask"} <= others
    assert ("rope" in others) == (a.family == "llama")


def test_all_logits_are_listed_too(pair: tuple[Path, Any]) -> None:
    model = think.load(pair[0], path="portable")
    with engine.ledger() as ledger:
        think.logits(model, IDS)
    assert ledger.counts("think") == listed("prefill", model.architecture, tokens=len(IDS), logits="all")


def test_a_batch_is_its_sequences(pair: tuple[Path, Any]) -> None:
    model = think.load(pair[0], path="portable")
    other = IDS[::-1]
    with engine.using(model.backend) as backend, engine.ledger() as ledger:
        cache = think.Cache(model.architecture, 32, batch=2)
        with engine.scope("think", "prefill"):
            both = think.forward(model, backend.asarray([IDS, other], dtype="int64"), cache, logits="all")
        with engine.scope("think", "decode"):
            last = think.forward(model, backend.asarray([[1], [2]], dtype="int64"), cache)
    np.testing.assert_allclose(both[0], think.logits(model, IDS), atol=1e-4)
    np.testing.assert_allclose(both[1], think.logits(model, other), atol=1e-4)
    np.testing.assert_allclose(last[1], think.logits(model, [*other, 2])[-1], atol=1e-4)
    a, tokens = model.architecture, len(IDS)
    expected = listed("prefill", a, tokens=tokens, batch=2, logits="all")
    assert ledger.counts("think") == expected | listed("decode", a, tokens=1, past=tokens, batch=2)


def test_llama_3_frequency_divisors() -> None:
    # the table of Llama 3.1's config: factor 8, low 1, high 4, original context 8192
    theta, head_dim = 500000.0, 128
    frequencies = theta ** (-np.arange(0, head_dim, 2) / head_dim)
    wavelengths = 2 * np.pi / frequencies
    factors = np.where(wavelengths > 8192, 8.0, 1.0)
    given = models.RopeScaling(kind="divisors", divisors=tuple(factors))
    cosine, sine = think.layers.rope_table(models.Rope(theta, head_dim, given), 100, 2)
    assert cosine.shape == (2, 1, 64)
    np.testing.assert_allclose(cosine[1, 0], np.cos(101 * frequencies / factors), atol=1e-6)
    np.testing.assert_allclose(sine[0, 0], np.sin(100 * frequencies / factors), atol=1e-6)
