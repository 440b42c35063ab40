"""Folders of safetensors files: shards, number formats, old and new config.json, what is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_families
import tiny_models
import torch
from safetensors.torch import load_file, save_file

from whygpu import models, think
from whygpu.engine import UserError
from whygpu.models.places import Place, read_rows

IDS = list(range(40, 60))
Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a case, written once."""
    root, known = tmp_path_factory.mktemp("folders"), {}

    def folder(case: str) -> Path:
        if case not in known:
            known[case] = tiny_families.write_folder(case, root / str(len(known)))
        return known[case]

    return folder


@pytest.fixture
def changed(folders: Callable[[str], Path], tmp_path: Path) -> Callable[[str, Change], Path]:
    """A copy of a case's folder with another config.json."""

    def copy(case: str, change: Change) -> Path:
        target = tmp_path / f"copy{len(list(tmp_path.iterdir()))}"
        shutil.copytree(folders(case), target)
        config = json.loads((target / "config.json").read_text())
        change(config)
        (target / "config.json").write_text(json.dumps(config))
        return target

    return copy


def difference(case: str, folder: Path) -> float:
    """From transformers' scores."""
    found = think.logits(think.load(folder, path="portable"), IDS)
    return float(np.abs(found - tiny_models.reference_logits(tiny_families.make(case), IDS)).max())


@pytest.mark.parametrize("case", ["llama", "gemma3", "qwen3-moe"])
def test_sharded_files(tmp_path: Path, case: str) -> None:
    folder = tiny_families.write_folder(case, tmp_path / "model", max_shard_size="60KB")
    assert len(list(folder.glob("*.safetensors"))) > 2
    assert difference(case, folder) < 1e-3
    victim = sorted(folder.glob("*.safetensors"))[1]
    victim.unlink()
    with pytest.raises(UserError, match=rf"{victim.name}: is missing, though .* the model is incomplete"):
        think.load(folder)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("case", ["llama", "gpt2", "gemma2"])
def test_half_precision(folders: Callable[[str], Path], tmp_path: Path, case: str, dtype: Any) -> None:
    target = tmp_path / "half"
    shutil.copytree(folders(case), target)
    tensors = load_file(target / "model.safetensors")
    save_file({name: t.to(dtype) for name, t in tensors.items()}, target / "model.safetensors")
    checkpoint = models.open_checkpoint(target)
    exact = models.open_checkpoint(folders(case))
    assert checkpoint.architecture.quant == {"torch.float16": "F16", "torch.bfloat16": "BF16"}[str(dtype)]
    assert checkpoint.architecture.bits_per_weight == 16
    for name in checkpoint.architecture.tensors():
        if case != "gemma2" or not name.endswith("norm"):
            rounded = torch.from_numpy(exact.array(name)).to(dtype).float().numpy()
            np.testing.assert_array_equal(checkpoint.array(name), rounded)
        raw, kind = checkpoint.stored(name)
        assert raw.dtype == np.uint8
        assert kind == checkpoint.kind(name)
    if case == "gemma2":  # rounded before the one is added
        last = tensors["model.norm.weight"].to(dtype).float() + 1
        np.testing.assert_array_equal(checkpoint.array("norm"), last.numpy())
        assert checkpoint.kind("norm") == "F32"
    assert len(think.load(target).tokenizer) == tiny_models.VOCAB


def old_rope(config: dict[str, Any]) -> None:
    """As transformers wrote it until version 4."""
    new = config.pop("rope_parameters")
    if "full_attention" in new:
        config["rope_local_base_freq"] = new["sliding_attention"]["rope_theta"]
        new = new["full_attention"]
    config["rope_theta"] = new.pop("rope_theta")
    kind = new.pop("rope_type")
    new.pop("partial_rotary_factor", None)
    config["rope_scaling"] = {"type": kind, **new} if kind != "default" else None


def gemma_3_inside(config: dict[str, Any]) -> None:
    """As the files of models that see pictures have it."""
    old_rope(config)
    inner = dict(config)
    config.clear()
    config |= {"model_type": "gemma3", "text_config": inner, "vision_config": {}, "mm_tokens_per_image": 256}


def without(*names: str) -> Change:
    def change(config: dict[str, Any]) -> None:
        for name in names:
            del config[name]

    return change


def setting(**values: Any) -> Change:
    return lambda config: config.update(values)


@pytest.mark.parametrize(
    ("case", "change"),
    [
        ("llama", old_rope),
        ("llama, linear", old_rope),
        ("llama 3.1", old_rope),
        ("llama, yarn", old_rope),
        ("phi3, longrope", old_rope),
        ("gemma3", old_rope),
        ("gemma3", gemma_3_inside),
        ("llama", without("tie_word_embeddings")),
        ("gpt2", without("tie_word_embeddings", "n_inner")),
        ("qwen2", without("layer_types")),
        ("qwen2, window", without("layer_types")),
        ("gemma2", without("layer_types")),
    ],
)
def test_other_ways_to_say_the_same(
    changed: Callable[[str, Change], Path], case: str, change: Change
) -> None:
    assert difference(case, changed(case, change)) < 1e-3


