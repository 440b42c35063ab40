"""A llama-shaped GGUF file of random blocks: speeds hold, words mean nothing.

Real files of each type would be gigabytes to download; how fast a kernel is does not depend on what the
codes say. Scales are chosen so that the weights' spread is that of a trained model, and sums stay finite.
"""

from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

__all__ = ["ONE_BILLION", "Shape", "random_rows", "write"]

HALVES = {  # where the float16 numbers of a block are: scales, then minimums
    "Q4_0": ((0,), ()),
    "Q4_1": ((0,), (2,)),
    "Q5_0": ((0,), ()),
    "Q5_1": ((0,), (2,)),
    "Q8_0": ((0,), ()),
    "Q2_K": ((80,), (82,)),
    "Q3_K": ((108,), ()),
    "Q4_K": ((0,), (2,)),
    "Q5_K": ((0,), (2,)),
    "Q6_K": ((208,), ()),
    "IQ4_NL": ((0,), ()),
    "IQ4_XS": ((0,), ()),
}
SPREAD = {  # standard deviation of a code (times its small scale), about
    "Q4_0": 4.6, "Q4_1": 4.6, "Q5_0": 9.2, "Q5_1": 9.2, "Q8_0": 74.0, "Q2_K": 12.0, "Q3_K": 42.0,
    "Q4_K": 200.0, "Q5_K": 400.0, "Q6_K": 1370.0, "IQ4_NL": 65.0, "IQ4_XS": 1200.0,
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """A llama's."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    d_ff: int
    vocab: int
    context: int


ONE_BILLION = Shape(layers=22, width=2048, heads=32, kv_heads=4, d_ff=5632, vocab=32000, context=4096)
"""TinyLlama 1.1B's (arXiv 2401.02385)."""


def random_rows(kind: str, n: int, k: int, random: np.random.Generator, spread: float) -> np.ndarray:
    """(n, bytes of a row) uint8 of an n x k matrix whose weights spread by ``spread`` around 0."""
    weights, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    if kind in ("F32", "F16", "BF16"):
        values = random.standard_normal((n, k), np.float32) * np.float32(spread)
        if kind == "BF16":
            return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        return values.astype(np.float16 if kind == "F16" else np.float32).view(np.uint8)
    blocks = np.frombuffer(random.bytes(n * k // weights * size), np.uint8).reshape(-1, size).copy()
    if kind == "MXFP4":  # powers of two from 1/4 to 2 times the spread
        blocks[:, 0] = random.integers(-2, 2, len(blocks)) + 127 + int(np.log2(spread / 4))
        return blocks.reshape(n, -1)
    scales, minimums = HALVES[kind]
    d = (random.uniform(0.5, 1.5, len(blocks)) * spread / SPREAD[kind]).astype(np.float16)
    for at in scales:
        blocks[:, at : at + 2] = d[:, None].view(np.uint8)
    for at in minimums:  # in the middle of the codes
        middle = {"Q2_K": 1.5, "Q4_K": 7.5, "Q5_K": 15.5, "Q4_1": -7.5, "Q5_1": -15.5}[kind]
        blocks[:, at : at + 2] = (d * np.float16(middle))[:, None].view(np.uint8)
    return blocks.reshape(n, -1)


def write(path: Path, kind: str, shape: Shape, *, mixed: str = "", seed: int = 0) -> Path:
    """Write a model.

    Parameters
    ----------
    path
        Where to.
    kind
        The block type of its matrices.
    shape
        Its shape.
    mixed
        The block type of the head and of every second layer's V and down, as in Q4_K_M files; empty: none.
    seed
        Of the random numbers.
    """
    random, s = np.random.default_rng(seed), shape
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(s.layers)
    writer.add_context_length(s.context)
    writer.add_embedding_length(s.width)
    writer.add_feed_forward_length(s.d_ff)
    writer.add_head_count(s.heads)
    writer.add_head_count_kv(s.kv_heads)
    writer.add_rope_dimension_count(s.width // s.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(s.vocab)
    _tokenizer(writer, s.vocab)

    def matrix(name: str, n: int, k: int, stored: str = kind) -> None:
        raw = random_rows(stored, n, k, random, k**-0.5)
        writer.add_tensor(f"{name}.weight", raw, raw_dtype=gguf.GGMLQuantizationType[stored])

    ones, kv = np.ones(s.width, np.float32), s.kv_heads * (s.width // s.heads)
    matrix("token_embd", s.vocab, s.width)
    for layer in range(s.layers):
        better = mixed if mixed and layer % 2 == 0 else kind
        block = f"blk.{layer}"
        writer.add_tensor(f"{block}.attn_norm.weight", ones)
        matrix(f"{block}.attn_q", s.width, s.width)
        matrix(f"{block}.attn_k", kv, s.width)
        matrix(f"{block}.attn_v", kv, s.width, better)
        matrix(f"{block}.attn_output", s.width, s.width)
        writer.add_tensor(f"{block}.ffn_norm.weight", ones)
        matrix(f"{block}.ffn_gate", s.d_ff, s.width)
        matrix(f"{block}.ffn_up", s.d_ff, s.width)
        matrix(f"{block}.ffn_down", s.width, s.d_ff, better)
    writer.add_tensor("output_norm.weight", ones)
    matrix("output", s.vocab, s.width, mixed or kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _tokenizer(writer: gguf.GGUFWriter, vocab: int) -> None:
    """A SentencePiece vocabulary of bytes and numbers."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))]
    tokens += [f"\u2581{i}" for i in range(vocab - len(tokens))]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * 259 + [-float(i) for i in range(vocab - 259)])
    writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * (vocab - 259))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
