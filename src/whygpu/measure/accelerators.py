"""Which accelerators stand in this machine: by its device files and vendors' programs, quickly.

PyTorch is asked only where it is loaded already; importing it takes seconds.
"""

import json
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Accelerator", "ask", "find_accelerators"]

PATIENCE = 4.0
"""Seconds that a vendor's program may take."""

DEVICE_FILES = {
    "nvidia[0-9]*": "NVIDIA GPU",
    "kfd": "AMD GPU",
    "davinci[0-9]*": "Huawei Ascend NPU",
    "neuron[0-9]*": "AWS Neuron device",
    "accel[0-9]*": "accelerator",
    "accel/accel[0-9]*": "accelerator",
    "hl[0-9]*": "Intel Gaudi",
}
"""Patterns under /dev that an accelerator's driver creates."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One device: its name, memory in bytes and power limit in watts where known, and how it was found."""

    name: str
    memory: int | None
    watts: float | None
    found_by: str

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


def find_accelerators() -> tuple[Accelerator, ...]:
    """Every accelerator found; where a program names the devices, their bare files are not repeated."""
    named = [*_nvidia(), *_amd(), *_apple(), *_loaded_torch()]
    known = " ".join(device.name.lower() for device in named)
    bare = [device for device in _device_files() if not known or device.name.split()[0].lower() not in known]
    return tuple(named + bare)


def ask(*command: str) -> str:
    """What a program says, or nothing where it is missing, fails or takes too long."""
    program = shutil.which(command[0])
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, *command[1:]], capture_output=True, text=True, timeout=PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return done.stdout


def _nvidia() -> list[Accelerator]:
    text = ask("nvidia-smi", "--query-gpu=name,memory.total,power.limit", "--format=csv,noheader,nounits")
    return parse_nvidia(text)


def parse_nvidia(text: str) -> list[Accelerator]:
    """Lines of ``name, MiB, watts``; fields that the driver does not know are words in brackets."""
    devices = []
    for line in text.splitlines():
        name, *rest = (part.strip() for part in line.split(","))
        memory, watts = ([_number(part) for part in rest] + [None, None])[:2]
        if name:
            label = name if name.lower().startswith("nvidia") else f"NVIDIA {name}"
            size = None if memory is None else int(memory) << 20
            devices.append(Accelerator(label, size, watts, "nvidia-smi"))
    return devices


def _amd() -> list[Accelerator]:
    return parse_rocm(ask("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--json"))


def parse_rocm(text: str) -> list[Accelerator]:
    """rocm-smi's JSON: one object a card."""
    try:
        cards = json.loads(text)
    except ValueError:
        return []
    devices = []
    for key, card in sorted(cards.items()) if isinstance(cards, dict) else []:
        if key.startswith("card") and isinstance(card, dict):
            name = str(card.get("Card series") or card.get("Card Series") or key)
            size = _number(str(card.get("VRAM Total Memory (B)", "")))
            label = name if name.upper().startswith("AMD") else f"AMD {name}"
            devices.append(Accelerator(label, None if size is None else int(size), None, "rocm-smi"))
    return devices


def _apple() -> list[Accelerator]:
    if sys.platform == "darwin" and platform.machine() == "arm64":
        chip = ask("sysctl", "-n", "machdep.cpu.brand_string").strip() or "Apple chip"
        return [Accelerator(f"{chip} GPU (memory shared with the CPU)", None, None, "platform")]
    return []


def _loaded_torch() -> list[Accelerator]:
    """Devices that an already loaded PyTorch sees and no program named (XPU, NPU, CUDA without its tool)."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return []
    devices: list[Accelerator] = []
    for kind in ("cuda", "xpu", "npu"):
        module = getattr(torch, kind, None)
        if kind == "cuda" and (shutil.which("nvidia-smi") or shutil.which("rocm-smi")):
            continue
        devices += _torch_devices(module, kind)
    return devices


def _torch_devices(module: Any, kind: str) -> list[Accelerator]:
    try:
        if module is None or not module.is_available():
            return []
        names = [str(module.get_device_name(i)) for i in range(module.device_count())]
        return [Accelerator(name, None, None, f"torch.{kind}") for name in names]
    except (RuntimeError, AssertionError, AttributeError, OSError):
        return []


def _device_files(root: Path = Path("/dev")) -> list[Accelerator]:
    devices = []
    for pattern, name in DEVICE_FILES.items():
        for path in sorted(root.glob(pattern)):
            devices.append(Accelerator(name, None, None, f"/dev/{path.relative_to(root).as_posix()}"))
    return devices


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
