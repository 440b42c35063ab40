"""What models cost: against published counts, the exact list of products, and arithmetic by hand."""

import json
from pathlib import Path

import pytest

from whygpu import models
from whygpu.engine import UserError
from whygpu.models.lookup import find_outline, generic_outline, outline_names, published
from whygpu.models.outline import outline
from whygpu.models.outline_config import outline_of_config, outline_of_config_file
from whygpu.models.outline_source import outline_source


@pytest.mark.parametrize("name", models.names())
def test_the_outline_counts_what_the_list_of_products_counts(name: str) -> None:
    a = models.get(name)
    o = outline(a)
    assert o.parameters == a.parameters
    past = min(200, a.context - 1)
    flop = sum(work.flop for work in models.matmuls(a, tokens=1, past=past))
    assert flop == 2 * (o.active + o.decode_attention(past + 1))
    assert o.cached(past + 1) == models.kv_bytes(a, past + 1, 1)


@pytest.mark.parametrize("name", [name for name in outline_names() if published(name)[0]])
def test_parameters_are_those_that_the_authors_state(name: str) -> None:
    stated, _ = published(name)
    assert stated is not None
    assert find_outline(name).parameters == pytest.approx(stated, rel=0.012)


@pytest.mark.parametrize(
    ("name", "active"),  # model cards and papers
    [
        ("deepseek-v3", 37e9),
        ("qwen3-235b-a22b", 22e9),
        ("gpt-oss-120b", 5.1e9),
        ("mixtral-8x22b", 39.2e9),
        ("kimi-k2", 32e9),
    ],
)
def test_active_parameters(name: str, active: float) -> None:
    assert find_outline(name).active == pytest.approx(active, rel=0.03)


def test_cache_bytes_by_hand() -> None:
    # DeepSeek-V3: 61 layers x (512 latent + 64 rotary) x 2 bytes = 70,272 (research note C.3; arXiv
    # 2412.19437)
    assert 2 * find_outline("deepseek-r1").cached(1) == 70_272
    # Llama 3.1 405B: 126 layers x 2 x 8 heads x 128 x 2 bytes
    assert 2 * find_outline("llama-3.1-405b").cached(1) == 126 * 2 * 8 * 128 * 2
    # Gemma 3 27B: every 6th of 62 layers sees everything, the others 1024 tokens
    gemma = find_outline("gemma-3-27b")
    assert gemma.cached(8192) == 2 * 16 * 128 * (10 * 8192 + 52 * 1024)


def test_expert_reads() -> None:
    """E (1 - (1 - k/E)^n): 8 of 128 experts, four tokens."""
    o = find_outline("qwen3-30b-a3b")
    each = 48 * 3 * 2048 * 768
    assert o.experts_read(1) == pytest.approx(8 * each)
    assert o.experts_read(4) == pytest.approx(128 * (1 - (120 / 128) ** 4) * each)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Llama 3 8B", "llama-3-8b"),
        ("qwen2 7B", "qwen2-7b"),
        ("DeepSeek-R1-Distill-Llama-70B", "llama-3.1-70b"),
        ("Meta-Llama-3.1-8B-Instruct-4bit", "llama-3.1-8b"),
        ("Qwen/Qwen2.5-14B", "qwen2.5-14b"),
        ("unsloth/gpt-oss-20b-GGUF", "gpt-oss-20b"),
        ("dolphin-2.9-llama3-8b", "llama-3-8b"),
        ("Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        ("gemma-3-12b-it-4bit", "gemma-3-12b"),
        ("Qwen3-Coder-30B-A3B (MoE)", "qwen3-30b-a3b"),
    ],
)
def test_names(typed: str, meant: str) -> None:
    assert find_outline(typed).name == meant


def test_a_size_alone_serves() -> None:
    unknown = find_outline("Foomodel 13B")
    assert unknown.parameters == pytest.approx(13e9, rel=0.03)
    assert generic_outline("x", 30e9, 3e9).is_mixture
    with pytest.raises(UserError, match="its name says no size"):
        find_outline("nonsense")


def test_a_config_of_any_nesting(tmp_path: Path) -> None:
    config = {
        "model_type": "qwen3_5_moe",
        "tie_word_embeddings": False,
        "text_config": {  # Qwen3.5-35B-A3B (transformers' defaults): 35B in all
            "model_type": "qwen3_5_moe_text",
            "hidden_size": 2048,
            "num_hidden_layers": 40,
            "num_attention_heads": 16,
            "num_key_value_heads": 2,
            "head_dim": 256,
            "vocab_size": 248320,
            "moe_intermediate_size": 512,
            "shared_expert_intermediate_size": 512,
            "num_experts": 256,
            "num_experts_per_tok": 8,
            "full_attention_interval": 4,
            "linear_key_head_dim": 128,
            "linear_value_head_dim": 128,
            "linear_num_key_heads": 16,
            "linear_num_value_heads": 32,
            "max_position_embeddings": 262144,
            "attn_output_gate": True,
        },
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert outline_of_config_file(tmp_path).parameters == pytest.approx(35e9, rel=0.02)
    assert outline_source(str(path)).outline.is_mixture


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"num_hidden_layers": "many"}, "num_hidden_layers is 'many'"),
        ({"num_hidden_layers": 10**9}, "up to 10,000"),
        ({"num_attention_heads": 0}, "0 heads"),
        ({"num_mamba_heads": 64}, "'num_mamba_heads' shapes the model"),
        ({"intermediate_size": None}, "intermediate_size is missing"),
    ],
)
def test_a_bad_config_names_its_field(change: dict[str, object], said: str) -> None:
    config = {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 100,
        "intermediate_size": 128,
        "model_type": "llama",
    } | change
    with pytest.raises(UserError, match=said) as caught:
        outline_of_config(config, "m", "config.json")
    assert "\n" not in str(caught.value)


def test_no_such_file() -> None:
    with pytest.raises(UserError, match="no such file"):
        outline_source("nowhere/model.gguf")
