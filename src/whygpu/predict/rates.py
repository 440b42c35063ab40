"""How fast a device multiplies: which units a runtime's products run on, at which rate.

Datasheets state rates of units; which of them llama.cpp's kernels use, and in which number format they
sum, depends on the family and the backend.
"""

import re

from whygpu.predict.cases import Case

__all__ = ["attention_rate", "ceiling", "matrix_rate", "peak", "units"]

ON_CPU = ("cpu", "itrex", "pytorch", "llama2c")
"""Runtimes that multiply with the processor."""
HALVED = ("Ampere", "Ada Lovelace", "Blackwell 2.0", "Turing")
"""Families whose game cards halve their rate where sums are kept in single precision."""
HOST_RIDGE = 8.0
"""FLOP/s of vector units over bytes/s of the memory, for processors that only their graphics' entry
stands for: between 6 (eight laptop cores) and 10 (sixteen)."""
TYPICAL = 0.8
"""Share of the dense peak that the best large GEMMs reach on most devices (hardware.csv's measured column:
0.72 to 0.87); devices whose own figure is lower (MI300X 0.51, Strix Halo 0.62) are that much slower."""
OLD_PRODUCTS = 2.0
"""How much slower llama.cpp multiplied a prompt on processors before blocked products (tinyBLAS) came in
April 2024: its pull request 6414 reports prompts 1.3 to 6 times as fast, by processor and storage; twice is
assumed."""


def peak(case: Case) -> float:
    """FLOP/s of half precision, or of single where there is none."""
    flops = case.machine.flops
    on_cpu = case.runtime in ON_CPU
    if on_cpu and case.machine.kind == "gpu":  # the figures are those of the graphics beside the processor
        return HOST_RIDGE * case.machine.bandwidth.value
    if on_cpu and "fp32" in flops:
        # llama.cpp multiplies with vector units, also where there are matrix ones
        return flops["fp32"].value * dot_product(case)
    rates = [flops[name].value for name in ("fp16", "fp32") if name in flops]  # Pascal's halves are slow
    return max(rates or [f.value for f in flops.values()] or [50 * case.machine.bandwidth.value])


def dot_product(case: Case) -> float:
    """How many times as fast an Arm core multiplies quantised weights with SDOT (Armv8.2 and later): 2.

    A fourth of the multiplications, the same loads and unpacking. 1 without it (Cortex-A53, A72).
    """
    if case.family != "CPU Arm" or case.storage.kind in ("f16", "f32"):
        return 1.0
    return 1.0 if "no dot product" in case.machine.details.get("notes", "") else 2.0


def matrix_rate(case: Case) -> float:
    """FLOP/s that a prompt's products can reach: those of the units, as far as power and measured GEMMs go.

    A limit of power lowers clocks: power goes with about the square of the clock near a chip's usual
    voltage, and products take about four fifths of the rated power before any limit binds (assumed).
    """
    measured, half = case.machine.details.get("measured_bf16_tflops"), case.machine.flops.get("fp16")
    rate = unit_rate(case)
    if measured and half and rate == half.value:
        rate *= float(measured) * 1e12 / half.value / TYPICAL
    return float(rate * min(1.0, (case.power / 0.8) ** 0.5))


def unit_rate(case: Case) -> float:  # noqa: PLR0911
    """FLOP/s of the units that a prompt's products run on: tensor cores, dot products of bytes, or vectors.

    NVIDIA's game cards halve the rate where sums are kept in single precision (as the catalogue states it);
    llama.cpp sums in half precision or in integers, at the full rate. Pascal (but for P100) multiplies bytes
    four at a time (dp4a). Vulkan on Intel, before its drivers offered cooperative matrices, and on Apple,
    uses vector units.
    """
    flops, v, f = case.machine.flops, case.machine.vendor, case.family
    if case.runtime in ON_CPU:
        return peak(case) / (OLD_PRODUCTS if case.runtime == "cpu" and case.era == "2023" else 1.0)
    single = flops["fp32"].value if "fp32" in flops else 0.0
    if v == "NVIDIA":
        if f == "Pascal" and case.storage.kind not in ("f16", "f32") and "P100" not in case.machine.name:
            return 4 * single or peak(case)
        if f == "Turing GTX":
            return single or peak(case)
        if "fp16_fp16acc" in flops:
            return flops["fp16_fp16acc"].value
        half = flops["fp16"].value if "fp16" in flops else 0.0
        return 2 * half if single and half < 2.5 * single and f in HALVED else peak(case)
    if case.runtime == "sycl" and not case.matrix_units and single:
        return single
    if case.runtime == "vulkan" and v in ("Intel", "Apple") and single:
        return single * (2 if v == "Intel" else 1)
    return peak(case)


def units(case: Case) -> str:
    """``matrix`` or ``vector``: which units a prompt's products run on; vectors come nearer to their rate.

    Dot products of bytes (Pascal) count as the former: scales cost them as much. So do GTX 16 in CUDA, whose
    code for compute capability 7.5 issues matrix instructions that these chips lack units for.
    """
    f = case.family
    if case.runtime in ON_CPU or case.machine.vendor == "Apple":
        return "vector"
    if f == "Turing GTX" and case.runtime != "cuda":
        return "vector"
    if case.machine.vendor == "Intel":
        return "matrix" if case.runtime == "sycl" and case.matrix_units else "vector"
    if case.machine.vendor == "NVIDIA":
        return "vector" if re.match(r"Fermi|Kepler|Maxwell", f) else "matrix"
    return "vector" if re.match(r"GCN|RDNA [12]\b|TeraScale|AMD iGPU", f) else "matrix"


def ceiling(case: Case) -> float:
    """FLOP/s that nothing on the device can beat: the highest dense rate of any number format."""
    flops = case.machine.flops
    single = flops["fp32"].value if "fp32" in flops else 0.0
    halves = (
        2 * flops["fp16"].value if "fp16" in flops else 0.0
    )  # sums in half precision, or products of bytes
    return max(
        [peak(case), unit_rate(case), 4 * single, halves, *(figure.value for figure in flops.values())]
    )


def attention_rate(case: Case) -> float:
    """FLOP/s of attention's products: as others', but without matrix units where kernels lack them.

    llama.cpp's fused attention uses tensor cores on NVIDIA's; AMD's and Intel's run it on vectors.
    """
    single = case.machine.flops.get("fp32")
    if case.runtime not in ON_CPU and case.machine.vendor in ("AMD", "Intel") and single:
        return min(2 * single.value, peak(case))
    return min(matrix_rate(case), peak(case)) if case.family == "Pascal" else matrix_rate(case)
