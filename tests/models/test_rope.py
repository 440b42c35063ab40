"""Rotary frequencies against transformers' own functions."""

from typing import Any

import numpy as np
import pytest
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from whygpu.models.rope import Rope, RopeScaling, longrope_magnitude, rope_frequencies, yarn_magnitude

DIMS, THETA = 64, 10000.0


def theirs(**parameters: Any) -> tuple[np.ndarray, float]:
    config = LlamaConfig(
        hidden_size=2 * DIMS,
        num_attention_heads=2,
        max_position_embeddings=32768,
        rope_parameters={"rope_theta": THETA, **parameters},
    )
    frequencies, magnitude = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config)
    return frequencies.numpy(), magnitude


CASES: dict[str, tuple[dict[str, Any], RopeScaling]] = {
    "linear": ({"rope_type": "linear", "factor": 4.0}, RopeScaling(kind="linear", factor=4.0)),
    "llama3": (
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
        RopeScaling(kind="llama3", factor=8.0, original_context=8192),
    ),
    "yarn": (
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192},
        RopeScaling(kind="yarn", factor=4.0, original_context=8192, magnitude=yarn_magnitude(4.0)),
    ),
    "yarn, other betas": (
        {
            "rope_type": "yarn",
            "factor": 8.0,
            "original_max_position_embeddings": 4096,
            "beta_fast": 16.0,
            "beta_slow": 2.0,
            "mscale": 0.7,
            "mscale_all_dim": 0.4,
        },
        RopeScaling(
            kind="yarn",
            factor=8.0,
            original_context=4096,
            beta_fast=16.0,
            beta_slow=2.0,
            magnitude=yarn_magnitude(8.0, 0.7) / yarn_magnitude(8.0, 0.4),
        ),
    ),
    "longrope": (
        {
            "rope_type": "longrope",
            "short_factor": [1.0 + i for i in range(32)],
            "long_factor": [2.0] * 32,
            "original_max_position_embeddings": 4096,
            "factor": 8.0,
        },
        RopeScaling(
            kind="longrope",
            original_context=4096,
            divisors=tuple(1.0 + i for i in range(32)),
            long_divisors=(2.0,) * 32,
            magnitude=longrope_magnitude(8.0, 4096),
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_frequencies_are_those_of_transformers(case: str) -> None:
    parameters, scaling = CASES[case]
    frequencies, magnitude = theirs(**parameters)
    rope = Rope(THETA, DIMS, scaling)
    np.testing.assert_allclose(rope_frequencies(rope), frequencies, rtol=1e-5)
    assert rope.magnitude == pytest.approx(magnitude)


def test_the_long_set_begins_beyond_the_original_context() -> None:
    rope = Rope(THETA, DIMS, CASES["longrope"][1])
    assert not rope.is_long(4096)
    assert rope.is_long(4097)
    plain = rope_frequencies(Rope(THETA, DIMS))
    np.testing.assert_allclose(rope_frequencies(rope, long=True), plain / 2)
    assert not Rope(THETA, DIMS).is_long(10**6)
