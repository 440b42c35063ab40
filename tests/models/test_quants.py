"""Dequantisation: bit for bit what the gguf package computes, and by hand from ggml's layouts."""

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize

from whygpu.models.quantisation import block_types
from whygpu.models.quants import DEQUANTISERS, to_float32

FLOATS = ("F32", "F16", "BF16")
HALVES = {  # where a block's float16 numbers begin (ggml-common.h)
    "Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,),
    "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,),
    "IQ4_NL": (0,), "IQ4_XS": (0,), "MXFP4": (),
}  # fmt: skip
EDGES = np.array(
    [0.0, -0.0, 2.0**-24, -(2.0**-24), 2.0**-14 - 2.0**-24, 2.0**-14, 65504.0, -65504.0, 1.0], "<f2"
)
"""Zeros, the smallest and largest subnormal, the smallest normal, the largest: all finite."""


def random_blocks(name: str, count: int = 3000) -> np.ndarray:
    """(count, bytes): any bits, the scales any finite half, the first blocks with every edge as scales."""
    _, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    raw = np.random.default_rng(1).integers(0, 256, (count, size), dtype=np.uint8)
    for at in HALVES[name]:
        finite = raw[:, at + 1] & 0x7C != 0x7C  # an exponent of ones is infinity or NaN
        raw[~finite, at + 1] &= 0xBF
        raw[: len(EDGES) ** 2, at : at + 2] = (
            np.tile(EDGES, len(EDGES)) if at == HALVES[name][-1] else np.repeat(EDGES, len(EDGES))
        ).view(np.uint8).reshape(-1, 2)  # fmt: skip
    if name == "MXFP4":
        raw[:256, 0] = np.arange(256)  # every exponent
    return raw


def values(raw: np.ndarray, name: str) -> np.ndarray:
    weights, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    return to_float32(raw.reshape(-1), name, weights, size)


def test_every_type_that_the_issue_asks_for() -> None:
    assert set(DEQUANTISERS) == {*FLOATS, *HALVES}
    for block in block_types().values():
        assert gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(block.id)] == (block.weights, block.bytes)


@pytest.mark.parametrize("name", HALVES)
def test_blocks_are_bit_equal_to_the_gguf_package(name: str) -> None:
    raw = random_blocks(name)
    ours = values(raw, name)
    with np.errstate(over="ignore"):  # MXFP4's largest exponents
        theirs = dequantize(raw, gguf.GGMLQuantizationType[name]).reshape(-1)
    assert ours.dtype == theirs.dtype == np.float32
    np.testing.assert_array_equal(ours.view(np.uint32), theirs.view(np.uint32))


@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_bit_equal_to_the_gguf_package(name: str) -> None:
    width = 4 if name == "F32" else 2
    raw = np.random.default_rng(2).integers(0, 256, 1 << 16, dtype=np.uint8).reshape(-1, width)
    raw[(raw[:, -1] & 0x7F) >= 0x7C, -1] &= 0xBB  # finite
    ours = values(raw, name)
    theirs = (
        raw.view("<f4") if name == "F32" else dequantize(raw.reshape(1, -1), gguf.GGMLQuantizationType[name])
    )
    np.testing.assert_array_equal(ours.view(np.uint32), theirs.reshape(-1).view(np.uint32))


@pytest.mark.parametrize("name", DEQUANTISERS)
def test_damaged_scales_warn_nobody(name: str) -> None:
    _, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    raw = np.full((2, size), 0xFF, np.uint8)
    raw[1, 1::2] = 0x7C  # infinities
    assert values(raw, name).dtype == np.float32


def test_long_tensors_are_turned_in_pieces() -> None:
    raw = random_blocks("Q6_K", 1500)  # more than one step of 2^17 weights
    np.testing.assert_array_equal(values(raw, "Q6_K")[-256:], values(raw[-1:], "Q6_K"))


def test_q4_1_by_hand() -> None:
    block = np.concatenate(
        [np.array([0.5, -1.0], "<f2").view(np.uint8), np.array([0xF0] + [0x21] * 15, np.uint8)]
    )
    found = to_float32(block, "Q4_1", 32, 20)
    assert found[0] == -1.0  # low half of 0xF0: 0.5 * 0 - 1
    assert found[16] == 0.5 * 15 - 1  # high half
    assert (found[1:16] == -0.5).all()
    assert (found[17:] == 0.0).all()


def test_mxfp4_by_hand() -> None:
    """E8M0 127 is 1.0; E2M1's magnitudes are 0, 0.5, 1, 1.5, 2, 3, 4, 6 (OCP MX 1.0, table 5)."""
    codes = [low | high << 4 for low, high in zip(range(16), range(15, -1, -1), strict=True)]
    found = to_float32(np.array([127, *codes], np.uint8), "MXFP4", 32, 17)
    magnitudes = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    expected = [*magnitudes, *(-m for m in magnitudes)]
    np.testing.assert_array_equal(found[:16], expected)
    np.testing.assert_array_equal(found[16:], expected[::-1])
