"""What is here: processor, caches, memory, system, NumPy with its BLAS, accelerators."""

import functools
import hashlib
import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whygpu.engine.threads import available_threads
from whygpu.measure.accelerators import Accelerator, find_accelerators
from whygpu.measure.processor import (
    Cache,
    caches,
    cpu_features,
    cpu_name,
    maximum_clock,
    virtual_machine,
)

__all__ = ["Blas", "Host", "this_host"]


@dataclass(frozen=True, slots=True)
class Blas:
    """The library behind NumPy's matrix multiply: its name, version and the kernel that it chose."""

    name: str
    version: str
    kernel: str
    threading: str

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Host:
    """This machine. What could not be found out is None or empty, never guessed."""

    cpu: str
    architecture: str
    cores: int | None
    """Physical cores."""
    threads: int
    """Threads that this process may run: affinity and container quota."""
    caches: tuple[Cache, ...]
    memory: int
    """Bytes of this machine."""
    memory_limit: int | None
    """Bytes that the container allows, if it limits them."""
    system: str
    python: str
    numpy: str
    blas: Blas
    features: tuple[str, ...]
    numpy_simd: tuple[str, ...]
    virtual: bool | None
    container: bool
    clock: float | None
    """Highest clock in Hz, if known."""
    on_battery: bool | None
    accelerators: tuple[Accelerator, ...]

    @property
    def usable_memory(self) -> int:
        """Bytes: the machine's, or the container's if that is less."""
        return min(self.memory, self.memory_limit or self.memory)

    @property
    def last_level(self) -> int | None:
        """Bytes of all last-level caches together, or None where unknown."""
        return self.caches[-1].total if self.caches else None

    @property
    def identity(self) -> str:
        """A hash of everything that changes what a measurement would give."""
        parts = [
            self.cpu, self.architecture, self.cores, self.threads, [c.as_dict() for c in self.caches],
            round(self.usable_memory / 2**30), self.system, self.python, self.numpy, self.blas.as_dict(),
            self.features, self.virtual, [device.name for device in self.accelerators],
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON: bytes and Hz."""
        return {
            **asdict(self),
            "last_level": self.last_level,
            "usable_memory": self.usable_memory,
            "identity": self.identity,
        }


@functools.cache
def this_host() -> Host:
    """Look at this machine, once a process; under a second, since a vendor's program may be asked."""
    import psutil

    battery = getattr(psutil, "sensors_battery", lambda: None)()
    return Host(
        cpu=cpu_name(),
        architecture=platform.machine(),
        cores=psutil.cpu_count(logical=False),
        threads=available_threads(),
        caches=caches(),
        memory=int(psutil.virtual_memory().total),
        memory_limit=memory_limit(int(psutil.virtual_memory().total)),
        system=f"{platform.system()} {platform.release()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        numpy=np.__version__,
        blas=_blas(),
        features=cpu_features(),
        numpy_simd=tuple(_numpy_config().get("SIMD Extensions", {}).get("found", ())),
        virtual=virtual_machine(),
        container=Path("/.dockerenv").exists() or Path("/run/.containerenv").exists(),
        clock=maximum_clock(),
        on_battery=None if battery is None else not battery.power_plugged,
        accelerators=find_accelerators(),
    )


def memory_limit(
    memory: int, root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> int | None:
    """The smallest limit of this process's cgroups (version 2 or 1), if it is below the machine's memory."""
    if not sys.platform.startswith("linux"):
        return None
    limits = []
    for folder in _own_cgroups(root, own):
        for name in ("memory.max", "memory.limit_in_bytes"):
            try:
                limits.append(int((folder / name).read_text()))
            except (OSError, ValueError):
                continue  # missing, or the word "max"
    smallest = min(limits, default=memory)
    return smallest if 0 < smallest < memory else None


def _own_cgroups(root: Path, own: Path) -> list[Path]:
    """The folders of this process's cgroup and of all that contain it."""
    folders = [root, root / "memory"]
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return folders
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        base = root if not controllers else root / "memory" if "memory" in controllers.split(",") else None
        steps = [part for part in path.split("/") if part and part != ".."]
        if base is not None:
            folders += [base.joinpath(*steps[: i + 1]) for i in range(len(steps))]
    return folders


def _numpy_config() -> dict[str, Any]:
    config: Any = np.show_config(mode="dicts")  # type: ignore[call-overload, unused-ignore]
    return config if isinstance(config, dict) else {}


def _blas() -> Blas:
    """What is loaded (threadpoolctl), else what NumPy was built with."""
    from threadpoolctl import threadpool_info

    inside = os.fspath(Path(np.__file__).parent)
    loaded = [info for info in threadpool_info() if info.get("user_api") == "blas"]
    loaded.sort(key=lambda info: not str(info.get("filepath", "")).startswith(inside))  # NumPy's own first
    if loaded:
        info = loaded[0]
        version, kernel = str(info.get("version") or "unknown"), str(info.get("architecture") or "unknown")
        return Blas(
            str(info.get("internal_api")), version, kernel, str(info.get("threading_layer") or "unknown")
        )
    built = _numpy_config().get("Build Dependencies", {}).get("blas", {})
    return Blas(str(built.get("name", "unknown")), str(built.get("version", "unknown")), "unknown", "unknown")
