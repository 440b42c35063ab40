"""The processor: its name, caches, features, clock, and whether it is a virtual one."""

import platform
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Cache", "caches", "cpu_features", "cpu_name", "maximum_clock", "virtual_machine"]

FEATURES = (
    *(
        "sse4_2",
        "avx",
        "f16c",
        "avx2",
        "fma",
        "avx512f",
        "avx512_vnni",
        "avx512_bf16",
        "amx_tile",
        "amx_bf16",
    ),
    *("asimd", "asimddp", "sve", "sve2", "i8mm", "bf16"),
)
"""What sets peak rates, in the Linux kernel's names: x86's, then Arm's."""

CPUS = Path("/sys/devices/system/cpu")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Cache:
    """One level of data cache: bytes of one instance, and how many of them this system shows."""

    level: int
    size: int
    instances: int

    @property
    def total(self) -> int:
        """Bytes of all instances."""
        return self.size * self.instances

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


def cpu_name() -> str:
    """The processor's name as it gives it, or the architecture's."""
    if sys.platform == "darwin":
        name = sysctl("machdep.cpu.brand_string")
    elif sys.platform == "win32":
        name = _windows_name()
    else:
        info = cpu_info()
        name = info.get("model name") or info.get("hardware") or info.get("cpu model") or _arm_name(info)
    return " ".join((name or platform.processor() or platform.machine() or "unknown").split())


def cpu_info(path: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """The first processor of /proc/cpuinfo and the lines that stand for all, keys in lower case."""
    found: dict[str, str] = {}
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return found
    for line in text.splitlines():
        key, _, value = line.partition(":")
        found.setdefault(key.strip().lower(), value.strip())
    return found


def _arm_name(info: dict[str, str]) -> str:
    if "cpu implementer" in info:
        return f"Arm implementer {info['cpu implementer']} part {info.get('cpu part', '?')}"
    return ""


def _windows_name() -> str:
    if sys.platform != "win32":
        return ""
    import winreg

    key = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as handle:
            return str(winreg.QueryValueEx(handle, "ProcessorNameString")[0])
    except OSError:
        return ""


def sysctl(name: str) -> str:
    """One value of macOS's sysctl, or nothing."""
    try:
        done = subprocess.run(
            ["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=2, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def caches() -> tuple[Cache, ...]:
    """Data caches by level; empty where the system does not say."""
    if sys.platform == "darwin":
        return _darwin_caches()
    return linux_caches(CPUS)


def linux_caches(root: Path) -> tuple[Cache, ...]:
    """From sysfs: one cache is one set of CPUs that share it."""
    seen: dict[tuple[int, str], int] = {}
    for folder in root.glob("cpu[0-9]*/cache/index[0-9]*"):
        try:
            kind = (folder / "type").read_text().strip()
            level = int((folder / "level").read_text())
            shared = (folder / "shared_cpu_list").read_text().strip()
            size = parse_size((folder / "size").read_text())
        except (OSError, ValueError):
            continue
        if kind in ("Data", "Unified") and size:
            seen[level, shared] = size
    levels = sorted({level for level, _ in seen})
    return tuple(
        Cache(level, max(sizes), len(sizes))
        for level in levels
        for sizes in [[size for (at, _), size in seen.items() if at == level]]
    )


def parse_size(text: str) -> int:
    """Bytes of ``32K``, ``1024K`` or ``32M``."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size")
    return int(match[1]) * _UNITS[match[2]]


def _darwin_caches() -> tuple[Cache, ...]:
    """The performance cores' caches where the chip has two kinds, else the common ones."""
    cores = int(sysctl("hw.perflevel0.physicalcpu") or sysctl("hw.physicalcpu") or 1)
    first = sysctl("hw.perflevel0.l1dcachesize") or sysctl("hw.l1dcachesize")
    second = sysctl("hw.perflevel0.l2cachesize") or sysctl("hw.l2cachesize")
    sharing = int(sysctl("hw.perflevel0.cpusperl2") or 1)
    third = sysctl("hw.l3cachesize")
    found = [(1, first, cores), (2, second, max(1, cores // sharing)), (3, third, 1)]
    return tuple(
        Cache(level, int(size), count) for level, size, count in found if size.isdigit() and int(size)
    )


def cpu_features() -> tuple[str, ...]:
    """Those of ``FEATURES`` that this processor has."""
    if sys.platform == "darwin":
        text = f"{sysctl('machdep.cpu.features')} {sysctl('machdep.cpu.leaf7_features')}".lower()
        text = text.replace("avx1.0", "avx") + (" asimd" if platform.machine() == "arm64" else "")
    else:
        info = cpu_info()
        text = info.get("flags") or info.get("features") or ""
    have = set(text.split())
    return tuple(name for name in FEATURES if name in have)


def maximum_clock() -> float | None:
    """Hz of the fastest core's highest clock, or None where the system does not say (a virtual machine)."""
    speeds = []
    for path in CPUS.glob("cpu[0-9]*/cpufreq/cpuinfo_max_freq"):
        try:
            speeds.append(float(path.read_text()) * 1e3)  # the file is in kHz
        except (OSError, ValueError):
            continue
    return max(speeds, default=None)


def virtual_machine() -> bool | None:
    """Whether this is a virtual machine; None where nothing tells."""
    if sys.platform == "darwin":
        return {"0": False, "1": True}.get(sysctl("kern.hv_vmm_present"))
    if not sys.platform.startswith("linux"):
        return None
    info = cpu_info()
    if "hypervisor" in info.get("flags", "").split():
        return True
    if "flags" in info:  # x86: the flag is there under every common hypervisor
        return False
    try:
        maker = Path("/sys/class/dmi/id/sys_vendor").read_text().lower()
    except OSError:
        return True if Path("/sys/hypervisor/type").exists() else None
    return any(word in maker for word in ("qemu", "amazon", "google", "microsoft", "vmware", "xen", "kvm"))
