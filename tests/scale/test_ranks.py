"""Two real ranks on gloo: the same words, shares of the weights, frames in order, one line of failure."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whygpu import engine, models, think
from whygpu.engine import ranks

pytest.importorskip("torch")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "think"))
import tiny_families  # noqa: E402

CASES = ("gpt2", "llama", "llama, multi-query", "llama, biases", "qwen2", "qwen3", "phi3", "gemma2", "gemma3",
         "mixtral", "qwen3-moe")  # fmt: skip
TOKENS = 12
REPLICATED = {"llama, multi-query", "mixtral", "qwen3-moe"}
"""Two ranks share one K/V head, or both multiply by the router."""


def launch(count: int, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """As torchrun does."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(count), *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ranks")
    (root / "models").mkdir()
    for number, case in enumerate(CASES):
        path = root / "models" / f"{number:02}{'.gguf' if number % 2 else ''}"  # both forms
        (tiny_families.write_gguf if number % 2 else tiny_families.write_folder)(case, path)
    return root


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, Any]:
    """What two ranks said, by case; one launch for all."""
    target = folder / "said.json"
    done = launch(2, str(HERE / "rank_work.py"), str(folder / "models"), str(target), "numpy", str(TOKENS))
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(target.read_text())
    return {case: value for case, (_, value) in zip(CASES, sorted(found["models"].items()), strict=True)} | {
        "frames": found["frames"],
        "links": found["links"],
    }


@pytest.mark.parametrize("case", CASES)
def test_two_ranks_say_what_one_process_says(folder: Path, said: dict[str, Any], case: str) -> None:
    path = sorted((folder / "models").iterdir())[CASES.index(case)]
    model = think.load(path, backend=engine.backend("numpy", threads=1))
    with engine.ledger() as ledger:
        alone = think.generate(model, "Matrices make pictures", max_tokens=TOKENS, chat=False)
        list(alone)
    both = said[case]
    assert both["ids"] == [alone.ids, alone.ids]
    # what each holds: a half, and the vectors (and GPT-2's positions) twice
    whole = 4 * model.architecture.parameters
    positions = 4 * 256 * 64 if case == "gpt2" else 0
    assert max(both["bytes"]) <= (whole - positions) * 0.53 + positions
    assert sum(both["bytes"]) >= whole
    # together they multiply what one does, but for what both must do
    flop = ledger.totals("think").flop
    assert both["flop"] == flop if case not in REPLICATED else flop < both["flop"] < 1.1 * flop
    # one sum for attention and one for the MLP a block and pass, bytes by the ring's formula
    a, tokens = model.architecture, len(alone.prompt_ids) + len(alone.ids) - 1  # phi3 ends early
    sums = both["communication"]
    for name in ("attention", "MLP"):
        assert sums[f"all-reduce, {name}"] == 2 * a.layers * tokens * a.d_model * 4
    assert sums["all-reduce, embedding"] == 2 * tokens * a.d_model * 4
    assert sums["all-gather, head"] == len(alone.ids) * a.vocab * 4


def test_frames_are_shared_and_come_in_order(said: dict[str, Any]) -> None:
    from whygpu import draw

    sys.path.insert(0, str(HERE))
    import rank_work

    assert said["frames"]["drawn"] == [3, 2]  # of five frames
    for got, camera in zip(said["frames"]["sha"], rank_work.cameras(5), strict=True):
        frame = draw.render(draw.load("cube"), (64, 48), camera=camera, path="portable", backend="numpy")
        assert got == rank_work.digest(frame)


def test_links_between_two_ranks(said: dict[str, Any]) -> None:
    links = said["links"]
    assert [link["kind"] for link in links["links"]] == ["all-reduce", "all-gather", "point-to-point"]
    for link in links["links"]:
        assert link["alpha"]["basis"] == link["bandwidth"]["basis"] == "fitted"
        assert 0 < link["alpha"]["value"] < 0.1
        assert link["bandwidth"]["value"] > 1e6
    assert {transfer["kind"]: 0 for transfer in links["transfers"]} == dict.fromkeys(
        ("all-reduce", "all-gather", "point-to-point"), 0
    )
    for transfer in links["transfers"]:
        assert transfer["sent"] == transfer["size"]  # of two ranks: 2 (2 - 1) / 2, 2 - 1, 1
        assert 0 < transfer["fastest"] <= transfer["seconds"]


def test_the_command_among_ranks(folder: Path) -> None:
    path = str(sorted((folder / "models").iterdir())[1])
    done = launch(
        2, "-m", "whygpu", "think", "Hello", "--model", path, "--raw", "-n", "5", "--ledger", "--json"
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout)  # one rank speaks
    alone = think.generate(think.load(path, path="portable"), "Hello", max_tokens=5, chat=False)
    list(alone)
    assert answer["text"] == alone.text
    sent = [row for row in answer["ledger"] if row["name"].startswith("all-")]
    assert {row["bound"] for row in sent} == {"ranks"}
    assert {row["stage"] for row in sent} == {"prefill", "decode"}


