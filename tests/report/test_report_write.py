"""The report folder: everything whole, or one clear line and nothing half-written."""

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whygpu import report
from whygpu.engine import UserError

Make = Callable[..., Any]


def test_folder_is_made_and_holds_everything(
    tmp_path: Path, make_results: Make, pictures: dict[str, bytes]
) -> None:
    folder = tmp_path / "new" / "report"
    path = report.write(make_results(), folder, language="zh", images=pictures)
    assert path == folder / "report.html"
    assert {p.name for p in folder.iterdir()} == {"report.html", "results.json", "cube.png", "character.png"}
    assert json.loads((folder / "results.json").read_text("utf-8")) == make_results().model_dump(mode="json")
    assert (folder / "cube.png").read_bytes() == pictures["cube.png"]
    assert path.read_text("utf-8").lstrip().startswith("<!DOCTYPE html>")


def test_second_run_replaces_the_first(tmp_path: Path, make_results: Make) -> None:
    report.write(make_results(quick=True), tmp_path, language="en", images={})
    path = report.write(make_results(quick=False), tmp_path, language="en", images={})
    assert "This was a quick run" not in path.read_text("utf-8")


def test_a_file_where_the_folder_should_be(tmp_path: Path, make_results: Make) -> None:
    (tmp_path / "taken").write_text("x")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "below"):
        with pytest.raises(UserError, match="a file stands where a folder is needed") as caught:
            report.write(make_results(), folder, language="en", images={})
        assert "\n" not in str(caught.value)
    assert (tmp_path / "taken").read_text() == "x"


def test_full_disk_leaves_nothing_half_written(
    tmp_path: Path, make_results: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match="the disk is full"):
        report.write(make_results(), tmp_path, language="en", images={})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../escape.png", "/etc/x.png", "a/b.png", "", ".hidden", "x" * 200, "a\x00.png"]
)
def test_a_picture_cannot_leave_the_folder(
    tmp_path: Path, make_results: Make, pictures: dict[str, bytes], name: str
) -> None:
    folder = tmp_path / "report"
    with pytest.raises(UserError, match="not a plain file name"):
        report.write(make_results(), folder, language="en", images={name: pictures["cube.png"]})
    assert not folder.exists()


@pytest.mark.parametrize("data", [b"", b"<svg onload=alert(1)>", b"\x89PNG\r\n\x1a\n" + b"x" * 3_000_000])
def test_what_is_no_picture_is_refused(tmp_path: Path, make_results: Make, data: bytes) -> None:
    with pytest.raises(UserError, match=r"picture 'cube\.png'"):
        report.write(make_results(), tmp_path / "report", language="en", images={"cube.png": data})
    assert not (tmp_path / "report").exists()
