"""Dequantisation: bit for bit what the gguf package computes."""

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize

from whygpu.models.quants import DEQUANTISERS, to_float32


@pytest.mark.parametrize("name", DEQUANTISERS)
def test_bit_equal_to_the_gguf_package(name: str) -> None:
    kind = gguf.GGMLQuantizationType[name]
    weights, size = gguf.GGML_QUANT_SIZES[kind]
    random = np.random.default_rng(1)
    if name == "F32":
        raw = random.standard_normal(5000).astype("<f4").view(np.uint8)
    elif name in ("F16", "BF16"):
        raw = random.standard_normal(5000).astype("<f2").view(np.uint8)
    else:
        raw = random.integers(0, 256, 5000 * size, dtype=np.uint8).reshape(-1, size)
        raw[:, 1] &= 0x7B  # the scales: any finite half
        raw[:, 3] &= 0x7B
        raw = raw.reshape(-1)
    ours = to_float32(raw, name, weights, size)
    theirs = raw.view("<f4") if name == "F32" else dequantize(raw.reshape(1, -1), kind).reshape(-1)
    assert ours.dtype == np.float32
    np.testing.assert_array_equal(ours.view(np.uint32), theirs.astype(np.float32).view(np.uint32))


def test_q4_1_by_hand() -> None:
    block = np.concatenate(
        [np.array([0.5, -1.0], "<f2").view(np.uint8), np.array([0xF0] + [0x21] * 15, np.uint8)]
    )
    values = to_float32(block, "Q4_1", 32, 20)
    assert values[0] == -1.0  # low half of 0xF0: 0.5 * 0 - 1
    assert values[16] == 0.5 * 15 - 1  # high half
    assert (values[1:16] == -0.5).all()
    assert (values[17:] == 0.0).all()
