"""Bad input gives one clear line on stderr and exit code 2; Ctrl-C gives 130."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


def assert_one_line(out: "subprocess.CompletedProcess[str]", *words: str) -> None:
    assert out.returncode == 2, out.stderr
    lines = out.stderr.strip().splitlines()
    assert len(lines) == 1, out.stderr
    assert lines[0].startswith("whygpu: ")
    for word in words:
        assert word in lines[0]
    assert out.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nonsense",), ("nonsense",)),
        (("--nonsense",), ("--nonsense", "--help")),
        (("--lang", "fr"), ("fr", "en", "zh")),
        (("--threads", "0"), ("--threads",)),
        (("--threads", "two"), ("two",)),
        (("--device", "gpu", "--no-draw", "--no-think"), ("gpu", "torch:<device>")),
        (("draw", "cub", "-o", "x.png"), ("cub", "cube")),
        (("draw", "cube"), ("--output",)),
        (("draw", "cube", "-o", "x.bmp"), ("x.bmp", ".png")),
        (("draw", "cube", "-o", "x.png", "--size", "0x10"), ("0x10",)),
        (("draw", "cube", "-o", "x.png", "--size", "big"), ("big", "1280x720")),
        (("draw", "cube", "-o", "x.png", "--size", "99999x99999"), ("99999x99999",)),
        (("draw", "sphere:99", "-o", "x.png"), ("99",)),
        (("think", ""), ("empty",)),
        (("think", "hi", "--model", "smolm2-135m"), ("smollm2-135m",)),
        (("think", "hi", "--model", "missing.gguf"), ("missing.gguf",)),
        (("think", "hi", "--temperature", "-1"), ("-1",)),
        (("hardware", "RTX 4O90"), ("RTX 4090",)),
        (("bench", "4"), ("4",)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_input(whygpu, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    assert_one_line(whygpu(*arguments, cwd=tmp_path), *words)
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_the_report_folder_should_be(whygpu, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "taken").write_text("mine")
    out = whygpu("--quick", "--no-think", "--out", "taken", cwd=tmp_path)
    assert_one_line(out, "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_an_unwritable_report_folder_is_refused_before_the_work(whygpu, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    started = time.perf_counter()
    out = whygpu("--quick", "--out", "/proc/whygpu-report", cwd=tmp_path)
    assert_one_line(out, "/proc/whygpu-report")
    assert time.perf_counter() - started < 5


def test_a_full_disk_leaves_nothing_half_written(whygpu, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "none", small], capture_output=True, check=False
    ).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        out = whygpu("draw", "sphere:5", "-o", str(small / "sphere.png"), cwd=tmp_path)
        assert_one_line(out, "sphere.png", "disk is full")
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)


def test_ctrl_c_ends_cleanly(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "whygpu", "--no-think", "--force"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "WHYGPU_CACHE": str(tmp_path / "cache"), "COLUMNS": "100"},
    )
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert not (tmp_path / "whygpu-report" / "report.html").exists()


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m whygpu models list --json | head -c 1"
    out = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"unset PYTHONUNBUFFERED; {command}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert "Traceback" not in out.stderr
    assert "BrokenPipe" not in out.stderr


def test_a_report_that_does_not_fit_on_the_disk_leaves_nothing(whygpu, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", small]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        out = whygpu("--quick", "--no-think", "--json", "--out", str(small), cwd=tmp_path)
        assert out.returncode == 2
        assert "disk is full" in out.stderr.strip().splitlines()[-1]
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_damaged_kernel_cache_is_compiled_again(whygpu, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    cache = {"WHYGPU_CACHE": str(tmp_path / "cache")}
    assert whygpu("draw", "cube", "-o", "a.png", cwd=tmp_path, **cache).returncode == 0
    indices, kernels = (sorted((tmp_path / "cache").rglob(pattern)) for pattern in ("*.nbi", "*.nbc"))
    assert indices
    assert kernels
    indices[0].write_bytes(b"")
    for path in kernels:
        path.write_bytes(b"not a kernel")
    again = whygpu("draw", "cube", "-o", "b.png", cwd=tmp_path, **cache)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "shift_jis"])
def test_a_terminal_that_lacks_characters_shows_question_marks(whygpu, tmp_path: Path, encoding: str) -> None:  # type: ignore[no-untyped-def]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "whygpu", "models", "list"]
    for extra in (["--lang", "zh"], ["--json"]):
        out = subprocess.run(
            [*command, *extra], capture_output=True, check=False, env=environment, cwd=tmp_path
        )
        assert out.returncode == 0, out.stderr
        assert b"smollm2-135m" in out.stdout


def test_more_threads_than_can_run_are_refused(whygpu, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert_one_line(
        whygpu("think", "hi", "--threads", "1000", cwd=tmp_path), "1000 threads cannot run at once"
    )


def test_a_device_that_computes_nothing_is_refused(whygpu, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("torch")
    out = whygpu("draw", "cube", "-o", "x.png", "--device", "torch:meta", cwd=tmp_path)
    assert_one_line(out, "torch:meta", "not usable")


@pytest.mark.parametrize("before", [("--lang", "zh"), ("--lang=zh",)])
def test_a_language_may_stand_before_the_command(whygpu, before: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    out = whygpu(*before, "hardware", "H100 SXM")
    assert out.returncode == 0, out.stderr
    assert out.stdout == whygpu("hardware", "H100 SXM", "--lang", "zh").stdout
