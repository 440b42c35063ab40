"""Shapes, parameter counts and the list of products, against published figures and exact arithmetic."""

import gguf
import pytest

from whygpu import models
from whygpu.engine import UserError
from whygpu.models.quantisation import block_types


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gpt2-small", 124_439_808),  # sum over openai-community/gpt2's tensors
        ("gpt2-medium", 354_823_168),
        ("gpt2-large", 774_030_080),
        ("gpt2-xl", 1_557_611_200),
        ("smollm2-135m", 134_515_008),  # model card
        ("llama-3-8b", 8_030_261_248),  # model card (8.03B)
        ("llama-3.1-8b", 8_030_261_248),
        ("llama-2-7b", 6_738_415_616),
        ("tinyllama", 1_100_048_384),
    ],
)
def test_parameters_are_exact(name: str, parameters: int) -> None:
    assert models.get(name).parameters == parameters


def test_gpt_3_has_175_billion_parameters() -> None:
    assert models.get("gpt-3-175b").parameters == pytest.approx(175e9, rel=0.003)


def test_every_entry_has_a_source() -> None:
    for name in models.names():
        assert models.get(name).source


def test_unknown_model_names_near_ones() -> None:
    with pytest.raises(UserError, match=r"did you mean gpt2-small"):
        models.get("gpt2-smal")
    with pytest.raises(UserError, match="known: smollm2-135m"):
        models.get("zzzz")


def test_impossible_shapes_are_refused() -> None:
    shapes = {"layers": 1, "d_model": 8, "heads": 3, "head_dim": 4, "d_ff": 8, "vocab": 9, "context": 4}
    with pytest.raises(UserError, match="3 heads cannot share 2"):
        models.Architecture(name="x", family="llama", kv_heads=2, **shapes)
    with pytest.raises(UserError, match="'mamba' is not supported; supported: llama, gpt2"):
        models.Architecture(name="x", family="mamba", kv_heads=3, **shapes)
    with pytest.raises(UserError, match="layers is 0"):
        models.Architecture(name="x", family="llama", kv_heads=3, **{**shapes, "layers": 0})


def test_bits_per_weight() -> None:
    assert models.bits_per_weight("q4_0") == 4.5
    assert models.bits_per_weight("Q4_1") == 5.0
    assert models.bits_per_weight("Q8_0") == 8.5
    assert models.bits_per_weight("F16") == 16
    assert models.bits_per_weight("Q4_K_M") == 4.89  # of Llama-3.1-8B, llama.cpp's table
    with pytest.raises(UserError, match=r"'q9' is unknown; known: .*Q4_0"):
        models.bits_per_weight("q9")
    stored = models.get("llama-3.1-8b", quant="q4_0")
    assert (stored.quant, stored.bits_per_weight) == ("Q4_0", 4.5)


def test_block_types_are_those_of_the_gguf_package() -> None:
    for number, block in block_types().items():
        kind = gguf.GGMLQuantizationType(number)
        assert block.name == kind.name
        assert (block.weights, block.bytes) == gguf.GGML_QUANT_SIZES[kind]


def test_golden_product_counts() -> None:
    def blocks(name: str, tokens: int) -> list[models.Work]:
        return [w for w in models.matmuls(models.get(name), tokens=tokens) if w.name != "head"]

    assert sum(work.count for work in blocks("gpt2-small", 512)) == 96  # 12 x 8
    assert sum(work.count for work in blocks("gpt2-large", 512)) == 288
    assert sum(work.count for work in blocks("gpt-3-175b", 512)) == 768
    assert sum(work.count for work in blocks("llama-3-8b", 512)) == 32 * 9  # the gate is the ninth
    q = next(work for work in blocks("gpt2-small", 512) if work.name == "Q")
    assert (q.m, q.n, q.k, q.batch, q.count, q.operand) == (512, 768, 768, 1, 12, "weights")
    assert q.m * q.n * q.k == 301_989_888
    assert q.flop == 12 * 2 * 301_989_888


def test_flop_by_the_textbook_formula() -> None:
    # GPT-2, T tokens: per layer 8 T d^2 + 4 T^2 d + 16 T d^2, and the head 2 T d V (Narayanan et al. 2021)
    a, tokens = models.get("gpt2-small"), 300
    layer = 24 * tokens * 768**2 + 4 * tokens**2 * 768
    expected = 12 * layer + 2 * tokens * 768 * 50257
    assert sum(work.flop for work in models.matmuls(a, tokens=tokens, logits="all")) == expected


def test_chunks_and_batches() -> None:
    a = models.get("smollm2-135m")
    chunked = models.matmuls(a, tokens=20, past=5, chunk=8)
    assert [w.m for w in chunked if w.name == "Q"] == [8, 8, 4]
    assert [w.n for w in chunked if w.name == "scores"] == [13, 21, 25]
    assert [w.m for w in chunked if w.name == "head"] == [1]
    four = models.matmuls(a, tokens=1, past=10, batch=4)
    scores = next(w for w in four if w.name == "scores")
    assert (scores.batch, scores.m, scores.n, scores.k) == (4 * 3, 3, 11, 64)
    assert next(w for w in four if w.name == "down").m == 4
    with pytest.raises(UserError, match="tokens=0"):
        models.matmuls(a, tokens=0)


def test_bytes() -> None:
    llama = models.get("llama-3-8b")
    assert models.kv_bytes_per_token(llama) == 2 * 32 * 8 * 128 * 2  # 131,072: 128 KiB a token
    assert models.weight_bytes(llama, 16) == 2 * llama.parameters
    assert models.weights_read(llama) == llama.parameters - 128256 * 4096  # rows of the embedding only
    gpt2 = models.get("gpt2-small")
    assert models.weights_read(gpt2) == gpt2.parameters - 1024 * 768  # the tied head reads the table
    read = models.bytes_per_token(llama, past=1000, bits_per_weight=8, batch=3)
    assert read == models.weights_read(llama) + 3 * 1000 * 131072
