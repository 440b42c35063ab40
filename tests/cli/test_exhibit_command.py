"""``whygpu exhibit`` as a user runs it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from PIL import Image

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_writes_an_animation_and_says_so(whygpu: Run, tmp_path: Path) -> None:
    target = tmp_path / "turn.webp"
    done = whygpu("exhibit", "rotation", "-o", str(target), "--size", "320x180", "--lang", "zh", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["bytes"] == target.stat().st_size and told["figures"]["flop"]["basis"] == "derived"
    with Image.open(target) as image:
        assert image.size == (320, 180) and image.n_frames == 72


def test_numbers_alone(whygpu: Run) -> None:
    done = whygpu("exhibit", "chips", "--chips", "M4 Max,H100 SXM", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["names"] == ["M4 Max", "H100 SXM5 80GB"]


def test_lists_all_in_both_languages(whygpu: Run) -> None:
    assert len(json.loads(whygpu("exhibit", "--list", "--json").stdout)) == 16
    table = whygpu("exhibit", "--list", "--lang", "zh").stdout
    assert "旋转" in table and max(map(len, table.splitlines())) <= 100


def test_bad_input_is_one_line(whygpu: Run, tmp_path: Path) -> None:
    cases = {
        ("exhibit", "rotatoin", "-o", "x.webp"): "did you mean rotation",
        ("exhibit", "cube"): "say where to",
        ("exhibit",): "give one NAME",
        ("exhibit", "cube", "-o", "x.bmp"): "rename the output",
    }
    for arguments, wanted in cases.items():
        done = whygpu(*arguments, cwd=tmp_path)
        assert done.returncode == 2 and wanted in done.stderr and len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
