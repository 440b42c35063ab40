"""What of each layer of the stack is here: drivers, libraries, frameworks, devices."""

import contextlib
import ctypes.util
import functools
import importlib.metadata
import re
import tomllib
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from whygpu.engine import UserError, available_threads, backend
from whygpu.engine.progress import Progress, silent
from whygpu.measure.accelerators import ask, find_accelerators
from whygpu.measure.host import this_host

__all__ = ["DEVICES", "Device", "Part", "Stack", "compute_capabilities", "stack", "tensor_cores"]

DEVICES = (
    "cpu", "numpy", "python", "torch:cpu", "torch:cuda", "torch:mps", "torch:xpu", "torch:npu", "torch:xla",
    "torch:neuron", "jax:cpu", "jax:gpu", "jax:tpu", "cupy",
)  # fmt: skip
"""Names for ``--device`` that are tried."""

TENSOR_CORES = ((7, 0, "1"), (7, 5, "2"), (8, 0, "3"), (8, 9, "4"), (9, 0, "4"), (10, 0, "5"))
"""Compute capability from which on a chip has Tensor Cores of that generation (CUDA programming guide)."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the stack."""

    key: str
    layer: str
    here: bool
    version: str
    """Empty where it is here but does not say."""
    found_by: str


@dataclass(frozen=True, slots=True)
class Device:
    """A name for ``--device``: whether it works here, on what, or why not."""

    name: str
    usable: bool
    card: str
    missing: str
    """The package that it needs and that is not installed."""
    reason: str


@dataclass(frozen=True, slots=True)
class Stack:
    """Everything that was found."""

    parts: tuple[Part, ...]
    devices: tuple[Device, ...]
    auto: str
    """What ``--device auto`` takes."""
    cards: tuple[dict[str, Any], ...]
    """Accelerators, NVIDIA's with compute capability and generation of Tensor Cores."""
    host: dict[str, Any]
    """CPU, BLAS and its threads, the engine's threads and SIMD, versions."""

    @property
    def next_step(self) -> str:
        """The part whose absence costs most here, by key; empty where all that fits is there."""
        names = " ".join(str(card["name"]) for card in self.cards).lower()
        for word, device, part in (
            ("nvidia", "torch:cuda", "torch"),
            ("amd", "torch:cuda", "rocm"),
            ("apple", "torch:mps", "torch"),
            ("intel", "torch:xpu", "torch"),
            ("ascend", "torch:npu", "torch-npu"),
            ("neuron", "torch:neuron", "torch-neuronx"),
        ):
            usable = next((d.usable for d in self.devices if d.name == device), False)
            if word in names and not usable:
                return part
        return "" if any(p.here for p in self.parts if p.key == "torch") else "torch"

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "schema_version": 1,
            "auto": self.auto,
            "cards": list(self.cards),
            "parts": [asdict(part) for part in self.parts],
            "devices": [asdict(device) for device in self.devices],
            "host": self.host,
            "next_step": self.next_step,
        }


def stack(*, progress: Progress = silent) -> Stack:
    """Look at everything; a few seconds, since the frameworks are loaded to ask what they see."""
    parts = []
    for number, row in enumerate(_table()):
        progress("doctor.looking", number / 2 / len(_table()), what=row["key"])
        parts.append(_look(row))
    devices = []
    for number, name in enumerate(DEVICES):
        progress("doctor.looking", 0.5 + number / 2 / len(DEVICES), what=name)
        devices.append(_try(name))
    return Stack(tuple(parts), tuple(devices), backend("auto").name, _cards(), _host())


@functools.cache
def _table() -> list[dict[str, Any]]:
    text = resources.files("whygpu.measure").joinpath("stack.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["part"]
    return rows


def _look(row: dict[str, Any]) -> Part:
    """By Python package, program, file, then the system's loader; the first that says anything counts."""

    def found(version: str, by: str) -> Part:
        return Part(row["key"], row["layer"], True, version, by)

    for name in row.get("packages", ()):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return found(importlib.metadata.version(name), f"package {name}")
    pattern = re.compile(row.get("pattern", r"(\d+\.[\d.]+)"))
    for command in row.get("programs", ()):
        match = pattern.search(ask(*command))
        if match:
            return found(match[1], command[0])
    for name in row.get("files", ()):
        path = Path(name)
        if path.exists():
            match = pattern.search(path.read_text("utf-8", "replace")[:4096]) if path.is_file() else None
            return found(match[1] if match else "", name)
    for name in row.get("libraries", ()):
        library = ctypes.util.find_library(name)
        if library:
            return found("", library)
    return Part(row["key"], row["layer"], False, "", "")


def _try(name: str) -> Device:
    try:
        here = backend(name)
    except UserError as error:
        reason = str(error).partition(": ")[2] or str(error)
        missing = re.match(r"(\w+) is not installed", reason)
        return Device(name, False, "", missing[1] if missing else "", reason)
    return Device(name, True, here.card, "", "")


def _cards() -> tuple[dict[str, Any], ...]:
    cards = [device.as_dict() for device in find_accelerators()]
    capabilities = compute_capabilities(ask("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"))
    named = [card for card in cards if card["found_by"] == "nvidia-smi"]
    for card, capability in zip(named, capabilities, strict=False):
        card["compute_capability"] = ".".join(map(str, capability))
        card["tensor_cores"] = tensor_cores(capability)
    return tuple(cards)


def compute_capabilities(text: str) -> list[tuple[int, int]]:
    """nvidia-smi's lines, ``8.9`` say, as numbers."""
    found = (re.fullmatch(r"(\d+)\.(\d+)", line.strip()) for line in text.splitlines())
    return [(int(match[1]), int(match[2])) for match in found if match]


def tensor_cores(capability: tuple[int, int]) -> str | None:
    """The generation of Tensor Cores that a compute capability has; None: none."""
    has = [generation for major, minor, generation in TENSOR_CORES if capability >= (major, minor)]
    return has[-1] if has else None


def _host() -> dict[str, Any]:
    from threadpoolctl import threadpool_info

    host = this_host()
    pools = [pool for pool in threadpool_info() if pool.get("user_api") == "blas"]
    return {
        "cpu": host.cpu,
        "architecture": host.architecture,
        "system": host.system,
        "python": host.python,
        "numpy": host.numpy,
        "blas": host.blas.as_dict(),
        "blas_threads": max((int(pool["num_threads"]) for pool in pools), default=None),
        "engine_threads": available_threads(),
        "simd": list(host.features),
        **{name: _version(name) for name in ("numba", "llvmlite", "array-api-compat")},
    }


def _version(name: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return None
