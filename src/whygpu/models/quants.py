"""Turn stored blocks into float32: one small function a block type.

A block is a run of weights of one row that share a scale (and, in some types, a minimum). Each
function takes ``(blocks, bytes)`` uint8 and returns ``(blocks, weights)`` float32, bit for bit what the
``gguf`` package computes (a test compares them). To add a type, add its function to ``DEQUANTISERS``.
"""

from collections.abc import Callable

import numpy as np

from whygpu.engine import UserError
from whygpu.models.gguf import Gguf, TensorInfo
from whygpu.models.quants_basic import bf16, f16, f32, q4_0, q4_1, q5_0, q5_1, q8_0
from whygpu.models.quants_bits import Blocks, Floats
from whygpu.models.quants_k import q2_k, q3_k, q4_k, q5_k, q6_k
from whygpu.models.quants_table import iq4_nl, iq4_xs, mxfp4

__all__ = ["DEQUANTISERS", "dequantise", "to_float32"]

STEP = 1 << 17
"""Weights turned at once: keeps the intermediate arrays in the cache."""

DEQUANTISERS: dict[str, Callable[[Blocks], Floats]] = {
    "F32": f32,
    "F16": f16,
    "BF16": bf16,
    "Q4_0": q4_0,
    "Q4_1": q4_1,
    "Q5_0": q5_0,
    "Q5_1": q5_1,
    "Q8_0": q8_0,
    "Q2_K": q2_k,
    "Q3_K": q3_k,
    "Q4_K": q4_k,
    "Q5_K": q5_k,
    "Q6_K": q6_k,
    "IQ4_NL": iq4_nl,
    "IQ4_XS": iq4_xs,
    "MXFP4": mxfp4,
}


def to_float32(raw: Blocks, kind: str, weights: int, size: int) -> Floats:
    """Bytes of type ``kind`` (blocks of ``weights`` weights in ``size`` bytes) to float32, flat."""
    turn = DEQUANTISERS[kind]
    blocks = raw.reshape(-1, size)  # (blocks, bytes)
    out = np.empty((blocks.shape[0], weights), np.float32)
    step = STEP // weights
    # a damaged file's scale may be infinite: infinity times zero is NaN, which is what the file says
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, blocks.shape[0], step):
            out[start : start + step] = turn(np.ascontiguousarray(blocks[start : start + step]))
    return out.reshape(-1)


def dequantise(file: Gguf, tensor: TensorInfo) -> Floats:
    """A tensor of the file as float32, in its own shape.

    Raises
    ------
    UserError
        For a block type that is not supported; the line lists those that are.
    """
    kind = tensor.type
    if kind.name not in DEQUANTISERS:
        raise UserError(
            f"{file.path}: tensor {tensor.name!r} is stored as {kind.name}, which is not supported; "
            f"supported: {', '.join(DEQUANTISERS)}"
        )
    return to_float32(file.raw(tensor), kind.name, kind.weights, kind.bytes).reshape(tensor.shape)
