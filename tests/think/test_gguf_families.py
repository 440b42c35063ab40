"""What GGUF's metadata may say: arrays by layer, fused matrices, periods; and what is refused."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import tiny_families
import tiny_models
import torch
from test_transformer import listed
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from whygpu import engine, models, think
from whygpu.engine import UserError

IDS = list(range(70, 90))
Tensors = dict[str, np.ndarray]
Edit = Callable[[dict[str, Any], Tensors], Any]


@pytest.fixture
def edited(tmp_path: Path) -> Callable[[str, Edit], Path]:
    """A case's GGUF file with other metadata (key: value) or tensors, written anew by the gguf package."""

    def write(case: str, edit: Edit) -> Path:
        plain = tiny_families.write_gguf(case, tmp_path / "plain.gguf")
        reader = gguf.GGUFReader(plain)
        fields = {
            name: (field.contents(), field.types)
            for name, field in reader.fields.items()
            if not name.startswith(("GGUF.", "general.architecture"))
        }
        tensors = {tensor.name: np.array(tensor.data) for tensor in reader.tensors}
        values = {name: value for name, (value, _) in fields.items()}
        edit(values, tensors)
        target = tmp_path / "edited.gguf"
        writer = gguf.GGUFWriter(target, tiny_families.ARCH[tiny_families.kind_of(case)])
        for name, value in values.items():
            if name in fields and value is fields[name][0]:
                kinds = fields[name][1]
                writer.add_key_value(name, value, kinds[0], kinds[-1] if len(kinds) > 1 else None)
            elif isinstance(value, list):
                writer.add_array(name, value)
            elif isinstance(value, bool):
                writer.add_bool(name, value)
            elif isinstance(value, int):
                writer.add_uint32(name, value)
            elif isinstance(value, float):
                writer.add_float32(name, value)
            else:
                writer.add_string(name, value)
        for name, tensor in tensors.items():
            writer.add_tensor(name, tensor)
        tiny_models.close(writer)
        return target

    return write


def setting(**values: Any) -> Edit:
    """Metadata of the architecture; ``__`` for the dot."""

    def edit(metadata: dict[str, Any], _: Tensors) -> None:
        kind = next(name.partition(".")[0] for name in metadata if name.endswith(".block_count"))
        for name, value in values.items():
            key = f"{kind}.{name.replace('__', '.')}"
            metadata.pop(key, None)
            if value is not None:
                metadata[key] = value

    return edit


def logits(case: str, ids: list[int] = IDS) -> np.ndarray:
    return tiny_models.reference_logits(tiny_families.make(case), ids)


def test_blocks_that_differ(tmp_path: Path) -> None:
    """Heads, K/V heads and MLP widths by layer, against transformers' own layers of those shapes."""
    shapes = [(4, 2, 96), (8, 4, 32), (2, 2, 64)]

    def config(heads: int, kv_heads: int, d_ff: int) -> LlamaConfig:
        given = {**tiny_families.COMMON, "head_dim": 16, "num_hidden_layers": 3, "initializer_range": 0.25}
        given |= {"num_attention_heads": heads, "num_key_value_heads": kv_heads, "intermediate_size": d_ff}
        made = LlamaConfig(**given, vocab_size=tiny_models.VOCAB)
        made._attn_implementation = "eager"
        return made

    torch.manual_seed(4)
    reference = LlamaForCausalLM(config(*shapes[0])).eval()
    for i, shape in enumerate(shapes):
        reference.model.layers[i] = LlamaDecoderLayer(config(*shape), i).eval()
        for parameter in reference.model.layers[i].parameters():
            torch.nn.init.normal_(parameter, 1.0 if parameter.ndim == 1 else 0.0, 0.25)

    path = tmp_path / "differ.gguf"
    writer = tiny_models.writer_of(path, "llama", 3, 256, 64)
    heads, kv_heads, d_ff = ([shape[i] for shape in shapes] for i in range(3))
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_feed_forward_length(d_ff)
    writer.add_key_length(16)
    writer.add_value_length(16)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(500.0)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 3)
    for name, parameter in reference.named_parameters():
        value = parameter.detach().numpy()
        for kind, counts in (("q_proj", heads), ("k_proj", kv_heads)):
            if kind in name:
                value = tiny_models.neighbours(value, counts[int(name.split(".")[2])])
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), np.ascontiguousarray(value))
    tiny_models.close(writer)

    model = think.load(path, path="portable")
    a = model.architecture
    assert (a.heads, a.kv_heads, a.d_ff, a.uniform) == (8, 4, 96, False)
    assert [(b.heads, b.kv_heads, b.d_ff) for b in a.blocks] == shapes
    assert a.parameters == sum(p.numel() for p in reference.parameters())
    with engine.ledger() as ledger:
        found = think.logits(model, IDS)
    assert np.abs(found - tiny_models.reference_logits(reference, IDS)).max() < 1e-3
    assert ledger.counts("think") == listed("prefill", a, tokens=len(IDS), logits="all")
    assert models.kv_bytes_per_token(a, 1) == 2 * 16 * (2 + 4 + 2)
    with engine.using(model.backend):
        cache = think.Cache(a, 32)
        think.prefill(model, IDS[:-1], cache)
        np.testing.assert_allclose(think.decode_one_token(model, IDS[-1], cache), found[-1], atol=1e-4)


