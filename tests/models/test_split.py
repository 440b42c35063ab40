"""A GGUF file in several parts, as the gguf package splits it; whatever does not agree is refused."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from whygpu.engine import UserError
from whygpu.models.split import SplitGguf, read_whole


def write(path: Path, *, small_first: bool = False) -> dict[str, Any]:
    """Five tensors, two a part (the first part with metadata alone, if asked for)."""
    writer = gguf.GGUFWriter(path, "llama", split_max_tensors=2, small_first_shard=small_first)
    writer.add_string("general.name", "split")
    arrays = {f"t{i}": np.full(32, i, np.float32) for i in range(5)}
    for name, array in arrays.items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return arrays


def part(folder: Path, number: int, count: int = 3) -> Path:
    return folder / f"m-{number:05}-of-{count:05}.gguf"


@pytest.mark.parametrize("small_first", [False, True])
def test_parts_are_one(tmp_path: Path, small_first: bool) -> None:
    arrays = write(tmp_path / "m.gguf", small_first=small_first)
    count = 4 if small_first else 3
    file = read_whole(part(tmp_path, 1, count))
    assert isinstance(file, SplitGguf)
    assert len(file.parts) == count
    assert file.value("general.name", str) == "split"
    assert set(file.tensors) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(file.raw(file.tensors[name]).view(np.float32), array)


def patch(path: Path, old: bytes, new: bytes) -> None:
    raw = path.read_bytes()
    assert raw.count(old) == 1
    path.write_bytes(raw.replace(old, new))


def key(name: str, kind: int, value: bytes) -> bytes:
    return name.encode() + kind.to_bytes(4, "little") + value


def test_what_does_not_agree_is_refused(tmp_path: Path) -> None:
    def fails(message: str, number: int = 1) -> None:
        with pytest.raises(UserError, match=message) as caught:
            read_whole(part(tmp_path, number))
        assert "\n" not in str(caught.value)

    write(tmp_path / "m.gguf")
    fails("is a later part of a split file; name the first, m-00001-of-00003.gguf", 2)
    second = part(tmp_path, 2)
    kept = second.read_bytes()

    second.unlink()
    fails("part 2 of 3 is missing; put it beside m-00001-of-00003.gguf")
    second.write_bytes(part(tmp_path, 3).read_bytes())
    fails("is not part 2 of 3, whatever its name says")
    second.write_bytes(kept)
    patch(second, b"t2", b"t0")
    fails("tensor 't0' is in m-00001-of-00003.gguf too")
    second.write_bytes(kept)
    patch(second, key("split.count", 2, b"\x03\0"), key("split.count", 2, b"\x04\0"))
    fails("is not part 2 of 3")
    second.write_bytes(kept)
    patch(second, key("split.tensors.count", 5, b"\x05\0\0\0"), key("split.tensors.count", 5, b"\x06\0\0\0"))
    fails("its parts hold 5 tensors; they claim 5 or 6 of all")
    second.write_bytes(kept[:200])
    fails("truncated")


def test_names_and_headers_must_agree(tmp_path: Path) -> None:
    write(tmp_path / "m.gguf")
    renamed = tmp_path / "renamed.gguf"
    part(tmp_path, 1).rename(renamed)
    with pytest.raises(UserError, match="its name says 1 parts, its header 3"):
        read_whole(renamed)
    renamed.rename(tmp_path / "m-00001-of-00002.gguf")
    with pytest.raises(UserError, match="its name says 2 parts, its header 3"):
        read_whole(tmp_path / "m-00001-of-00002.gguf")
    (tmp_path / "m-00001-of-00002.gguf").rename(tmp_path / "m-00009-of-00003.gguf")
    with pytest.raises(UserError, match="part 00009 of 00003 cannot be"):
        read_whole(tmp_path / "m-00009-of-00003.gguf")
    (tmp_path / "m-00009-of-00003.gguf").rename(tmp_path / "m-00001-of-99999.gguf")
    with pytest.raises(UserError, match="part 00001 of 99999 cannot be"):
        read_whole(tmp_path / "m-00001-of-99999.gguf")
