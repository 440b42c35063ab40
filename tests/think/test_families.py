"""Every family against transformers, from GGUF and safetensors; its products against ``models.matmuls``."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_families
import tiny_models
import torch
from test_transformer import listed

from whygpu import engine, models, think

IDS = [int(i) for i in np.random.default_rng(11).integers(0, 256, 20)]
FORMS = [
    *((case, "gguf") for case in tiny_families.CASES if tiny_families.has_gguf(case)),
    *((case, "safetensors") for case in tiny_families.CASES),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Every case in every form."""
    root = tmp_path_factory.mktemp("families")
    found = {}
    for number, (case, form) in enumerate(FORMS):
        path = root / f"{number}{'.gguf' if form == 'gguf' else ''}"
        write = tiny_families.write_gguf if form == "gguf" else tiny_families.write_folder
        found[case, form] = write(case, path)
    return found


@pytest.fixture(scope="module", params=tiny_families.CASES)
def loaded(request: pytest.FixtureRequest, files: dict[tuple[str, str], Path]) -> tuple[str, think.Model]:
    form = "gguf" if tiny_families.has_gguf(request.param) else "safetensors"
    return request.param, think.load(files[request.param, form], path="portable", backend=one_thread())


def one_thread() -> engine.Backend:
    return engine.backend("cpu", threads=1)  # two teams on busy cores wait for each other at every product


def said(model: think.Model, ids: list[int], count: int) -> list[int]:
    """Prefill, then decode with the cache."""
    with engine.using(model.backend):
        cache = think.Cache(model.architecture, len(ids) + count)
        tokens = [int(think.prefill(model, ids, cache).argmax())]
        while len(tokens) < count:
            tokens.append(int(think.decode_one_token(model, tokens[-1], cache).argmax()))
    return tokens


@pytest.mark.parametrize(("case", "form"), FORMS)
def test_logits_and_64_greedy_tokens_equal_transformers(
    files: dict[tuple[str, str], Path], case: str, form: str
) -> None:
    model = think.load(files[case, form], path="portable", backend=one_thread())
    reference = tiny_families.make(case)
    # longrope: transformers changes all positions at the original context, halfway through a text
    count = 40 if "longrope" in case else 64
    tokens = said(model, IDS, count)
    expected = tiny_models.reference_logits(reference, [*IDS, *tokens[:-1]])
    assert tokens == expected[len(IDS) - 1 :].argmax(axis=-1).tolist()
    found = think.logits(model, [*IDS, *tokens[:-1]])
    assert np.abs(found - expected).max() < 1e-3
    assert np.abs(expected).max() > 0.5  # the models are random, not flat
    assert model.architecture.parameters == sum(p.numel() for p in reference.parameters())


def test_long_texts_take_the_long_divisors(files: dict[tuple[str, str], Path]) -> None:
    for form in ("gguf", "safetensors"):
        model = think.load(files["phi3, longrope", form], path="portable")
        ids = IDS * 4
        expected = tiny_models.reference_logits(tiny_families.make("phi3, longrope"), ids)
        assert np.abs(think.logits(model, ids) - expected).max() < 1e-3


def test_cache_equals_full_pass(loaded: tuple[str, think.Model]) -> None:
    _, model = loaded
    whole = think.logits(model, IDS)
    with engine.using(model.backend):
        cache = think.Cache(model.architecture, len(IDS))
        np.testing.assert_allclose(think.prefill(model, IDS[:3], cache), whole[2], atol=1e-4)
        np.testing.assert_allclose(think.prefill(model, IDS[3:12], cache), whole[11], atol=1e-4)
        for at in range(12, len(IDS)):
            np.testing.assert_allclose(think.decode_one_token(model, IDS[at], cache), whole[at], atol=1e-4)
        cache.rewind(13)
        np.testing.assert_allclose(think.decode_one_token(model, IDS[13], cache), whole[13], atol=1e-4)


def test_the_ledger_equals_the_list(loaded: tuple[str, think.Model]) -> None:
    case, model = loaded
    a = model.architecture
    with engine.ledger() as ledger, engine.using(model.backend):
        cache = think.Cache(a, 64)
        think.prefill(model, IDS, cache)
        think.decode_one_token(model, 3, cache)
    routing = tiny_families.routing(tiny_families.make(case), IDS) if a.experts else None
    prefill = listed("prefill", a, tokens=len(IDS), routing=routing)
    # one token goes to different experts: their products have one shape whichever they are
    assert ledger.counts("think") == prefill | listed("decode", a, tokens=1, past=len(IDS))
    # without a routing the shapes are those of an even split, and the arithmetic is the same
    works = models.matmuls(a, tokens=len(IDS)) + models.matmuls(a, tokens=1, past=len(IDS))
    assert ledger.totals("think").flop == sum(work.flop for work in works)


