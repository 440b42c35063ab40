"""A small random model of each family, from Hugging Face's transformers, and its files.

``write_gguf`` follows llama.cpp's converter (conversion/*.py): names by gguf-py's own table, rows of Q and
K in rotary pairs for llama, gemma's norms plus one, experts stacked. ``write_folder`` is transformers' own.
"""

import functools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tiny_models
import torch
import transformers

LAYERS, WIDTH, CONTEXT = 2, 64, 256
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
YARN = {"rope_type": "yarn", "rope_theta": 500.0, "factor": 4.0, "original_max_position_embeddings": 64}
LONG = {
    "rope_type": "longrope",
    "rope_theta": 500.0,
    "short_factor": [1.0 + 0.1 * i for i in range(8)],
    "long_factor": [2.0 + 0.5 * i for i in range(8)],
    "original_max_position_embeddings": 64,
}
PARTS = ["sliding_attention", "full_attention", "sliding_attention"]
GEMMA_3 = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
    "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5000.0},
}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2", {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": 4, "n_positions": CONTEXT}),
    "llama": ("Llama", {"head_dim": 16}),
    "llama, tied, head_dim not d/heads": ("Llama", {"head_dim": 10, "tie_word_embeddings": True}),
    "llama, multi-query": ("Llama", {"num_key_value_heads": 1}),
    "llama, biases": ("Llama", {"attention_bias": True, "mlp_bias": True}),
    "llama, linear": (
        "Llama",
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 500.0}},
    ),
    "llama 3.1": ("Llama", {"rope_parameters": LLAMA3}),
    "llama, yarn": ("Llama", {"rope_parameters": YARN}),
    "mistral": ("Mistral", {"sliding_window": 7, "head_dim": 16}),
    "qwen2": ("Qwen2", {}),
    "qwen2, window": ("Qwen2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}),
    "qwen3": ("Qwen3", {"head_dim": 24}),
    "qwen3, biases": ("Qwen3", {"head_dim": 24, "attention_bias": True}),
    "phi3": ("Phi3", {"sliding_window": 9}),
    "phi3, longrope": ("Phi3", {"rope_parameters": LONG, "original_max_position_embeddings": 64}),
    "phi3, partly rotary": (
        "Phi3",
        {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5}},
    ),
    "gemma2": (
        "Gemma2",
        {
            "head_dim": 16,
            "sliding_window": 6,
            "query_pre_attn_scalar": 16,
            "attn_logit_softcapping": 5.0,
            "final_logit_softcapping": 3.0,
        },
    ),
    "gemma3": (
        "Gemma3",
        {
            "num_hidden_layers": 3,
            "head_dim": 16,
            "sliding_window": 6,
            "query_pre_attn_scalar": 16,
            "layer_types": PARTS,
            "rope_parameters": GEMMA_3,
        },
    ),
    "mixtral": ("Mixtral", {"num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": 8}),
    "qwen3-moe": ("Qwen3Moe", {"norm_topk_prob": True}),
    "qwen3-moe, as they are": ("Qwen3Moe", {"norm_topk_prob": False}),
    "qwen3-moe, a dense layer": ("Qwen3Moe", {"norm_topk_prob": True, "mlp_only_layers": [0]}),
}
COMMON = {
    "hidden_size": WIDTH,
    "intermediate_size": 96,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": CONTEXT,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
}
QWEN3_MOE = {"head_dim": 16, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
ARCH = {
    "GPT2": "gpt2",
    "Llama": "llama",
    "Mistral": "llama",
    "Mixtral": "llama",
    "Qwen2": "qwen2",
    "Qwen3": "qwen3",
    "Phi3": "phi3",
    "Gemma2": "gemma2",
    "Gemma3": "gemma3",
    "Qwen3Moe": "qwen3moe",
}


@functools.cache
def make(case: str) -> Any:
    """The random model of a case, in evaluation mode."""
    kind, own = CASES[case]
    torch.manual_seed(len(case) + 7)
    more = QWEN3_MOE if kind == "Qwen3Moe" else {}
    given = own if kind == "GPT2" else {**COMMON, **more, **own}
    given |= {"vocab_size": tiny_models.VOCAB, "initializer_range": 0.25}
    given |= {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    config = getattr(transformers, f"{kind}{'Text' if kind == 'Gemma3' else ''}Config")(**given)
    config._attn_implementation = "eager"
    model = getattr(transformers, {"GPT2": "GPT2LMHeadModel"}.get(kind, f"{kind}ForCausalLM"))(config)
    with torch.no_grad():
        for parameter in model.parameters():  # norms of 1, biases of 0 would hide that they are forgotten
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.2)
            if parameter.ndim == 3:  # experts are not initialised with the rest
                parameter.copy_(torch.randn_like(parameter) * 0.25)
        for name, parameter in model.named_parameters():
            if name.endswith("gate.weight"):
                parameter.copy_(torch.randn_like(parameter))
    return model.eval()


def kind_of(case: str) -> str:
    """The name of transformers' classes."""
    return CASES[case][0]


def write_folder(case: str, folder: Path, **how: Any) -> Path:
    """As transformers saves it, with a tokenizer.json."""
    make(case).save_pretrained(folder, **how)
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": True,
        },
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": {token: i for i, token in enumerate(tiny_models.TOKENS)},
            "merges": ["t h"],
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    return folder