def test_old_names_of_the_same_rope(changed: Callable[[str, Change], Path]) -> None:
    def early(config: dict[str, Any]) -> None:
        old_rope(config)
        config["rope_scaling"]["type"] = "su"

    assert difference("phi3, longrope", changed("phi3, longrope", early)) < 1e-3


def test_what_files_leave_out_is_said(changed: Callable[[str, Change], Path]) -> None:
    def bare(config: dict[str, Any]) -> None:
        old_rope(config)
        del config["rope_theta"]

    architecture = models.open_checkpoint(changed("llama", bare)).architecture
    assert architecture.rope_theta == 10000.0
    assert architecture.source.endswith("; left out there: rope_theta = 10000.0")


REFUSED: list[tuple[str, Change, str]] = [
    (
        "llama",
        setting(model_type="mamba"),
        "model_type 'mamba' is not supported; supported: gpt2, llama, mistral",
    ),
    ("llama", without("model_type"), "model_type None is not supported"),
    ("llama", without("rms_norm_eps"), "the field rms_norm_eps is missing or null; llama models need it"),
    ("llama", setting(rms_norm_eps="1e-5"), "rms_norm_eps is '1e-5'; a number is needed"),
    ("llama", setting(rms_norm_eps=float("nan")), "rms_norm_eps is nan"),
    ("llama", setting(num_hidden_layers=10**9), "1000000000 layers of 4 heads cannot be"),
    ("llama", setting(num_hidden_layers=True), "num_hidden_layers is True; a whole number"),
    ("llama", setting(num_hidden_layers=3), "tensor 'model.layers.2.input_layernorm.weight' is missing"),
    ("llama", setting(num_hidden_layers=4000), "4000 layers .of 0 experts. in 21 tensors cannot be"),
    ("mixtral", setting(num_local_experts=10**9), "2 layers .of 1000000000 experts. in 47 tensors cannot be"),
    ("llama", setting(num_hidden_layers=1), "is not part of this architecture"),
    ("llama", setting(intermediate_size=97), "mlp.gate_proj.weight' has shape .*; its metadata say"),
    ("llama", setting(num_key_value_heads=3), "4 heads cannot share 3"),
    ("llama", setting(num_key_value_heads=1), "k_proj.weight' has shape"),
    ("llama", setting(vocab_size=301), "embed_tokens.weight' has shape"),
    (
        "llama",
        setting(hidden_act="relu"),
        "hidden_act 'relu' is not supported in llama models; supported: silu",
    ),
    ("llama", setting(brand_new_gate=1), "the field 'brand_new_gate' is not understood"),
    (
        "llama",
        setting(rope_interleaved=True),
        "rope_interleaved is True, which is not supported; supported: fal",
    ),
    ("llama", setting(quantization_config={"bits": 4}), "the weights are quantised"),
    ("llama", setting(tie_word_embeddings="no"), "tie_word_embeddings is 'no'; true or false"),
    (
        "llama",
        setting(rope_parameters={"rope_type": "ntk", "rope_theta": 1e4}),
        "rope type 'ntk' is not supp",
    ),
    ("llama", setting(rope_parameters={"rope_type": "linear", "rope_theta": 1e4}), "factor of the rotary"),
    (
        "llama",
        setting(rope_parameters={"rope_theta": 1e4, "x": 1}),
        "'x' of the rotary parameters is not und",
    ),
    ("llama", setting(rope_parameters=[]), "the rotary parameters are"),
    ("llama, yarn", setting(rope_parameters={**tiny_families.YARN, "truncate": False}), "truncate"),
    (
        "phi3, longrope",
        setting(rope_parameters={**tiny_families.LONG, "long_factor": [1]}),
        "8 numbers above 0",
    ),
    ("phi3", setting(partial_rotary_factor=0), "partial_rotary_factor is 0 and 1.0"),
    ("gpt2", setting(scale_attn_by_inverse_layer_idx=True), "scale_attn_by_inverse_layer_idx is True"),
    ("gemma3", setting(attn_logit_softcapping=50.0), "attn_logit_softcapping is 50.0"),
    ("gemma3", setting(use_bidirectional_attention=True), "use_bidirectional_attention is True"),
    ("gemma2", without("query_pre_attn_scalar"), "query_pre_attn_scalar is missing"),
    ("gemma2", setting(layer_types=["full_attention"]), "layer_types must name"),
    ("gemma2", setting(layer_types=["linear_attention"] * 2), "layer_types must name"),
    ("gemma2", setting(sliding_window=None), "there is no sliding_window"),
    ("qwen2", setting(attention_bias=True), "attention_bias is True"),
    ("mixtral", setting(num_experts_per_tok=6), "6 of 5 experts"),
    ("mixtral", setting(num_local_experts=4), r"block_sparse_moe.gate.weight' has shape \(5, 64\)"),
    ("qwen3-moe", without("norm_topk_prob"), "norm_topk_prob is missing"),
    ("qwen3-moe", setting(mlp_only_layers=[9]), "mlp_only_layers is"),
]


