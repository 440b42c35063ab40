"""What is here: parsers against files as Linux writes them; this machine against the standard library."""

import dataclasses
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from whygpu.measure.accelerators import _device_files, parse_nvidia, parse_rocm
from whygpu.measure.host import Host, memory_limit, this_host
from whygpu.measure.machine import Figure
from whygpu.measure.peak import theoretical_peak
from whygpu.measure.processor import Cache, cpu_info, linux_caches, parse_size

LIGHT = """
import sys
import whygpu.measure.experiments
heavy = "numba llvmlite psutil threadpoolctl array_api_compat pydantic torch rich platformdirs".split()
print(sorted(set(heavy) & {name.partition(".")[0] for name in sys.modules}))
"""


def test_the_experiments_need_numpy_alone() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_this_host_agrees_with_the_standard_library() -> None:
    host = this_host()
    assert host.python == f"{platform.python_implementation()} {platform.python_version()}"
    assert host.numpy == np.__version__
    assert host.architecture == platform.machine()
    assert 1 <= host.threads <= (os.cpu_count() or 1)
    assert 0 < host.usable_memory <= host.memory
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        assert host.memory == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    values = json.loads(json.dumps(host.as_dict()))
    assert values["identity"] == host.identity
    assert len(host.identity) == 16


def test_the_identity_changes_with_what_changes_a_measurement() -> None:
    host = this_host()
    others = [
        dataclasses.replace(host, cpu="another"),
        dataclasses.replace(host, threads=host.threads + 1),
        dataclasses.replace(host, numpy="9.9"),
        dataclasses.replace(host, blas=dataclasses.replace(host.blas, kernel="another")),
    ]
    assert len({host.identity, *(other.identity for other in others)}) == 5


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_caches_count_their_instances(tmp_path: Path) -> None:
    # two cores with two threads each: L1 and L2 a core, L3 for all
    for cpu in range(4):
        folder = tmp_path / f"cpu{cpu}" / "cache"
        core = f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}"
        for index, (level, kind, size, shared) in enumerate(
            [("1", "Data", "48K", core), ("1", "Instruction", "32K", core), ("2", "Unified", "2048K", core),
             ("3", "Unified", "32M", "0-3")]
        ):  # fmt: skip
            write(folder / f"index{index}" / "level", level + "\n")
            write(folder / f"index{index}" / "type", kind + "\n")
            write(folder / f"index{index}" / "size", size + "\n")
            write(folder / f"index{index}" / "shared_cpu_list", shared + "\n")
    assert linux_caches(tmp_path) == (Cache(1, 48 << 10, 2), Cache(2, 2 << 20, 2), Cache(3, 32 << 20, 1))
    assert linux_caches(tmp_path / "nothing") == ()


def test_sizes() -> None:
    assert [parse_size(text) for text in ("512", "32K\n", "8M", "1G")] == [512, 32768, 8 << 20, 1 << 30]
    with pytest.raises(ValueError, match="not a size"):
        parse_size("many")


def test_cpuinfo(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    write(
        path,
        "processor\t: 0\nmodel name\t: A  Chip\nflags\t\t: fpu avx2\n\nprocessor\t: 1\nmodel name\t: B\n",
    )
    assert cpu_info(path)["model name"] == "A  Chip"
    assert cpu_info(tmp_path / "none") == {}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="cgroups are Linux's")
def test_memory_limits_of_both_cgroup_versions(tmp_path: Path) -> None:
    own = tmp_path / "own"
    two = tmp_path / "two"
    write(own, "0::/a/b\n")
    write(two / "a" / "memory.max", "1000\n")
    write(two / "a" / "b" / "memory.max", "max\n")
    assert memory_limit(5000, two, own) == 1000
    assert memory_limit(500, two, own) is None  # a limit above the machine's memory is none
    one = tmp_path / "one"
    write(own, "4:memory:/job\n")
    write(one / "memory" / "job" / "memory.limit_in_bytes", "2000\n")
    write(one / "memory" / "memory.limit_in_bytes", str((1 << 63) - 4096))
    assert memory_limit(5000, one, own) == 2000


def test_nvidia_smi_lines() -> None:
    text = "NVIDIA H200, 143771, 700.00\nTesla T4, 15360, [N/A]\n"
    h200, t4 = parse_nvidia(text)
    assert (h200.name, h200.memory, h200.watts) == ("NVIDIA H200", 143771 << 20, 700.0)
    assert (t4.name, t4.memory, t4.watts) == ("NVIDIA Tesla T4", 15360 << 20, None)
    assert parse_nvidia("") == []


def test_rocm_smi_json() -> None:
    text = json.dumps(
        {"card0": {"Card Series": "Instinct MI300X", "VRAM Total Memory (B)": "206141652992"}, "system": {}}
    )
    (card,) = parse_rocm(text)
    assert (card.name, card.memory) == ("AMD Instinct MI300X", 206141652992)
    assert parse_rocm("no json") == parse_rocm("[]") == []


def test_device_files(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidiactl", "kfd", "davinci3"):
        write(tmp_path / name, "")
    found = [(device.name, device.found_by) for device in _device_files(tmp_path)]
    assert found == [
        ("NVIDIA GPU", "/dev/nvidia0"),
        ("AMD GPU", "/dev/kfd"),
        ("Huawei Ascend NPU", "/dev/davinci3"),
    ]


def known_clock(host: Host, **changes: object) -> Host:
    return dataclasses.replace(
        host,
        virtual=False,
        clock=5.0e9,
        cores=8,
        threads=8,
        features=("avx2", "fma"),
        **changes,  # type: ignore[arg-type]
    )


def test_theoretical_peak_by_hand() -> None:
    # 8 cores x 5 GHz x 8 lanes x 2 units x 2 FLOP = 1,280 GFLOP/s in float32, half in float64
    host = known_clock(this_host())
    single, double = theoretical_peak(host, "fp32"), theoretical_peak(host, "fp64")
    assert isinstance(single, Figure)
    assert isinstance(double, Figure)
    assert (single.value, double.value) == (1.28e12, 0.64e12)
    wide = theoretical_peak(dataclasses.replace(host, features=("fma", "avx512f")), "fp32")
    assert isinstance(wide, Figure)
    assert wide.value == 2.56e12


def test_no_peak_where_the_clock_is_unknown() -> None:
    host = known_clock(this_host())
    assert "virtual machine" in str(theoretical_peak(dataclasses.replace(host, virtual=True), "fp32"))
    assert "clock" in str(theoretical_peak(dataclasses.replace(host, clock=None), "fp32"))
    assert "SIMD" in str(theoretical_peak(dataclasses.replace(host, features=()), "fp32"))
