"""What a transformer is: architectures, the exact list of their products, checkpoints, tokenizers."""

from whygpu.models.architecture import FAMILIES, Architecture, Family, family
from whygpu.models.catalogue import DEFAULT, ModelFile, get, model_file, names
from whygpu.models.checkpoint import Checkpoint, open_checkpoint
from whygpu.models.fetch import Unavailable, locate
from whygpu.models.matmuls import (
    PREFILL_CHUNK,
    Work,
    bytes_per_token,
    kv_bytes_per_token,
    matmuls,
    weight_bytes,
    weights_read,
)
from whygpu.models.quantisation import bits_per_weight
from whygpu.models.tokenizer import Tokenizer, tokenizer_from_metadata

__all__ = [
    "DEFAULT",
    "FAMILIES",
    "PREFILL_CHUNK",
    "Architecture",
    "Checkpoint",
    "Family",
    "ModelFile",
    "Tokenizer",
    "Unavailable",
    "Work",
    "bits_per_weight",
    "bytes_per_token",
    "family",
    "get",
    "kv_bytes_per_token",
    "locate",
    "matmuls",
    "model_file",
    "names",
    "open_checkpoint",
    "tokenizer_from_metadata",
    "weight_bytes",
    "weights_read",
]
