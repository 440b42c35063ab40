"""The decode step of unchanging shapes says what the readable one says; halves; models too large."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_families
import tiny_models

from whygpu import engine, think
from whygpu.engine.backends.cpu import CpuBackend
from whygpu.engine.backends.torch import TorchBackend
from whygpu.think.room import check_room
from whygpu.think.static import decode_greedily

CASES = ["gpt2", "llama", "llama 3.1", "qwen2, window", "gemma2", "gemma3", "phi3", "phi3, longrope"]
IDS = [int(i) for i in np.random.default_rng(5).integers(0, 256, 11)]


class Compiling(CpuBackend):
    """NumPy that claims to compile: so the unchanging step runs, and every call of it is seen."""

    compiles = True

    def __init__(self) -> None:
        super().__init__(1, kernels=False)
        self.calls = 0

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return function(*args, **kwargs)

        return counted


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("static")
    return {case: tiny_families.write_folder(case, root / str(i)) for i, case in enumerate(CASES)}


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_readable_step(files: dict[str, Path], case: str) -> None:
    backend = Compiling()
    model, plain = (
        think.load(files[case], backend=backend),
        think.load(files[case], backend="numpy", path="portable"),
    )
    scores = {}
    for name, one in (("static", model), ("plain", plain)):
        with engine.using(one.backend):
            cache = think.new_cache(one, 40)
            scores[name] = [think.prefill(one, IDS, cache)]
            scores[name] += [think.decode_one_token(one, token, cache) for token in (5, 77, 200, 3)]
    np.testing.assert_allclose(scores["static"], scores["plain"], atol=2e-5)
    assert backend.calls == 4
    with engine.using(backend):
        cache = think.new_cache(model, 40)
        assert (cache.capacity, cache.room) == (40, 256)
        first = int(think.prefill(model, IDS, cache).argmax())
        said = [first, *decode_greedily(model, first, cache, 20)]
    assert backend.calls == 24
    cache = think.Cache(plain.architecture, 40)
    with engine.using(plain.backend):
        expected = [int(think.prefill(plain, IDS, cache).argmax())]
        expected += decode_greedily(plain, expected[0], cache, 20)
    assert said == expected
    with engine.using(backend), engine.ledger():  # a ledger sees every product: then nothing is compiled
        list(think.generate(model, "Hello", max_tokens=3, chat=False))
    assert backend.calls == 24


def test_a_cache_in_the_step_is_bounded(files: dict[str, Path]) -> None:
    backend = Compiling()
    model = think.load(files["llama"], backend=backend)
    with engine.using(backend):
        cache = think.Cache(model.architecture, 12, room=12)
        think.prefill(model, IDS, cache)
        decode_greedily(model, 1, cache, 1)
        with pytest.raises(engine.UserError, match=r"the context is full: 12 \+ 1 tokens do not fit into 12"):
            think.decode_one_token(model, 1, cache)


@pytest.mark.parametrize(("dtype", "within"), [("bfloat16", 0.15), ("float16", 0.02)])
def test_weights_in_halves(files: dict[str, Path], dtype: str, within: float) -> None:
    model = think.load(files["llama"], backend="torch:cpu", dtype=dtype)
    expected = tiny_models.reference_logits(tiny_families.make("llama"), IDS)
    assert {str(model.weights.head.dtype), str(model.weights.blocks[0].q.dtype)} == {f"torch.{dtype}"}
    assert str(model.weights.norm.dtype) == "torch.float32"
    with engine.ledger() as ledger:
        found = think.logits(model, IDS)
    assert {product.dtype for product in ledger.products} == {dtype}
    # a number of bfloat16 has 8 bits, of float16 11: relative to the spread of the scores
    assert np.abs(found - expected).max() < within * expected.std() * 2
    whole = think.load(files["llama"], backend="torch:cpu")
    answers = [think.generate(m, "Hello", max_tokens=4, chat=False) for m in (whole, model)]
    read = []
    for answer in answers:
        list(answer)
        read.append(answer.statistics.bytes_read_per_token)
    assert read[1] == read[0] / 2


@pytest.mark.parametrize(
    ("device", "dtype", "line"),
    [
        ("cpu", "bfloat16", "dtype bfloat16: device cpu holds float32; torch:<device> and jax hold"),
        ("torch:cpu", "int3", "dtype 'int3' is unknown; known: float32, bfloat16, float16"),
    ],
)
def test_types_that_a_device_has_not(files: dict[str, Path], device: str, dtype: str, line: str) -> None:
    with pytest.raises(engine.UserError, match=line):
        think.load(files["llama"], backend=device, dtype=dtype)


def test_too_little_memory_says_what_would_fit(files: dict[str, Path]) -> None:
    class Small(TorchBackend):
        def memory(self) -> int:
            return 210_000

    model = think.load(files["llama"], backend="torch:cpu")
    needed = 4 * model.architecture.parameters
    assert 200_000 < needed < 420_000
    with pytest.raises(engine.UserError) as caught:
        check_room(model.architecture, Small("cpu"), "float32")
    line = str(caught.value)
    assert f"its weights need {needed / 1e6:.1f} MB in float32, torch:cpu has 0.2 MB free" in line
    assert f"--dtype bfloat16 ({needed / 2e6:.1f} MB); 2 devices with as much each" in line
    check_room(model.architecture, Small("cpu"), "bfloat16")
    check_room(model.architecture, Small("cpu"), "float32", size=2)
