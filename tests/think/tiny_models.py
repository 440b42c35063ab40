"""Small random models of Hugging Face's transformers, written as GGUF files by the gguf package.

So a test compares the whole way (file, header, dequantisation, Q/K order, forward pass) with an independent
implementation.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from whygpu.models.tokenizer import byte_characters

torch.set_num_threads(
    1
)  # the reference shares the cores with the engine; two spinning teams stall each other
VOCAB = 300
TOKENS = [*byte_characters(), *(f"<|{i}|>" for i in range(VOCAB - 258)), "th", "<|im_end|>"]
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]"


def llama(path: Path, *, heads: int = 4, kv_heads: int = 2, head_dim: int = 16, tied: bool = False) -> Any:
    """A llama model; its file is written to ``path``."""
    torch.manual_seed(heads * 100 + kv_heads * 10 + head_dim)
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=3,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        max_position_embeddings=256,
        rope_theta=5000.0,
        rms_norm_eps=1e-5,
        tie_word_embeddings=tied,
        initializer_range=0.25,
    )
    model = LlamaForCausalLM(config).eval()
    _perturb_norms(model)
    writer = writer_of(path, "llama", 3, 256, 48)
    writer.add_feed_forward_length(80)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_rope_freq_base(5000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    names = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
    inner = {
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    for name, value in _arrays(model):
        part = name.removeprefix("model.").removesuffix(".weight")
        if part == "lm_head" and tied:
            continue
        if part.startswith("layers."):
            _, layer, kind = part.split(".", 2)
            stored = f"blk.{layer}.{inner[kind]}.weight"
            if kind in ("self_attn.q_proj", "self_attn.k_proj"):
                value = neighbours(value, heads if kind.endswith("q_proj") else kv_heads)  # noqa: PLW2901
        else:
            stored = f"{names[part]}.weight"
        writer.add_tensor(stored, value)
    close(writer)
    return model


def neighbours(value: np.ndarray, heads: int) -> np.ndarray:
    """Rows of each head as GGUF's llama files have them: the pairs that turn together are neighbours."""
    head_dim = value.shape[0] // heads
    order = np.arange(head_dim).reshape(2, head_dim // 2).T.reshape(-1)  # 0, h/2, 1, h/2 + 1, ...
    rows = np.concatenate([head * head_dim + order for head in range(heads)])
    return np.ascontiguousarray(value[rows])


def gpt2(path: Path) -> Any:
    """A gpt2 model; its file is written to ``path``."""
    torch.manual_seed(2)
    config = GPT2Config(
        vocab_size=VOCAB,
        n_positions=128,
        n_embd=48,
        n_layer=3,
        n_head=4,
        initializer_range=0.25,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2LMHeadModel(config).eval()
    _perturb_norms(model)
    writer = writer_of(path, "gpt2", 3, 128, 48)
    writer.add_feed_forward_length(192)
    writer.add_head_count(4)
    writer.add_layer_norm_eps(1e-5)
    names = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}
    inner = {
        "ln_1": "attn_norm",
        "attn.c_attn": "attn_qkv",
        "attn.c_proj": "attn_output",
        "ln_2": "ffn_norm",
        "mlp.c_fc": "ffn_up",
        "mlp.c_proj": "ffn_down",
    }
    for name, value in _arrays(model):
        part, _, ending = name.removeprefix("transformer.").rpartition(".")
        if part == "lm_head":
            continue
        if part.startswith("h."):
            _, layer, kind = part.split(".", 2)
            stored = f"blk.{layer}.{inner[kind]}"
            if value.ndim == 2:  # transformers keeps these as (k, n)
                value = np.ascontiguousarray(value.T)  # noqa: PLW2901
        else:
            stored = names[part]
        writer.add_tensor(f"{stored}.{ending}", value)
    close(writer)
    return model


def _perturb_norms(model: Any) -> None:
    """Norm weights of 1 and biases of 0 would hide that they are forgotten or swapped."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.2)


def _arrays(model: Any) -> Iterator[tuple[str, np.ndarray]]:
    for name, parameter in model.named_parameters():
        yield name, parameter.detach().numpy()


def writer_of(path: Path, family: str, layers: int, context: int, width: int) -> gguf.GGUFWriter:
    """A writer that has the shapes that all families share, and a tokenizer."""
    writer = gguf.GGUFWriter(path, family)
    writer.add_block_count(layers)
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([1] * 256 + [3] * (VOCAB - 258) + [1, 3])
    writer.add_token_merges(["t h"])
    writer.add_chat_template(TEMPLATE)
    return writer


def close(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def reference_logits(model: Any, ids: list[int]) -> np.ndarray:
    """(T, vocab) scores by transformers."""
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].numpy()


def reference_greedy(model: Any, ids: list[int], count: int) -> list[int]:
    """The next ``count`` likeliest tokens by transformers, one full pass each."""
    ids = list(ids)
    for _ in range(count):
        ids.append(int(reference_logits(model, ids)[-1].argmax()))
    return ids[-count:]
