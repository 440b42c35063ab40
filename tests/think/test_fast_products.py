"""Every block type of the fast path against float64, with this CPU's instructions and with older ones."""

import os
import subprocess
import sys
from pathlib import Path

import fast_products
import numpy as np
import pytest

from whygpu import engine
from whygpu.models.quants import DEQUANTISERS
from whygpu.think.fast.formats import FORMATS
from whygpu.think.fast.kernels import FUNCTIONS
from whygpu.think.fast.pack import pack, packed_bytes

SUM = 3e-7
"""A few roundings of float32 in the sum over blocks; sums within a block are exact."""


@pytest.mark.parametrize("kind", list(FORMATS))
def test_products_equal_those_of_the_dequantised_weights(kind: str) -> None:
    assert fast_products.worst(kind) < SUM


def test_every_type_that_can_be_read_is_fast() -> None:
    assert set(FORMATS) == set(FUNCTIONS) == set(DEQUANTISERS)


@pytest.mark.parametrize(
    ("cpu", "features", "dot"),
    [("generic", "", "generic"), ("x86-64-v3", "+avx2,+fma,+f16c,+avx", "avx2")],
)
def test_other_instruction_sets_give_the_same_products(cpu: str, features: str, dot: str) -> None:
    """Without VNNI bytes beyond 127 would saturate; without F16C and SSSE3 there are no half floats, no tables."""
    if os.uname().machine != "x86_64":
        pytest.skip("these are x86-64 CPUs")
    environment = {**os.environ, "NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features}
    program = [sys.executable, Path(fast_products.__file__), "Q8_0", "Q4_K", "Q6_K", "IQ4_NL", "F16"]
    out = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
    used, error = out.stdout.split()
    assert used == dot
    assert float(error) < SUM


@pytest.mark.parametrize("kind", list(FORMATS))
def test_packing_grows_by_four_percent_at_most(kind: str) -> None:
    raw = fast_products.random_rows(kind, 32, 512, np.random.default_rng(1), 1.0)
    assert raw.size <= packed_bytes(kind, 32, 512) <= 1.04 * raw.size


def test_packing_refuses_ragged_columns() -> None:
    with pytest.raises(engine.UserError, match="48 columns cannot be packed as Q4_1: they come in 32s"):
        pack(np.zeros((16, 30), np.uint8), "Q4_1", 48, np.zeros(1000, np.uint8))
