"""A prompt becomes the next word: transformer, cache, sampling, chat."""

from whygpu.think.cache import Cache
from whygpu.think.generate import (
    Generation,
    Statistics,
    Token,
    decode_one_token,
    generate,
    logits,
    prefill,
)
from whygpu.think.invented import invented, load_or_invent
from whygpu.think.model import Model, Weights, load
from whygpu.think.transformer import forward

__all__ = [
    "Cache",
    "Generation",
    "Model",
    "Statistics",
    "Token",
    "Weights",
    "decode_one_token",
    "forward",
    "generate",
    "invented",
    "load",
    "load_or_invent",
    "logits",
    "prefill",
]
