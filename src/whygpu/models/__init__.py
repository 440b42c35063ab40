"""What a transformer is: architectures, the exact list of their products, checkpoints, tokenizers."""

from whygpu.models.architecture import FAMILIES, Architecture, Experts, Family, Layer, family
from whygpu.models.catalogue import DEFAULT, ModelFile, get, model_file, names
from whygpu.models.checkpoint import Checkpoint, open_checkpoint
from whygpu.models.fetch import locate
from whygpu.models.hub import Unavailable, is_hub_id
from whygpu.models.matmuls import (
    FAST_CHUNK,
    FAST_TILES,
    PREFILL_CHUNK,
    Work,
    attention_tiles,
    bytes_per_token,
    kv_bytes,
    kv_bytes_per_token,
    matmuls,
    weight_bytes,
    weights_read,
)
from whygpu.models.quantisation import bits_per_weight
from whygpu.models.rope import Rope, RopeScaling, rope_frequencies
from whygpu.models.stored import Stored, remove, stored
from whygpu.models.tokenizer import Tokenizer
from whygpu.models.tokenizer_gguf import tokenizer_from_metadata
from whygpu.models.tokenizer_json import tokenizer_from_folder

__all__ = [
    "DEFAULT",
    "FAMILIES",
    "FAST_CHUNK",
    "FAST_TILES",
    "PREFILL_CHUNK",
    "Architecture",
    "Checkpoint",
    "Experts",
    "Family",
    "Layer",
    "ModelFile",
    "Rope",
    "RopeScaling",
    "Stored",
    "Tokenizer",
    "Unavailable",
    "Work",
    "attention_tiles",
    "bits_per_weight",
    "bytes_per_token",
    "family",
    "get",
    "is_hub_id",
    "kv_bytes",
    "kv_bytes_per_token",
    "locate",
    "matmuls",
    "model_file",
    "names",
    "open_checkpoint",
    "remove",
    "rope_frequencies",
    "stored",
    "tokenizer_from_folder",
    "tokenizer_from_metadata",
    "weight_bytes",
    "weights_read",
]