def test_fused_matrices(edited: Callable[[str, Edit], Path]) -> None:
    """Converters may join Q, K and V, or the experts' gate and up, in any family."""

    def join(metadata: dict[str, Any], tensors: Tensors) -> None:
        for layer in range(2):
            parts = [tensors.pop(f"blk.{layer}.attn_{part}.weight") for part in "qkv"]
            tensors[f"blk.{layer}.attn_qkv.weight"] = np.concatenate(parts)
            if f"blk.{layer}.attn_q.bias" in tensors:
                parts = [tensors.pop(f"blk.{layer}.attn_{part}.bias") for part in "qkv"]
                tensors[f"blk.{layer}.attn_qkv.bias"] = np.concatenate(parts)
            if f"blk.{layer}.ffn_gate_exps.weight" in tensors:
                parts = [tensors.pop(f"blk.{layer}.ffn_{part}_exps.weight") for part in ("gate", "up")]
                tensors[f"blk.{layer}.ffn_gate_up_exps.weight"] = np.concatenate(parts, axis=1)

    for case in ("llama", "llama, biases", "qwen2", "mixtral"):
        found = think.logits(think.load(edited(case, join)), IDS)
        assert np.abs(found - logits(case)).max() < 1e-3, case


def test_periods_of_local_layers(edited: Callable[[str, Edit], Path]) -> None:
    def local(case: str, **values: Any) -> tuple[int, ...]:
        return models.open_checkpoint(edited(case, setting(**values))).architecture.local_layers

    pattern = {"attention__sliding_window_pattern": None}
    assert local("gemma3", **pattern) == (0, 1, 2)  # every sixth is global
    assert local("gemma3", attention__sliding_window_pattern=2) == (0, 2)
    assert local("gemma3", attention__sliding_window_pattern=1) == ()
    assert local("gemma3", attention__sliding_window_pattern=0) == (0, 1, 2)
    assert local("gemma3", attention__sliding_window=None) == ()
    assert local("gemma2") == (0,)  # every second is global
    assert local("mistral") == (0, 1)
    assert local("mistral", attention__sliding_window=0) == ()


def test_what_the_gemma_files_leave_out(edited: Callable[[str, Edit], Path]) -> None:
    given = models.open_checkpoint(edited("gemma3", setting(rope__freq_base_swa=None))).architecture
    assert given.rope_theta_local == 10000.0
    assert given.score_scale == 16**-0.5
    stated = models.open_checkpoint(edited("gemma3", setting(attention__scale=0.125))).architecture
    assert stated.score_scale == 0.125


