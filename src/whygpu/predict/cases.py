"""One thing to predict, or one that was measured: a model, how it is stored, a machine, a runtime,
lengths."""

import re
from dataclasses import dataclass

from whygpu.measure.machine import Machine
from whygpu.models.outline import Outline
from whygpu.predict.longtail import family
from whygpu.predict.quants import Storage

__all__ = ["HOST_BANDWIDTH", "RUNTIMES", "Case", "group_of", "runtime_of"]

RUNTIMES = (
    "cuda",
    "metal",
    "rocm",
    "vulkan",
    "sycl",
    "cpu",
    "mlx",
    "exllama",
    "mlc",
    "vllm",
    "sglang",
    "trtllm",
    "itrex",
    "pytorch",
    "gptfast",
    "llama2c",
)
"""Whose overheads are known: the first six are llama.cpp's backends."""


HOST_BANDWIDTH = 60e9
"""Bytes a second that the host's processor reads spilled layers with, where nobody says which: two channels
of DDR5, about 75 % used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is run where."""

    outline: Outline
    storage: Storage
    bits: float
    """Average bits a weight as stored (a file's own where it is known)."""
    machine: Machine
    runtime: str
    always_bits: float = 0.0
    """Bits of the weights that every token of a mixture meets, where not those of experts; 0: the same."""
    count: int = 1
    """Devices; llama.cpp splits layers over them, serving runtimes tensors."""
    batch: float = 1
    """Sequences decoded side by side."""
    depth: float = 64
    """Mean tokens in the cache of each."""
    prompt: float = 512
    """Tokens of the prompt whose time is asked for."""
    kv_bytes: float = 2.0
    flash: bool = True
    """Whether attention is fused."""
    host: str = "usual"
    """``small`` where a single-board computer drives the device."""
    spilled: float = 0.0
    """Share of the weights that does not fit the device and is read by the host's processor."""
    era: str = "2025"
    """Age of the runtime: 2023, 2024 or 2025 (and later)."""
    ubatch: float = 512
    """Tokens of a prompt that llama.cpp pushes through at once."""
    host_bandwidth: float = HOST_BANDWIDTH
    """Bytes a second that the host's processor reads spilled layers with."""
    power: float = 1.0
    """The limit of power over the rated power; 1 where none is set."""
    matrix_units: bool = True
    """Whether the runtime was built to use the device's matrix units."""

    @property
    def family(self) -> str:
        """Of the machine, as it runs here: a SoC's CPU is not its GPU."""
        found = family(self.machine)
        if self.runtime in ("cpu", "itrex", "llama2c", "pytorch") and not found.startswith("CPU"):
            vendor = self.machine.vendor
            return "CPU AVX2" if vendor in ("AMD", "Intel") else "CPU Arm"
        return found


def group_of(machine: Machine) -> str:
    """The name under which entries that are the same chip are left out together."""
    if machine.vendor == "Apple":
        chip = re.sub(r"\s*\(.*?\)", "", machine.name)
        return f"{chip} {machine.details.get('cores', '')}".strip()
    return re.sub(r"\s*\(.*?\)", "", machine.name)


def runtime_of(text: str, machine: Machine) -> str:
    """The runtime that a label means ("llama.cpp CUDA 12.1", "Ollama", "vllm 0.23.0 TP4" ...) on this
    machine."""
    t = text.lower()
    for word, runtime in (
        ("itrex", "itrex"),
        ("neural speed", "itrex"),
        ("trt", "trtllm"),
        ("tensorrt", "trtllm"),
        ("sglang", "sglang"),
        ("vllm", "vllm"),
        ("tgi", "vllm"),
        ("lmdeploy", "vllm"),
        ("exllama", "exllama"),
        ("exl2", "exllama"),
        ("mlc", "mlc"),
        ("gpt-fast", "gptfast"),
        ("llama2.c", "llama2c"),
        ("mlx", "mlx"),
        ("vulkan", "vulkan"),
        ("rocm", "rocm"),
        ("hip", "rocm"),
        ("rocwmma", "rocm"),
        ("metal", "metal"),
        ("sycl", "sycl"),
        ("ipex", "sycl"),
        ("openvino", "sycl"),
        ("cuda", "cuda"),
        ("cpu", "cpu"),
        ("pytorch", "pytorch"),
        ("transformers", "pytorch"),
    ):
        if word in t and not (word == "itrex" and "pytorch" in t):
            if word == "rocm" and machine.vendor == "NVIDIA":
                continue
            return runtime
    return native_runtime(machine)


def native_runtime(machine: Machine) -> str:
    """The llama.cpp backend that is usual on a machine."""
    if machine.kind == "cpu" or family(machine).startswith("CPU") or machine.name.endswith(" CPU"):
        return "cpu"
    return {"NVIDIA": "cuda", "Apple": "metal", "AMD": "rocm", "Intel": "vulkan"}.get(
        machine.vendor, "vulkan"
    )
