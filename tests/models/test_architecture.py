"""Shapes, parameter counts and the list of products, against published figures and exact arithmetic."""

from typing import Any

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
        # sums over the tensors of the published safetensors files
        ("llama-3.2-1b", 1_235_814_400),
        ("mistral-7b", 7_241_732_096),
        ("mixtral-8x7b", 46_702_792_704),
        ("qwen2.5-0.5b", 494_032_768),
        ("qwen3-0.6b", 596_049_920),
        ("qwen3-30b-a3b", 30_532_122_624),
        ("phi-3-mini", 3_821_079_552),
        ("gemma-2-2b", 2_614_341_888),
        ("gemma-3-1b", 999_885_952),
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


def test_mixtures_of_experts() -> None:
    mixtral, qwen = models.get("mixtral-8x7b"), models.get("qwen3-30b-a3b")
    # model cards: 12.9 billion parameters used a token; 3.3 billion (embedding and head included)
    embedding = 32000 * 4096
    assert models.weights_read(mixtral) + embedding == pytest.approx(12.9e9, rel=0.002)
    assert models.weights_read(qwen) + 151936 * 2048 == pytest.approx(3.3e9, rel=0.02)
    assert models.weights_read(mixtral, 10**6) == mixtral.parameters - embedding  # all experts are read
    one, two = models.weights_read(mixtral), models.weights_read(mixtral, 2)
    expert = 3 * 14336 * 4096
    assert two - one == round(32 * expert * (8 * (6 / 8) - 8 * (6 / 8) ** 2))
    prefill = models.matmuls(qwen, tokens=100)
    assert sum(w.count * w.m for w in prefill if w.name == "gate") == 48 * 100 * 8
    assert {w.m for w in prefill if w.name == "gate"} == {6, 7}  # 800 slots over 128 experts
    decode = models.matmuls(qwen, tokens=1, past=9)
    assert [(w.count, w.m) for w in decode if w.name == "down"] == [(48 * 8, 1)]
    assert [(w.n, w.k, w.count) for w in decode if w.name == "router"] == [(128, 2048, 48)]
    given = models.matmuls(mixtral, tokens=3, routing=[[3, 0, 0, 3, 0, 0, 0, 0]] * 32)
    assert [(w.count, w.m) for w in given if w.name == "up"] == [(64, 3)]
    with pytest.raises(UserError, match="routing: 1 rows for 32 layers"):
        models.matmuls(mixtral, tokens=3, routing=[[6]])
    with pytest.raises(UserError, match="routing: 3 tokens in chunks of 2"):
        models.matmuls(mixtral, tokens=3, chunk=2, routing=[[6]] * 32)


def test_windows() -> None:
    gemma = models.get("gemma-3-1b")
    assert [i for i, block in enumerate(gemma.blocks) if block.window is None] == [5, 11, 17, 23]
    assert gemma.blocks[0].rope == models.Rope(10000.0, 256)
    assert gemma.blocks[5].rope == models.Rope(1000000.0, 256)
    scores = [w for w in models.matmuls(gemma, tokens=1, past=2000) if w.name == "scores"]
    assert sorted((w.count, w.n) for w in scores) == [(4, 2001), (22, 512)]
    # 4 layers read all keys and values, 22 read 512 of them; 256 dimensions, 1 K/V head
    assert models.kv_bytes(gemma, 2001) == 2 * 2 * 256 * (4 * 2001 + 22 * 512)
    assert models.kv_bytes(gemma, 512) == 512 * models.kv_bytes_per_token(gemma)
    read = models.bytes_per_token(gemma, past=2001, bits_per_weight=16)
    assert read == 2 * models.weights_read(gemma) + models.kv_bytes(gemma, 2001)
    mistral = models.get("mistral-7b")
    assert {block.window for block in mistral.blocks} == {4096}
    chunk = [w for w in models.matmuls(mistral, tokens=512, past=8000) if w.name == "scores"]
    assert [(w.count, w.n) for w in chunk] == [(32, 4095 + 512)]


SHAPES = {
    "layers": 2,
    "d_model": 8,
    "heads": 2,
    "kv_heads": 1,
    "head_dim": 4,
    "d_ff": 8,
    "vocab": 9,
    "context": 4,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layer_heads": (2,)}, "layer_heads has 1 numbers for 2 layers"),
        ({"layer_heads": (2, 3), "layer_kv_heads": (1, 2)}, "3 heads cannot share 2"),
        ({"layer_kv_heads": (1, 0)}, "2 heads cannot share 0"),
        ({"layer_d_ff": (8, 0)}, "a layer's d_ff is 0"),
        ({"window": 5}, "a window of 5 tokens for 0 layers"),
        ({"local_layers": (0,)}, "a window of 0 tokens for 1 layers"),
        ({"window": 5, "local_layers": (2,)}, "local_layers names layer 2 of 2"),
        ({"window": -1}, "window is -1; it must be 0 or more"),
        ({"logit_cap": float("inf")}, "logit_cap is inf"),
        ({"rope_dims": 3}, "rope_dims 3 is odd or too large"),
        ({"rope_dims": 6}, "rope_dims 6 is odd or too large"),
        ({"head_dim": 5}, "head_dim 5 is odd"),
        ({"experts": 4}, "llama models have no experts"),
        ({"family": "mixtral"}, "0 of 0 experts of width 0 cannot be"),
        ({"family": "mixtral", "experts": 4, "experts_used": 5, "expert_d_ff": 8}, "5 of 4 experts"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        models.Architecture(**{"name": "x", "family": "llama", **SHAPES, **change})


def test_every_family_has_a_reader() -> None:
    from whygpu.models.config import _table

    assert {row["family"] for row in _table()["types"].values()} == set(models.FAMILIES)
