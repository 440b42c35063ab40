"""Names of machines as people write them, and the long tail's figures against datasheets."""

import csv
from importlib import resources

import pytest

from whygpu import predict
from whygpu.predict.counts import mixture, split_count
from whygpu.predict.longtail import family
from whygpu.predict.measurements import unresolved_devices


@pytest.mark.parametrize(
    ("typed", "name", "bandwidth"),  # GB/s of the makers' own pages
    [
        ("4090", "GeForce RTX 4090", 1008),
        ("RTX 4090 Laptop", "GeForce RTX 4090 Mobile", 576),
        ("NVIDIA GeForce RTX 3070 Ti", "GeForce RTX 3070 Ti", 608.3),
        ("h100 sxm", "H100 SXM5 80GB", 3350),
        ("A100 80GB", "A100 SXM4 80GB", 2039),
        ("NVIDIA A100-PCIE-40GB", "A100 PCIe 40 GB", 1555),
        ("7900xtx", "Radeon RX 7900 XTX", 960),
        ("rx 6800 xt", "Radeon RX 6800 XT", 512),
        ("Intel Arc B580", "Arc B580", 456),
        ("M2 Ultra 76-core", "M2 Ultra", 819.2),
        ("Apple M3 Max (30-core GPU)", "M3 Max (30-core GPU)", 300),
        ("M4 Max", "M4 Max", 546),
        ("Tesla P40", "Tesla P40", 347),
        ("Ryzen 9 5950X", "Ryzen 9 5950X", 51.2),
        ("i5-12400F", "Core i5-12400", 51.2),
        ("EPYC 9554", "EPYC 9554", 460.8),
        ("Radeon 780M", "Radeon 780M (Ryzen 7840HS)", 89.6),
        ("Strix Halo", "Ryzen AI Max+ 395 (Strix Halo)", 256),
        ("DGX Spark", "DGX Spark (GB10)", 273),
        ("Raspberry Pi 5 8GB", "Raspberry Pi 5 (BCM2712)", 17.1),
        ("RTX PRO 6000 Blackwell Max-Q", "RTX PRO 6000 Blackwell Max-Q", 1792),
        ("gtx 1660 super", "GeForce GTX 1660 SUPER", 336),
        ("TITAN V", "TITAN V", 652.8),
        ("MI300X", "Instinct MI300X", 5300),
    ],
)
def test_names(typed: str, name: str, bandwidth: float) -> None:
    machine = predict.hardware(typed)
    assert machine.name == name
    assert machine.bandwidth.value / 1e9 == pytest.approx(bandwidth, rel=0.03)


def test_counts_and_mixtures() -> None:
    assert split_count("2x A100 80GB") == (2, "A100 80GB")
    assert split_count("4 × RTX 3090") == (4, "RTX 3090")
    assert split_count("RTX 3090 x2") == (2, "RTX 3090")
    assert split_count("7900xtx") == (1, "7900xtx")
    assert mixture("RTX 4090 + RTX 3090 Ti") == ["RTX 4090", "RTX 3090 Ti"]


def test_variants_are_other_chips() -> None:
    names = {
        predict.hardware(n).name
        for n in ("RTX 4070", "RTX 4070 Ti", "RTX 4070 SUPER", "RTX 4070 Ti SUPER", "RTX 4070 Laptop")
    }
    assert len(names) == 5


def test_families() -> None:
    known = {"4090": "Ada Lovelace", "3090": "Ampere", "M2 Max": "Apple M2", "GTX 1660": "Turing GTX",
    "5090": "Blackwell 2.0",
             "Ryzen 9 7950X": "CPU AVX2", "RX 7800 XT": "RDNA 3.0", "H200": "Hopper"}  # fmt: skip
    assert {name: family(predict.hardware(name)) for name in known} == known


def test_every_machine_makes_sense() -> None:
    machines = predict.machines()
    assert len(machines) > 1400
    for machine in machines.values():
        assert 0.5e9 < machine.bandwidth.value < 3e16
        assert machine.bandwidth.source
        half, single = machine.flops.get("fp16"), machine.flops.get("fp32")
        if half and single and machine.kind != "npu":
            assert 0.015 <= half.value / single.value <= 64


def test_every_measured_device_has_an_entry_or_a_reason() -> None:
    folder = resources.files("whygpu.predict").joinpath("data/measurements")
    devices = {
        row["device"]
        for row in csv.DictReader(folder.joinpath("llm_speed.csv").read_text("utf-8").splitlines())
    }
    left = dict(unresolved_devices())
    assert len(devices & set(left)) <= 4  # a cloud share of a processor, a cluster, two that are not stated
    assert all("hardware" in why for why in left.values())
