"""The engine's threads: all of them work, they meet, and their failures come home."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from whygpu import engine
from whygpu.engine.jit import kernel
from whygpu.engine.sync import wait


@kernel
def _meet(rank, size, barrier, steps, wrong):  # type: ignore[no-untyped-def]
    """Every thread writes, all meet, every thread checks what the others wrote."""
    for step in range(steps.shape[1]):
        steps[rank, step] = step + 1
        wait(barrier, size)
        for other in range(size):
            if steps[other, step] != step + 1:
                wrong[rank] += 1
        wait(barrier, size)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_barrier_holds_everybody(size: int) -> None:
    steps = np.zeros((size, 500), np.int64)
    wrong = np.zeros(size, np.int64)
    engine.team(size).run(_meet, steps, wrong)
    assert (steps == np.arange(1, 501)).all()
    assert not wrong.any()


def test_two_users_take_turns() -> None:
    """Two Python threads drawing and thinking at once must not meet at each other's barrier."""
    results = [np.zeros((2, 300), np.int64) for _ in range(4)]
    wrongs = [np.zeros(2, np.int64) for _ in range(4)]
    users = [
        threading.Thread(target=engine.team(2).run, args=(_meet, steps, wrong))
        for steps, wrong in zip(results, wrongs, strict=True)
    ]
    for user in users:
        user.start()
    for user in users:
        user.join(timeout=60)
    assert all((steps == np.arange(1, 301)).all() for steps in results)
    assert not np.array(wrongs).any()


def test_a_failure_in_any_thread_comes_home_and_the_team_lives_on() -> None:
    def fails(rank: int, size: int, barrier: np.ndarray) -> None:
        if rank == 1:
            raise ValueError("rank one fails")

    team = engine.team(2)
    with pytest.raises(ValueError, match="rank one fails"):
        team.run(fails)
    seen = np.zeros(2)

    def works(rank: int, size: int, barrier: np.ndarray) -> None:
        seen[rank] = size

    team.run(works)
    assert (seen == 2).all()


def test_thread_count_respects_affinity() -> None:
    program = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
        "from whygpu import engine; print(engine.available_threads())"
    )
    if sys.platform != "linux":
        pytest.skip("affinity is set here as Linux does")
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "1"


def test_kernels_work_without_a_writable_cache(tmp_path) -> None:  # type: ignore[no-untyped-def]
    program = "from whygpu.engine.jit import cache_folder, kernel\nimport sys; print(cache_folder())\n"
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    out = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "WHYGPU_CACHE": str(blocked)},
    )
    assert "whygpu-kernels-" in out.stdout