def has_gguf(case: str) -> bool:
    """Whether GGUF can say what the case is: it has no key for windows of some layers of qwen2."""
    return case not in ("qwen2, window", "qwen3-moe, as they are", "qwen3-moe, a dense layer")


def write_gguf(case: str, path: Path) -> Path:
    """As llama.cpp's converter would."""
    model = make(case)
    config, arch = model.config, ARCH[kind_of(case)]
    writer = tiny_models.writer_of(path, arch, config.num_hidden_layers, CONTEXT, WIDTH)
    _metadata(writer, case, config, arch)
    number = {name: kind for kind, name in gguf.MODEL_ARCH_NAMES.items()}[arch]
    names = gguf.get_tensor_name_map(number, config.num_hidden_layers)
    for name, value in converted(model, kind_of(case)):
        stored = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert stored is not None, name
        writer.add_tensor(stored, np.ascontiguousarray(value))
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") == "llama3":
        writer.add_tensor("rope_freqs.weight", divisors(rope, config.head_dim))
    if rope.get("rope_type") == "longrope":
        writer.add_tensor("rope_factors_long.weight", np.array(rope["long_factor"], np.float32))
        writer.add_tensor("rope_factors_short.weight", np.array(rope["short_factor"], np.float32))
    tiny_models.close(writer)
    return path


def _metadata(writer: gguf.GGUFWriter, case: str, config: Any, arch: str) -> None:
    """What set_gguf_parameters of the families writes."""
    writer.add_head_count(config.num_attention_heads)
    if arch == "gpt2":
        writer.add_feed_forward_length(4 * WIDTH)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        return
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    head_dim = getattr(config, "head_dim", None) or WIDTH // config.num_attention_heads
    if arch != "phi3":
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    rope = config.rope_parameters
    everywhere = rope.get("full_attention", rope)
    writer.add_rope_freq_base(everywhere["rope_theta"])
    if arch == "llama":
        writer.add_vocab_size(config.vocab_size)
        writer.add_rope_dimension_count(head_dim)
    if arch == "phi3":
        writer.add_rope_dimension_count(int(everywhere.get("partial_rotary_factor", 1.0) * head_dim))
        writer.add_rope_scaling_orig_ctx_len(config.original_max_position_embeddings)
        if rope["rope_type"] == "longrope":
            scale = CONTEXT / 64
            writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(scale) / math.log(64)))
    if everywhere["rope_type"] in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(everywhere["rope_type"]))
        writer.add_rope_scaling_factor(everywhere["factor"])
    if everywhere["rope_type"] == "yarn":
        writer.add_rope_scaling_orig_ctx_len(everywhere["original_max_position_embeddings"])
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
    if arch == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if arch == "gemma3":
        writer.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
        writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config.layer_types])
    if getattr(config, "num_local_experts", None):
        writer.add_expert_count(config.num_local_experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
    if arch == "qwen3moe":
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)


def converted(model: Any, kind: str) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays under the names that the Hub's files have, as the converter changes them."""
    config = model.config
    for name, parameter in model.named_parameters():
        value = parameter.detach().numpy()
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if kind == "GPT2" and value.ndim == 2 and "h." in name:
            value = value.T
        if kind in ("Llama", "Mistral", "Mixtral") and "q_proj" in name:
            value = tiny_models.neighbours(value, config.num_attention_heads)
        if kind in ("Llama", "Mistral", "Mixtral") and "k_proj" in name:
            value = tiny_models.neighbours(value, config.num_key_value_heads)
        if kind.startswith("Gemma") and name.endswith("norm.weight"):
            value = value + np.float32(1)
        if name.endswith("experts.gate_up_proj"):
            gate, up = np.split(value, 2, axis=1)
            yield name.replace("gate_up_proj", "gate_proj.weight"), gate
            yield name.replace("gate_up_proj", "up_proj.weight"), up
            continue
        if name.endswith("experts.down_proj"):
            yield f"{name}.weight", value
            continue
        yield name, value


def divisors(rope: dict[str, Any], head_dim: int) -> np.ndarray:
    """Llama 3.1's, as the converter computes them: one frequency at a time."""
    found = []
    for i in range(0, head_dim, 2):
        wave = 2 * math.pi * rope["rope_theta"] ** (i / head_dim)
        context, factor = rope["original_max_position_embeddings"], rope["factor"]
        if wave < context / rope["high_freq_factor"]:
            found.append(1.0)
        elif wave > context / rope["low_freq_factor"]:
            found.append(factor)
        else:
            smooth = (context / wave - rope["low_freq_factor"]) / (
                rope["high_freq_factor"] - rope["low_freq_factor"]
            )
            found.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(found, np.float32)


def routing(model: Any, ids: list[int]) -> list[list[int]]:
    """By transformers' own routers: for each layer with experts, how many of ``ids`` each expert gets."""
    with torch.no_grad():
        scores = model(torch.tensor([ids]), output_router_logits=True).router_logits
    used = model.config.num_experts_per_tok
    return [
        torch.bincount(layer.topk(used, dim=-1).indices.reshape(-1), minlength=layer.shape[-1]).tolist()
        for layer in scores
    ]