REFUSED: list[tuple[str, Edit, str]] = [
    ("llama", setting(brand_new=1), "'llama.brand_new' is not understood"),
    (
        "llama",
        setting(logit_scale=0.5),
        "llama.logit_scale is 0.5, which is not supported; supported: 0.0 or 1.0",
    ),
    ("llama", setting(attention__causal=False), "llama.attention.causal is False"),
    (
        "llama",
        setting(rope__scaling__type="ntk"),
        "rope scaling 'ntk' is not supported; supported: none, linear",
    ),
    ("llama", setting(rope__scaling__type="linear"), "lacks llama.rope.scaling.factor"),
    ("llama", setting(rope__dimension_count=8), "rope.dimension_count is 8; only the head's 16"),
    ("llama", setting(attention__value_length=8), "values of another length than keys"),
    (
        "llama",
        setting(attention__layer_norm_rms_epsilon=None),
        "lacks llama.attention.layer_norm_rms_epsilon",
    ),
    ("llama", setting(attention__head_count=[4, 4, 4]), "is no array of 2 whole numbers"),
    ("llama", setting(attention__head_count=[4.0, 4.0]), "is no array of 2 whole numbers"),
    ("llama", setting(attention__head_count=0), "0 heads of 64 dimensions cannot be"),
    ("llama", setting(attention__head_count_kv=3), "4 heads cannot share 3"),
    ("llama", setting(attention__head_count_kv=[2, 0]), "4 heads cannot share 0"),
    ("llama", setting(block_count=2**31), "claims 2147483648 layers in 21 tensors"),
    ("llama", setting(block_count=3), r"tensor 'blk.2.attn_norm.weight' is missing"),
    ("llama", setting(block_count=1), "is not part of this architecture"),
    ("llama", setting(expert_count=4), "lacks llama.expert_used_count"),
    ("qwen3", setting(expert_count=4), "qwen3 models have no experts"),
    ("mixtral", setting(expert_used_count=9), "9 of 5 experts"),
    (
        "mixtral",
        setting(expert_gating_func=2),
        "expert_gating_func is 2, which is not supported; supported: 1",
    ),
    ("qwen3-moe", setting(expert_shared_count=1), "expert_shared_count is 1"),
    ("qwen3-moe", setting(expert_feed_forward_length=None), "lacks qwen3moe.expert_feed_forward_length"),
    ("gemma2", setting(attention__sliding_window=None), "lacks gemma2.attention.sliding_window"),
    ("gemma2", setting(final_logit_softcapping=None), "lacks gemma2.final_logit_softcapping"),
    ("llama, yarn", setting(rope__scaling__yarn_attn_factor=2.0), "yarn_attn_factor is 2.0"),
    ("phi3", setting(rope__scaling__attn_factor=1.2), "attn_factor without rope_factors_long.weight"),
    (
        "llama",
        lambda _, tensors: tensors.pop("blk.1.ffn_gate.weight"),
        "tensor 'blk.1.ffn_gate.weight' is missing",
    ),
    ("llama", lambda _, tensors: tensors.pop("token_embd.weight"), "'token_embd.weight' is missing"),
    ("llama", lambda _, tensors: tensors.update(x=np.ones(2)), "tensor 'x' .1 such. is not part"),
    (
        "llama 3.1",
        lambda _, tensors: tensors.update({"rope_freqs.weight": np.zeros(8, np.float32)}),
        "holds numbers that are not above 0",
    ),
    (
        "llama 3.1",
        lambda _, tensors: tensors.update({"rope_freqs.weight": np.ones(7, np.float32)}),
        r"rope_freqs.weight' has shape \(7,\); its metadata say \(8,\)",
    ),
    (
        "phi3, longrope",
        lambda _, tensors: tensors.pop("rope_factors_short.weight"),
        "short.weight' is missing",
    ),
]


@pytest.mark.parametrize(("case", "edit", "message"), REFUSED)
def test_what_is_not_understood_is_refused(
    edited: Callable[[str, Edit], Path], case: str, edit: Edit, message: str
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        models.open_checkpoint(edited(case, edit))
    assert "\n" not in str(caught.value)


def test_the_one_gemma_that_scales_by_its_width() -> None:
    # 27B: query_pre_attn_scalar is hidden_size / num_attention_heads (config.json of google/gemma-2-27b)
    from whygpu.models.checkpoint_gguf import WIDE_SCALE

    assert WIDE_SCALE == {"gemma2": 46, "gemma3": 62}
    assert math.isclose((4608 / 32) ** -0.5, 144**-0.5)
    assert math.isclose((5376 / 32) ** -0.5, 168**-0.5)
