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


@pytest.mark.parametrize("kind", list(fast_products.CODES))
def test_the_largest_codes_and_activations_overflow_nowhere(kind: str) -> None:
    assert fast_products.worst(kind, loud=True) < SUM


def test_every_type_that_can_be_read_is_fast() -> None:
    assert set(FORMATS) == set(FUNCTIONS) == set(DEQUANTISERS)


@pytest.mark.parametrize(
    ("cpu", "features", "dot"),
    [("generic", "", "generic"), ("x86-64-v3", "+avx2,+fma,+f16c,+avx", "avx2")],
)
def test_other_instruction_sets_give_the_same_products(cpu: str, features: str, dot: str) -> None:
    """Without VNNI bytes beyond 127 would saturate; without F16C and SSSE3: no half floats, no tables."""
    if os.uname().machine != "x86_64":
        pytest.skip("these are x86-64 CPUs")
    environment = {**os.environ, "NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features}
    program = [sys.executable, Path(fast_products.__file__), "Q8_0", "Q4_K", "Q5_1", "Q6_K", "IQ4_NL", "F16"]
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


ARM = """
import re
import llvmlite.binding as llvm
import numba
from whygpu.think.fast.kernels import FUNCTIONS
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
signature = numba.types.void(*[numba.types.int64] * 8)
function = numba.cfunc(signature, error_model="numpy", _nrt=False)(FUNCTIONS["Q4_K"])
text = function._library.get_llvm_str()
arm = "aarch64-unknown-linux-gnu"
machine = llvm.Target.from_triple(arm).create_target_machine(cpu="generic", features="+neon", opt=3)
text = re.sub(r'target triple = ".*"', f'target triple = "{arm}"', text)
text = re.sub(r'target datalayout = ".*"', f'target datalayout = "{machine.target_data}"', text)
text = re.sub(r'"target-(cpu|features)"="[^"]*"', "", text)
assembly = machine.emit_assembly(llvm.parse_assembly(text))
print(*(len(re.findall(rf"\\t{name}\\w*\\tv", assembly)) for name in ("fmla", "smull", "ushr")))
"""


def test_kernels_compile_for_arm() -> None:
    """Not run: LLVM makes NEON code of the generic form, on vectors."""
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    out = subprocess.run(
        [sys.executable, "-c", ARM], capture_output=True, text=True, check=True, env=environment
    )
    assert all(int(count) > 20 for count in out.stdout.split()), out.stdout
