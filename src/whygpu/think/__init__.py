"""A prompt becomes the next word: transformer, cache, sampling, chat."""

from whygpu.think.batch import Batch
from whygpu.think.cache import Cache
from whygpu.think.chat import Message
from whygpu.think.dialogue import Chat
from whygpu.think.embedding import embed
from whygpu.think.generate import generate
from whygpu.think.generation import Candidate, Generation, Statistics, Token
from whygpu.think.invented import invented, load_or_invent
from whygpu.think.model import Model, Weights, load
from whygpu.think.passes import decode_one_token, logits, new_cache, prefill
from whygpu.think.prefix import PrefixCache
from whygpu.think.sampling import Sampler
from whygpu.think.transformer import forward

__all__ = [
    "Batch",
    "Cache",
    "Candidate",
    "Chat",
    "Generation",
    "Message",
    "Model",
    "PrefixCache",
    "Sampler",
    "Statistics",
    "Token",
    "Weights",
    "decode_one_token",
    "embed",
    "forward",
    "generate",
    "invented",
    "load",
    "load_or_invent",
    "logits",
    "new_cache",
    "prefill",
]
