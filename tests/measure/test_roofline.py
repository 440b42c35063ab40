"""The roofline: its rules, its cache, its flags."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from whygpu.engine import Basis, UserError, available_threads
from whygpu.measure import Machine, Roofline, Timing, probe, roofline, this_host
from whygpu.measure.bandwidth import BUFFERS, buffer_bytes, thread_counts
from whygpu.measure.probe import cache_file, flags_of, load, save
from whygpu.measure.processor import Cache
from whygpu.measure.rates import Rate
from whygpu.measure.streams import KernelStreams, NumpyStreams, Streams

MASK = (1 << 64) - 1


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Roofline:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHYGPU_CACHE", str(tmp_path_factory.mktemp("cache")))
        return roofline(quick=True)


def splitmix64(x: int) -> int:
    """The finaliser in Python's whole numbers."""
    z = x * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


@pytest.mark.parametrize("kind", [KernelStreams, NumpyStreams])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [7, 8, 1000, 100_003])
def test_streams_do_what_they_say(kind: type[KernelStreams | NumpyStreams], threads: int, n: int) -> None:
    streams: Streams = kind(threads)
    one, two, three = (np.zeros(n, np.uint64) for _ in range(3))
    for seed, words in enumerate((one, two)):
        streams.fill(words, seed)
    for i in (0, 1, n // 2, n - 1):
        assert int(one[i]) == splitmix64(i) & 0x007FFFFF007FFFFF | 0x3F8000003F800000
    floats = one.view(np.float32)
    assert floats.min() >= 1
    assert floats.max() < 2
    assert streams.read(one) == sum(map(int, one)) & MASK
    streams.triad(three, one, two)
    expected = one.view(np.float32) + np.float32(0.25) * two.view(np.float32)
    # one rounding more or less where the compiler fuses is not wanted either: strict arithmetic
    np.testing.assert_array_equal(three.view(np.float32), expected)
    streams.copy(three, one)
    np.testing.assert_array_equal(three, one ^ np.uint64(1))
    streams.read_again(np.zeros((threads, 64), np.uint64), 3)


def test_the_data_is_random() -> None:
    words = np.zeros(1 << 15, np.uint64)
    KernelStreams(1).fill(words, 5)
    floats = words.view(np.float32)
    assert len(np.unique(floats)) > 0.99 * floats.size
    assert abs(floats.mean() - 1.5) < 0.01  # uniform in [1, 2): standard error 0.0011
    assert abs(floats.std() - 12**-0.5) < 0.01


def test_thread_counts() -> None:
    assert [thread_counts(n) for n in (1, 2, 3, 8, 12)] == [
        [1], [1, 2], [1, 2, 3], [1, 2, 4, 8], [1, 2, 4, 8, 12],
    ]  # fmt: skip


@pytest.mark.parametrize(("cache_mib", "memory_gib"), [(8, 16), (32, 24), (384, 768), (1, 1)])
def test_buffers_obey_both_rules(cache_mib: int, memory_gib: int) -> None:
    host = dataclasses.replace(
        this_host(), caches=(Cache(3, cache_mib << 20, 1),), memory=memory_gib << 30, memory_limit=None
    )
    size, flags = buffer_bytes(host)
    if memory_gib == 1:  # three buffers of 64 MiB do not go into an eighth of 1 GiB
        assert [flag.code for flag in flags] == ["buffer-small"]
    else:
        assert flags == []
        assert size >= 4 * (cache_mib << 20)
    assert BUFFERS * size <= (memory_gib << 30) // 8


def test_buffers_where_nothing_is_known() -> None:
    size, flags = buffer_bytes(
        dataclasses.replace(this_host(), caches=(), memory=64 << 30, memory_limit=None)
    )
    assert size == 256 << 20
    assert [flag.code for flag in flags] == ["cache-unknown"]


def test_every_figure_is_there_and_in_order(quick: Roofline) -> None:
    for name in ("read", "copy", "triad", "gemv", "gemm"):
        assert quick.all(name), name
    assert {rate.dtype for rate in quick.all("gemm")} == {"fp32", "fp64"}
    assert {rate.threads for rate in quick.all("read")} == {1, available_threads()}
    for rate in quick.rates:
        t = rate.timing
        assert 0 < t.minimum <= t.q1 <= t.median <= t.q3 <= t.maximum
        assert rate.best_bandwidth >= rate.bandwidth > 0
    assert {launch.name for launch in quick.launches} == {"numpy", "matmul", "team"}
    assert all(launch.chain >= 20 and launch.timing.minimum > 0 for launch in quick.launches)


def test_work_by_exact_arithmetic(quick: Roofline) -> None:
    gemm = quick.best("gemm", "float32")
    m, n, k = gemm.shape
    assert gemm.flop == 2 * m * n * k
    assert gemm.bytes == 4 * (m * k + k * n + m * n)
    gemv = quick.best("gemv")
    rows, columns = gemv.shape
    assert gemv.flop == 2 * rows * columns
    assert gemv.bytes == 4 * (rows * columns + rows + columns)
    (size,) = quick.best("read").shape
    counts = [(r.bytes // size, r.traffic // size) for r in map(quick.best, ("read", "copy", "triad"))]
    assert counts == [(1, 1), (2, 3), (3, 4)]  # STREAM's count, and with write-allocate
    assert quick.best("triad").flop == 2 * size // 4


def test_buffers_of_this_machine(quick: Roofline) -> None:
    (size,) = quick.best("read").shape
    assert size * BUFFERS * 8 <= quick.host.usable_memory
    if quick.host.last_level and "buffer-small" not in {flag.code for flag in quick.flags}:
        assert size >= 4 * quick.host.last_level
        rows, columns = quick.best("gemv").shape
        assert 4 * rows * columns >= 4 * quick.host.last_level


def test_it_ends_in_time(quick: Roofline) -> None:
    assert quick.seconds < 15  # 6 by itself; other tests run meanwhile


def test_as_machine(quick: Roofline) -> None:
    machine = quick.as_machine()
    assert isinstance(machine, Machine)
    assert machine.kind == "cpu"
    assert machine.bandwidth.basis == Basis.MEASURED
    assert machine.peak("float32").value == max(rate.best_flops for rate in quick.all("gemm", "fp32"))
    assert machine.peak("fp32").value > machine.peak("fp64").value * 0.8
    assert quick.ridge("fp32") == machine.peak("fp32").value / machine.bandwidth.value
    assert quick.read_bandwidth == machine.bandwidth.value
    with pytest.raises(UserError, match="no published peak for fp8"):
        machine.peak("fp8")
    with pytest.raises(UserError, match="was not measured"):
        quick.best("gemm", "fp8")


def test_the_cache_goes_round(quick: Roofline, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    save(path, quick)
    kept = load(path, quick.host)
    assert kept == quick
    assert kept is not None
    assert json.dumps(kept.as_dict()) == json.dumps(quick.as_dict())


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": 1}', '{"format": 99, "roofline": {}}', "\x00"]
)
def test_a_corrupt_cache_is_ignored(text: str, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text(text)
    assert load(path, this_host()) is None
    assert load(tmp_path / "none.json", this_host()) is None


def test_a_cache_with_wrong_values_is_ignored(quick: Roofline, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    for damage in ("rates", "launches", "host", "taken_at"):
        values = {"format": 1, "roofline": quick.as_dict() | {damage: [{"name": "read"}]}}
        path.write_text(json.dumps(values))
        assert load(path, quick.host) is None, damage
    other = dataclasses.replace(quick.host, cpu="another")
    save(path, quick)
    assert load(path, other) is None


def test_a_disturbed_result_is_not_kept_for_long(quick: Roofline, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    busy = (probe.Flag("busy", "others"),)
    save(path, dataclasses.replace(quick, flags=busy, taken_at="2020-01-01T00:00:00+00:00"))
    assert load(path, quick.host) is None
    save(path, dataclasses.replace(quick, flags=(), taken_at="2020-01-01T00:00:00+00:00"))
    assert load(path, quick.host) is not None


def test_a_kept_result_is_returned(quick: Roofline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYGPU_CACHE", str(tmp_path))
    host = this_host()
    save(cache_file(host, quick=True, threads=host.threads), dataclasses.replace(quick, flags=()))
    assert roofline(quick=True).taken_at == quick.taken_at
    full = dataclasses.replace(quick, quick=False, flags=(), taken_at="2026-01-01T00:00:00+00:00")
    save(cache_file(host, quick=False, threads=host.threads), full)
    assert roofline(quick=True) == full  # the better one serves


@pytest.mark.parametrize("threads", [0, -1, 10**6])
def test_impossible_threads(threads: int) -> None:
    with pytest.raises(UserError, match="threads"):
        roofline(threads=threads)


def gemm(gflops: float, spread: float = 0.0) -> Rate:
    seconds = 2e9 / (gflops * 1e9)
    timing = Timing(seconds, seconds, seconds * (1 + spread), seconds, seconds * (1 + spread), 9, True)
    return Rate("gemm", "fp32", 8, (1000, 1000, 1000), 2 * 10**9, 12 * 10**6, 12 * 10**6, timing)


def test_a_result_above_the_peak_is_flagged() -> None:
    host = dataclasses.replace(
        this_host(), virtual=False, clock=5.0e9, cores=8, threads=8, features=("avx2", "fma")
    )  # 1,280 GFLOP/s
    assert flags_of(host, [gemm(1279)]) == []
    (flag,) = flags_of(host, [gemm(1300)])
    assert flag.code == "above-peak"
    assert "1300 GFLOP/s, above 1280" in flag.text
    (unsteady,) = flags_of(host, [gemm(1000, spread=0.3)])
    assert unsteady.code == "unsteady"


def test_an_unknown_peak_is_said() -> None:
    (flag,) = flags_of(dataclasses.replace(this_host(), virtual=True), [gemm(9999)])
    assert flag.code == "peak-unknown"
    assert "virtual machine" in flag.text