def test_what_a_decode_step_reads(loaded: tuple[str, think.Model]) -> None:
    case, model = loaded
    a = model.architecture
    with engine.using(model.backend):
        cache = think.Cache(a, 64)
        think.prefill(model, IDS, cache)
        with engine.ledger() as ledger:
            think.decode_one_token(model, 3, cache)
    past = len(IDS) + 1
    right = [p for p in ledger.products if p.name not in ("scores", "weighted V")]
    weights = sum(p.n * p.k * ledger.products[p].count for p in right)
    # gains and biases are read too, but are no matrices
    vectors = sum(s[0] for name, s in a.tensors().items() if len(s) == 1)
    assert models.weights_read(a) == weights + vectors
    attention = [p for p in ledger.products if p.name in ("scores", "weighted V")]
    cached = sum(p.batch * p.n * p.k * ledger.products[p].count for p in attention)
    assert models.kv_bytes(a, past, 4) == 4 * cached
    windows = [block.window or past for block in a.blocks]
    heads = 2 * a.head_dim * a.kv_heads
    assert models.kv_bytes(a, past, 1) == heads * sum(min(window, past) for window in windows)
    assert models.kv_bytes_per_token(a, 2) == 2 * heads * a.layers, case


@pytest.mark.parametrize("case", ["gemma2", "gemma3", "mixtral", "phi3, partly rotary", "gpt2"])
def test_other_backends_say_the_same(files: dict[tuple[str, str], Path], case: str) -> None:
    path = files[case, "gguf"]
    expected = think.logits(think.load(path, path="portable", backend=one_thread()), IDS)
    strict: Any = engine.backend("array-api-strict")
    for backend in (strict, "torch:cpu"):
        model = think.load(path, path="portable", backend=backend)
        assert np.abs(think.logits(model, IDS) - expected).max() < 1e-3
        assert said(model, IDS, 4) == said(think.load(path, path="portable"), IDS, 4)


def test_a_batch_is_its_sequences(loaded: tuple[str, think.Model]) -> None:
    _, model = loaded
    other = IDS[::-1]
    with engine.using(model.backend) as backend:
        cache = think.Cache(model.architecture, 32, batch=2)
        both = think.forward(model, backend.asarray([IDS, other], dtype="int64"), cache, logits="all")
    np.testing.assert_allclose(both[0], think.logits(model, IDS), atol=1e-4)
    np.testing.assert_allclose(both[1], think.logits(model, other), atol=1e-4)


@pytest.mark.parametrize("case", ["gpt2", "llama", "gemma3", "qwen3-moe"])
def test_embeddings_are_mean_hidden_states(files: dict[tuple[str, str], Path], case: str) -> None:
    model = think.load(files[case, "gguf"], path="portable")
    text = "Matrices, 矩阵."
    ids = model.tokenizer.encode(text)
    reference = tiny_families.make(case)
    base = reference.transformer if case == "gpt2" else reference.model
    with torch.no_grad():
        mean = base(torch.tensor([ids])).last_hidden_state[0].mean(dim=0).numpy()
    found = think.embed(model, text)
    assert found.shape == (64,)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, mean / np.linalg.norm(mean), atol=1e-5)
    with pytest.raises(engine.UserError, match="the text is empty"):
        think.embed(model, " ")
    with pytest.raises(engine.UserError, match="the text has 300 tokens"):
        think.embed(model, "a" * 300)


def test_stored_rows_are_the_array(files: dict[tuple[str, str], Path]) -> None:
    from whygpu.models.quants import to_float32

    for case, form in FORMS:
        checkpoint = models.open_checkpoint(files[case, form])
        for name, shape in checkpoint.architecture.tensors().items():
            raw, kind = checkpoint.stored(name)
            assert kind == checkpoint.kind(name) == "F32"
            assert raw.shape[:-1] == (shape[:-1] if len(shape) > 1 else shape)
            values = to_float32(np.ascontiguousarray(raw).reshape(-1), kind, 1, 4).reshape(shape)
            np.testing.assert_array_equal(values, checkpoint.array(name))
        table = checkpoint.array("embedding")
        np.testing.assert_array_equal(checkpoint.embeddings([5, 1, 5]), table[[5, 1, 5]])


def test_a_path_that_is_not_there(files: dict[tuple[str, str], Path]) -> None:
    with pytest.raises(engine.UserError, match="path 'slow' is unknown; known: auto, fast, portable"):
        think.load(files["llama", "gguf"], path="slow")
    model = think.load(files["llama", "gguf"], path="portable")
    assert model.checkpoint is not None
    assert model.checkpoint.architecture == model.architecture
