"""The device's roofline, the experiments side by side, the fit of a link, and what the doctor says."""

import json

import pytest
from rich.cells import cell_len

from whygpu import engine
from whygpu.engine.basis import Basis
from whygpu.measure.device import DeviceRate, DeviceRoofline
from whygpu.measure.links import Link, Transfer, fit, kept_links
from whygpu.measure.machine import Figure
from whygpu.measure.side_by_side import HEADS, VERTICES, rows
from whygpu.measure.stack import compute_capabilities, tensor_cores
from whygpu.measure.timing import summary


def test_alpha_and_beta_are_found_again() -> None:
    alpha, bandwidth = 25e-6, 12.5e9
    sizes = [4 * 8**power for power in range(8)]
    exact = [Transfer("all-reduce", n, n, alpha + n / bandwidth, alpha + n / bandwidth, 9) for n in sizes]
    link = fit("all-reduce", exact, 2)
    assert link.alpha.value == pytest.approx(alpha, rel=1e-6)
    assert link.bandwidth.value == pytest.approx(bandwidth, rel=1e-6)
    assert link.error == pytest.approx(0, abs=1e-9)
    assert link.seconds(12.5e9) == pytest.approx(1 + alpha)
    assert link.alpha.basis is Basis.FITTED
    # a fit that noise would make impossible stays possible
    odd = [Transfer("x", n, n, s, s, 9) for n, s in ((4, 1e-6), (32, 9e-6), (256, 1e-3), (2048, 8e-3))]
    assert fit("x", odd, 2).alpha.value > 0


def test_a_damaged_file_is_no_link(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "links.json"
    for text in ("", "{}", '{"format": 1, "links": {}}', '{"format": 1, "links": {"ranks": 2}}', "[" * 9999):
        path.write_text(text)
        assert kept_links(path) is None
    Link("all-reduce", Figure(1e-5, Basis.FITTED, "x"), Figure(1e9, Basis.FITTED, "x"), 0.0)


def test_a_device_becomes_a_machine() -> None:
    def rate(name: str, dtype: str, side: int, seconds: float) -> DeviceRate:
        return DeviceRate(name, dtype, (side,) * 3, 2 * side**3, 4 * side, summary([seconds, 2 * seconds]))

    found = DeviceRoofline(
        "torch:cuda",
        "A card",
        "2026-01-01",
        (
            rate("gemm", "fp32", 1000, 1e-3),
            rate("gemm", "fp32", 2000, 4e-3),
            rate("gemm", "bf16", 1000, 1e-4),
            rate("read", "fp32", 250, 1e-6),
            rate("launch", "fp32", 4, 5e-6),
        ),
        {},
    )
    machine = found.as_machine()
    assert machine.peak("fp32").value == pytest.approx(4e12)  # the fastest repeat of the better side
    assert machine.peak("bfloat16").value == pytest.approx(2e13)
    assert machine.bandwidth.value == pytest.approx(1e9)
    assert machine.launch is not None
    assert machine.launch.value == 5e-6
    assert machine.kind == "gpu"
    assert {figure.basis for figure in machine.flops.values()} == {Basis.MEASURED}
    json.dumps(found.as_dict())


@pytest.mark.parametrize("name", ["numpy", "torch:cpu"])
def test_the_same_work_on_every_device(name: str) -> None:
    if name == "torch:cpu":
        pytest.importorskip("torch")
    found = rows(engine.backend(name, threads=1), numbers=(2, 3), quick=True)
    by_name = {(row.experiment, row.name): row for row in found}
    assert by_name["2", "scores"].shape == (HEADS, 512, 512, 64)
    assert by_name["2", "scores"].flop == 2 * 512 * 512 * 768
    assert by_name["2", "FFN up"].flop == 2 * 512 * 768 * 3072
    assert by_name["3", "matmul"].flop == 2 * 1024**3
    assert by_name["3", "elementwise"].flop == 1024**2
    assert by_name["3", "elementwise"].bytes == 12 * 1024**2
    assert by_name["vertices", "vertex race"].shape == (1, VERTICES, 4, 4)
    products = [row for row in found if row.experiment == "2"][:8]
    # Q, K, V, out: 4 (512 x 768 x 768); scores, attention x V: 2 (512 x 512 x 768); FFN: 2 (512 x 768 x 3072)
    assert sum(row.flop for row in products) == 2 * 512 * 768 * (4 * 768 + 2 * 512 + 2 * 3072)
    for row in found:
        assert row.timing.minimum > 0


def test_tensor_cores_by_compute_capability() -> None:
    """As NVIDIA's CUDA guide lists them: none before Volta, 4th on Ada and Hopper, 5th on Blackwell."""
    assert compute_capabilities("8.9\n 12.0 \n[N/A]\n\n") == [(8, 9), (12, 0)]
    assert tensor_cores((6, 1)) is None
    for capability, generation in {
        (7, 0): "1",
        (7, 5): "2",
        (8, 0): "3",
        (8, 6): "3",
        (8, 9): "4",
        (9, 0): "4",
        (10, 0): "5",
        (12, 0): "5",
    }.items():
        assert tensor_cores(capability) == generation


def test_the_doctor(whygpu) -> None:  # type: ignore[no-untyped-def]
    done = whygpu("doctor", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    parts = {part["key"]: part for part in found["parts"]}
    import importlib.metadata

    for name in ("torch", "jax"):
        try:
            assert parts[name]["version"] == importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            assert not parts[name]["here"]
            assert name in found["install"][name]
    devices = {device["name"]: device for device in found["devices"]}
    assert devices["cpu"]["usable"]
    assert all(device["usable"] or device["reason"] for device in devices.values())
    assert found["auto"] in devices or found["auto"].partition(":")[0] in ("torch", "cupy")
    assert found["host"]["engine_threads"] == engine.available_threads()
    table = whygpu("doctor", "--lang", "zh").stdout
    assert "英伟达" in table
    assert all(cell_len(line) <= 100 for line in table.splitlines())
