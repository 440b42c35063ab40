"""The default model on its real weights, against transformers' own reading of the same file."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from whygpu import engine, models, think

torch.set_num_threads(1)  # two spinning teams of threads would stall each other
PROMPT = "Why do LLMs need GPUs?"


@pytest.fixture(scope="module")
def model() -> think.Model:
    try:
        # one thread: on a machine that is busy with other tests, two wait for each other at every product
        return think.load(path="portable", backend=engine.backend("cpu", threads=1))
    except models.Unavailable as error:
        pytest.skip(f"the default model is neither cached nor within reach: {error}")


@pytest.fixture(scope="module")
def reference(model: think.Model) -> Any:
    """transformers' LlamaForCausalLM with the same file, dequantised by the gguf package."""
    import gguf

    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=8192,
        rope_theta=100000.0,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        empty = LlamaForCausalLM(config)
    names = {
        "token_embd": "model.embed_tokens",
        "output_norm": "model.norm",
        "attn_norm": "input_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
    state = {}
    for tensor in gguf.GGUFReader(model.path).tensors:
        value = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        *block, kind, _ = tensor.name.split(".")
        if kind in ("attn_q", "attn_k"):  # neighbours that turn together back to halves
            heads = 9 if kind == "attn_q" else 3
            value = value.reshape(heads, 32, 2, 576).swapaxes(1, 2).reshape(-1, 576)
        prefix = f"model.layers.{block[1]}." if block else ""
        state[f"{prefix}{names[kind]}.weight"] = torch.from_numpy(np.array(value, dtype=np.float32))
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    empty.load_state_dict(state, assign=True, strict=True)
    # the rotary buffers were made on the meta device
    empty.model.rotary_emb = type(empty.model.rotary_emb)(config)
    return empty.eval()


def test_logits_and_32_greedy_tokens_equal_transformers(model: think.Model, reference: Any) -> None:
    generation = think.generate(model, PROMPT, max_tokens=32)
    said = [token.id for token in generation]
    ids = torch.tensor([[*generation.prompt_ids, *said[:-1]]])
    with torch.no_grad():
        expected = reference(ids).logits[0].numpy()
    found = think.logits(model, ids[0].tolist())
    assert np.abs(found - expected).max() < 1e-3
    assert said == expected[len(generation.prompt_ids) - 1 :].argmax(axis=-1).tolist()


def test_the_prompt_is_the_model_s_own_chat_form(model: think.Model) -> None:
    generation = think.generate(model, PROMPT)
    text = model.tokenizer.decode(generation.prompt_ids, control=True)
    system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    assert text == (
        f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n"
    )
    other = think.generate(model, PROMPT, system="Be brief.")
    assert "system\nBe brief.<|im_end|>" in model.tokenizer.decode(other.prompt_ids, control=True)


def test_statistics(model: think.Model) -> None:
    with engine.ledger() as ledger:
        generation = think.generate(model, PROMPT, max_tokens=5)
        tokens = list(generation)
    statistics = generation.statistics
    assert (statistics.generated_tokens, statistics.decode_steps, statistics.finish) == (5, 4, "length")
    assert statistics.prompt_tokens == len(generation.prompt_ids)
    # float32 weights, and K and V of 30 layers x 3 heads x 64 at 38 to 41 tokens
    past = np.mean([statistics.prompt_tokens + step for step in (1, 2, 3, 4)])
    expected = 4 * 134_515_008 + past * 2 * 30 * 3 * 64 * 4
    assert statistics.bytes_read_per_token == pytest.approx(expected)
    assert all(0 < token.probability <= 1 for token in tokens)
    assert "".join(token.text for token in tokens) == generation.text
    decode = [row for row in ledger.rows(("stage", "name")) if row.stage == "decode" and row.is_product]
    assert sum(row.products for row in decode) == 4 * (30 * 9 + 1)


def test_greedy_text_is_the_same_again(model: think.Model) -> None:
    texts = set()
    for _ in range(2):
        generation = think.generate(model, "The capital of France is", max_tokens=8, chat=False)
        list(generation)
        texts.add(generation.text)
    assert len(texts) == 1
    assert "Paris" in texts.pop()