def test_a_rank_that_dies_ends_the_job(tmp_path: Path) -> None:
    target = tmp_path / "pids"
    program = (
        "import os, sys, time, signal, pathlib\n"
        "import numpy as np\n"
        "from whygpu import engine\n"
        "from whygpu.cli.failures import one_clear_line\n"
        "from whygpu.engine import ranks\n"
        "here = ranks.join(engine.backend('numpy', threads=1))\n"
        "if here.rank == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "with one_clear_line():\n"
        "    for _ in range(100):\n"
        "        here.sum(np.ones(4, np.float32), 'test')\n"
    )
    (tmp_path / "dies.py").write_text(program)
    started = time.monotonic()
    done = launch(2, str(tmp_path / "dies.py"))
    assert time.monotonic() - started < 30
    assert done.returncode != 0
    assert f"exitcode  : -{signal.SIGKILL.value}" in done.stderr
    assert "rank      : 1" in done.stderr
    assert not target.exists()


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        (
            {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"},
            "met nobody at 127.0.0.1:1",
        ),
        ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_PORT": "1"}, "MASTER_ADDR is not set"),
        (
            {"RANK": "0", "WORLD_SIZE": "two", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"},
            "WORLD_SIZE is 'two'",
        ),
        (
            {"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"},
            "RANK is 2 of WORLD_SIZE 2",
        ),
    ],
)
def test_ranks_that_cannot_meet(environment: dict[str, str], line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "whygpu", "think", "Hi", "-n", "1"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "WHYGPU_RANKS_PATIENCE": "1", **environment},
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert line in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_shares_of_a_row() -> None:
    for count in (0, 1, 5, 96, 49152):
        for size in (1, 2, 3, 7):
            parts = [ranks.bounds(count, rank, size) for rank in range(size)]
            assert parts[0][0] == 0
            assert parts[-1][1] == count
            assert all(a[1] == b[0] for a, b in itertools.pairwise(parts))
            assert max(b - a for a, b in parts) - min(b - a for a, b in parts) <= 1


def test_alone_nothing_is_shared() -> None:
    assert ranks.here().size == 1
    array = np.ones(3)
    assert ranks.here().sum(array, "x") is array
    assert ranks.here().gather(array, (3,), "x") is array
    assert list(ranks.share([1, 2, 3], lambda x: x * x)) == [1, 4, 9]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_shares_of_a_model_are_the_model(folder: Path, size: int) -> None:
    """Every weight array from its parts, for counts of heads that divide and that do not."""
    from whygpu.think.parallel import Share

    for path in sorted((folder / "models").iterdir()):
        checkpoint = models.open_checkpoint(path)
        a = checkpoint.architecture
        for name in a.tensors():
            parts = [Share(a, rank, size).part(name) for rank in range(size)]
            whole = checkpoint.array(name)
            if parts[0] is None:
                continue
            if parts[0] == parts[-1]:  # one K/V head for all
                continue
            cut = [p for p in parts if p[2] > p[1]]
            axis = cut[0][0]
            rows = {p[1:] for p in cut}  # ranks may share a K/V head
            joined = np.concatenate([checkpoint.part(name, axis, *row) for row in sorted(rows)], axis=axis)
            np.testing.assert_array_equal(joined, whole, err_msg=f"{path} {name}")


def test_a_share_of_quantised_rows_begins_within_a_block() -> None:
    """Columns that no block begins at: from a real Q4_1 file where one is at hand."""
    try:
        checkpoint = models.open_checkpoint(models.locate(models.DEFAULT))
    except models.Unavailable as error:
        pytest.skip(str(error))
    whole = checkpoint.array("0.down")  # (576, 1536)
    np.testing.assert_array_equal(checkpoint.part("0.down", 1, 500, 777), whole[:, 500:777])
    np.testing.assert_array_equal(checkpoint.part("0.down", 0, 3, 9), whole[3:9])


def test_a_film_among_ranks_has_the_bytes_of_one_process(tmp_path: Path) -> None:
    film = ["draw", "cube", "--turntable", "--frames", "5", "--size", "64x48", "--path", "portable"]
    done = launch(2, "-m", "whygpu", *film, "-o", str(tmp_path / "two.apng"))
    assert done.returncode == 0, done.stderr[-3000:]
    command = [sys.executable, "-m", "whygpu", *film, "-o", str(tmp_path / "one.apng")]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert (tmp_path / "two.apng").read_bytes() == (tmp_path / "one.apng").read_bytes()
