"""The fast path against the portable one: every family as stored, and quantised files of mixed types."""

import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import tiny_families

from whygpu import engine, models, think

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from synthetic import Shape, write

HALF = 2.0**-11
"""What rounding to float16, as the cache does, may change of a number."""
CASES = [
    *(
        case
        for case in tiny_families.CASES
        if case not in ("llama, tied, head_dim not d/heads", "qwen3", "qwen3, biases")
    ),
    "qwen3, wide heads",
]
tiny_families.CASES["qwen3, wide heads"] = ("Qwen3", {"head_dim": 32, "attention_bias": True})


def both(path: Path) -> tuple[think.Model, think.Model]:
    return (
        think.load(path, path="fast", backend=engine.backend("cpu", threads=2)),
        think.load(path, path="portable", backend=engine.backend("cpu", threads=1)),
    )


def scores(model: think.Model, ids: list[int], at_once: int) -> Any:
    """Of the token after ``ids``: the first ``at_once`` in one pass, the others one by one."""
    cache = think.new_cache(model, len(ids) + 1)
    with engine.using(model.backend):
        found = think.prefill(model, ids[:at_once], cache)
        for token in ids[at_once:]:
            found = think.decode_one_token(model, token, cache)
    return found


@pytest.mark.parametrize("case", CASES)
def test_families_equal_the_portable_path(case: str, tmp_path: Path) -> None:
    """Float32 weights: only the float16 cache differs, in a model of large random weights."""
    has = tiny_families.has_gguf(case)
    path = (
        tiny_families.write_gguf(case, tmp_path / "m.gguf")
        if has
        else tiny_families.write_folder(case, tmp_path)
    )
    fast, portable = both(path)
    ids = [int(i) for i in np.random.default_rng(3).integers(1, 250, 21)]
    exact = think.logits(portable, ids)[-1]
    for at_once in (21, 9, 1):
        assert np.abs(scores(fast, ids, at_once) - exact).max() < 20 * HALF * exact.std()


@pytest.mark.parametrize("case", ["llama", "qwen3-moe, a dense layer", "gemma2"])
def test_the_ledger_equals_the_list_of_products(case: str, tmp_path: Path) -> None:
    """Windows, experts (routed as transformers routes) and caps; a prompt of two chunks, then a token."""
    has = tiny_families.has_gguf(case)
    path = (
        tiny_families.write_gguf(case, tmp_path / "m.gguf")
        if has
        else tiny_families.write_folder(case, tmp_path)
    )
    model = think.load(path, path="fast", backend=engine.backend("cpu", threads=2))
    ids = [int(i) for i in np.random.default_rng(3).integers(1, 250, 41)]
    mixed = model.architecture.experts > 0
    with engine.ledger() as ledger:
        scores(model, ids, 40 if not mixed else 41)
    executed: dict[Any, int] = {}
    for tokens, past in ((41, 0),) if mixed else ((40, 0), (1, 40)):
        routing = tiny_families.routing(tiny_families.make(case), ids) if mixed else None
        for work in models.matmuls(
            model.architecture, tokens=tokens, past=past, chunk=models.FAST_CHUNK, tiles=models.FAST_TILES,
            routing=routing,
        ):  # fmt: skip
            key = ("", work.name, work.batch, work.m, work.n, work.k)
            executed[key] = executed.get(key, 0) + work.count
    counted: dict[Any, int] = {}
    for (_, *rest), count in ledger.counts("think").items():
        counted["", *rest] = counted.get(("", *rest), 0) + count
    assert counted == executed


QUANTISED = ["Q4_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "IQ4_XS", "F16", "BF16"]


@pytest.mark.parametrize("kind", QUANTISED)
def test_quantised_files_stay_near_the_portable_path(kind: str, tmp_path: Path) -> None:
    """A llama of random blocks, the head and some matrices in Q6_K, as Q4_K_M files have them.

    Rounding activations to bytes, 1/254 of a block's largest at most, is what may differ.
    """
    shape = Shape(layers=3, width=256, heads=4, kv_heads=2, d_ff=512, vocab=320, context=128)
    path = write(tmp_path / "m.gguf", kind, shape, mixed="" if kind in ("F16", "BF16") else "Q6_K")
    fast, portable = both(path)
    ids = [int(i) for i in np.random.default_rng(5).integers(3, 320, 19)]
    exact = think.logits(portable, ids)[-1]
    near = HALF if kind in ("F16", "BF16") else 1 / 254
    for at_once in (19, 6, 1):
        found = scores(fast, ids, at_once)
        assert np.abs(found - exact).mean() < 8 * near * exact.std()
    texts = {tuple(t.id for t in think.generate(fast, "17 4", max_tokens=24)) for _ in range(2)}
    assert len(texts) == 1


def test_experts_in_bytes(tmp_path: Path) -> None:
    """A mixture whose experts are stored in Q8_0: rounded once by gguf's own quantiser, then both paths."""
    path = tiny_families.write_gguf("mixtral", tmp_path / "m.gguf")
    small = tmp_path / "q8.gguf"
    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(small, "llama")
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            kind = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], kind)
    for tensor in reader.tensors:
        data = tensor.data
        if "exps" in tensor.name or "attn_q" in tensor.name:
            data = gguf.quants.quantize(np.ascontiguousarray(data), gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(tensor.name, data, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(tensor.name, data)
    tiny_families.tiny_models.close(writer)
    fast, portable = both(small)
    assert fast.packed is not None
    ids = [int(i) for i in np.random.default_rng(3).integers(1, 250, 21)]
    exact = think.logits(portable, ids)[-1]
    assert np.abs(scores(fast, ids, 12) - exact).mean() < 8 / 254 * exact.std()