@pytest.mark.parametrize(("case", "change", "message"), REFUSED)
def test_what_is_not_understood_is_refused(
    changed: Callable[[str, Change], Path], case: str, change: Change, message: str
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        models.open_checkpoint(changed(case, change))
    assert "\n" not in str(caught.value)


def test_incomplete_folders(folders: Callable[[str], Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no config.json"):
        models.open_checkpoint(tmp_path)
    shutil.copytree(folders("llama"), tmp_path / "a")
    (tmp_path / "a" / "config.json").write_text("{nonsense")
    with pytest.raises(UserError, match=r"config.json: is not valid JSON"):
        models.open_checkpoint(tmp_path / "a")
    shutil.copy(folders("llama") / "config.json", tmp_path / "a")
    with pytest.raises(UserError, match=r"name the folder that holds config.json"):
        models.open_checkpoint(tmp_path / "a" / "model.safetensors")
    (tmp_path / "a" / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"has no tokenizer.json"):
        think.load(tmp_path / "a")
    (tmp_path / "a" / "model.safetensors").unlink()
    with pytest.raises(UserError, match="safetensors files are needed; there is none"):
        think.load(tmp_path / "a")


def test_weights_in_other_types_are_named(folders: Callable[[str], Path], tmp_path: Path) -> None:
    target = tmp_path / "double"
    shutil.copytree(folders("llama"), target)
    tensors = load_file(target / "model.safetensors")
    tensors["model.layers.0.mlp.up_proj.weight"] = tensors["model.layers.0.mlp.up_proj.weight"].double()
    save_file(tensors, target / "model.safetensors")
    with pytest.raises(
        UserError, match=r"up_proj.weight' is stored as F64, which is not supported; supported: F32"
    ):
        think.load(target)


def test_experts_of_different_types_are_refused(folders: Callable[[str], Path], tmp_path: Path) -> None:
    target = tmp_path / "mixed"
    shutil.copytree(folders("mixtral"), target)
    tensors = load_file(target / "model.safetensors")
    name = next(name for name in tensors if "experts.1.w1" in name)
    tensors[name] = tensors[name].half()
    save_file(tensors, target / "model.safetensors")
    with pytest.raises(UserError, match="are stored in different types"):
        think.load(target)


def test_buffers_and_tied_heads_in_the_file_are_no_weights(
    folders: Callable[[str], Path], tmp_path: Path
) -> None:
    target = tmp_path / "more"
    shutil.copytree(folders("gpt2"), target)
    tensors = load_file(target / "model.safetensors")
    bare = {
        name.removeprefix("transformer."): t for name, t in tensors.items()
    }  # as openai-community/gpt2 is
    bare["h.0.attn.bias"] = torch.ones(1, 1, 256, 256, dtype=torch.uint8)
    bare["lm_head.weight"] = bare["wte.weight"].clone()
    save_file(bare, target / "model.safetensors")
    assert difference("gpt2", target) < 1e-3
    assert models.open_checkpoint(target).architecture.tied_head


def test_models_that_see_pictures(folders: Callable[[str], Path], tmp_path: Path) -> None:
    for prefix, seeing in (("language_model.", "vision_tower.x"), ("", "model.vision_tower.x")):
        target = tmp_path / (prefix or "none")
        shutil.copytree(folders("gemma3"), target)
        tensors = load_file(target / "model.safetensors")
        inner = "model.language_model." if not prefix else "language_model.model."
        renamed = {name.replace("model.", inner, 1): t for name, t in tensors.items()}
        renamed[seeing] = torch.ones(3)
        save_file(renamed, target / "model.safetensors")
        assert difference("gemma3", target) < 1e-3


def test_chat_templates(folders: Callable[[str], Path], tmp_path: Path) -> None:
    target = tmp_path / "chat"
    shutil.copytree(folders("llama"), target)
    assert models.open_checkpoint(target).chat_template is None
    several = [{"name": "tools", "template": "T"}, {"name": "default", "template": "D"}]
    for given, expected in (("one", "one"), (several, "D"), (7, None)):
        (target / "tokenizer_config.json").write_text(json.dumps({"chat_template": given}))
        assert models.open_checkpoint(target).chat_template == expected
    (target / "chat_template.jinja").write_text("file")
    assert models.open_checkpoint(target).chat_template == "file"


def test_fused_and_turned_quantised_rows() -> None:
    # rows of whole blocks move as they are: Q8_0, 34 bytes a block
    from whygpu.models.gguf import TensorInfo
    from whygpu.models.quantisation import block_types

    kind = next(block for block in block_types().values() if block.name == "Q8_0")
    blocks = np.random.default_rng(2).integers(0, 256, (8, 2 * 34), dtype=np.uint8)

    class File:
        path = Path("x")

        @property
        def tensors(self) -> dict[str, TensorInfo]:
            return {"w": TensorInfo("w", (8, 64), kind, 0, blocks.size)}

        def raw(self, tensor: TensorInfo) -> Any:
            return blocks.reshape(-1)

    rows, found = read_rows(File(), Place(("w",), (4, 64), first=2, heads=1))
    assert found is kind
    np.testing.assert_array_equal(rows, blocks[[2, 4, 3, 5]])
