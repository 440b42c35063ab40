"""Files appear whole or not at all, and errors say what to do."""

import errno
from pathlib import Path

import pytest

from whygpu import engine
from whygpu.engine.files import explain_os_error, write_together, write_whole


def test_success_renames_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "new" / "result.txt"
    with write_whole(target) as place:
        place.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert [path.name for path in target.parent.iterdir()] == ["result.txt"]
    assert target.stat().st_mode & 0o444 == 0o444


def test_failure_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "result.txt"
    target.write_text("old")
    with pytest.raises(ValueError, match="half way"), write_whole(target) as place:
        place.write_text("half")
        raise ValueError("half way")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["result.txt"]


def test_a_full_disk_is_a_line_for_people() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    try:
        with full.open("w") as stream:
            stream.write("x" * 100_000)
    except OSError as error:
        assert error.errno == errno.ENOSPC
        assert "the disk is full" in str(explain_os_error(error, Path("report.html")))
    else:
        pytest.fail("/dev/full took it")


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    wanted = pytest.raises(engine.UserError, match="a file stands where a folder is needed")
    with wanted, write_whole(tmp_path / "file" / "report.html"):
        pass


def test_files_that_belong_together_appear_together(tmp_path: Path) -> None:
    write_together(tmp_path, {"a.txt": b"old", "b.txt": b"old"})
    (tmp_path / "c.txt").mkdir()
    with pytest.raises(engine.UserError, match=r"c\.txt: a folder stands where the file is to be written"):
        write_together(tmp_path, {"a.txt": b"new", "b.txt": b"new", "c.txt": b"new"})
    assert [(tmp_path / name).read_bytes() for name in ("a.txt", "b.txt")] == [b"old", b"old"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "c.txt"]
    write_together(tmp_path, {"a.txt": b"new", "b.txt": b"new"})
    assert (tmp_path / "a.txt").read_bytes() == b"new"
