"""The header reader: reads what the gguf package writes, refuses everything else in one line."""

import os
import time
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf_bytes import HOSTILE, entry, header, tensor, text

from whygpu.engine import UserError
from whygpu.models.checkpoint import open_checkpoint
from whygpu.models.gguf import read_gguf
from whygpu.models.quants import dequantise


def write(path: Path, alignment: int | None = None) -> dict[str, np.ndarray]:
    """A file with every kind of value and several types of tensors, by the gguf package."""
    writer = gguf.GGUFWriter(path, "llama")
    if alignment:
        writer.add_custom_alignment(alignment)
    writer.add_uint32("a.u32", 7)
    writer.add_int64("a.i64", -(2**40))
    writer.add_float64("a.f64", 0.1)
    writer.add_bool("a.bool", True)
    writer.add_string("a.text", "矩阵 ✓")
    writer.add_array("a.texts", ["x", "", "yz"])
    writer.add_array("a.numbers", [1, -2, 3])
    values = np.random.default_rng(0).standard_normal((6, 64)).astype(np.float32)
    tensors = {"plain": values, "half": values.astype(np.float16), "vector": values[0].copy()}
    for name, array in tensors.items():
        writer.add_tensor(name, array)
    quantised = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("q8", quantised, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensors["q8"] = gguf.quants.dequantize(quantised, gguf.GGMLQuantizationType.Q8_0)
    return tensors


@pytest.mark.parametrize("alignment", [None, 64])
def test_reads_what_the_gguf_package_writes(tmp_path: Path, alignment: int | None) -> None:
    path = tmp_path / "a.gguf"
    tensors = write(path, alignment)
    file = read_gguf(path)
    m = file.metadata
    assert (m["a.u32"], m["a.i64"], m["a.f64"], m["a.bool"]) == (7, -(2**40), 0.1, True)
    assert (m["a.text"], m["a.texts"], list(m["a.numbers"])) == ("矩阵 ✓", ["x", "", "yz"], [1, -2, 3])
    assert set(file.tensors) == set(tensors)
    for name, expected in tensors.items():
        assert file.tensors[name].shape == expected.shape
        np.testing.assert_array_equal(dequantise(file, file.tensors[name]), expected.astype(np.float32))


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_in_one_line(tmp_path: Path, case: str) -> None:
    content, message = HOSTILE[case]
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    started = time.perf_counter()
    with pytest.raises(UserError, match=message) as caught:
        read_gguf(path)
    assert time.perf_counter() - started < 1.0
    line = str(caught.value)
    assert line.startswith(str(path))
    assert "\n" not in line


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_gguf(tmp_path / "none.gguf")
    with pytest.raises(UserError, match="is a folder"):
        read_gguf(tmp_path)


def test_deadline(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    write(path)
    with pytest.raises(UserError, match="takes too long"):
        read_gguf(path, deadline=-1.0)


def test_version_2_is_read(tmp_path: Path) -> None:
    path = tmp_path / "v2.gguf"
    path.write_bytes(header(version=2, tensors=tensor(), number=1, data=bytes(128)))
    assert read_gguf(path).tensors["t"].shape == (32,)


def test_unsupported_things_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    architecture = entry("general.architecture", 8, text("mamba"))
    path.write_bytes(header(architecture, 1))
    with pytest.raises(UserError, match="'mamba' is not supported; supported: "):
        open_checkpoint(path)
    path.write_bytes(header(entry("general.architecture", 8, text("llama")), 1))
    with pytest.raises(UserError, match=r"lacks llama.block_count"):
        open_checkpoint(path)
    path.write_bytes(header(tensors=tensor(dims=(256,), kind=16), number=1, data=bytes(96)))
    file = read_gguf(path)
    with pytest.raises(UserError, match="stored as IQ2_XXS, which is not supported; supported: F32"):
        dequantise(file, file.tensors["t"])


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(UserError, match="is not a regular file"):
            read_gguf(path)


def test_long_vocabularies_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "long.gguf"
    words = [f"w{i}é" for i in range(10_000)]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_array("words", words)
    writer.add_string("after", "end")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    metadata = read_gguf(path).metadata
    assert metadata["words"] == words
    assert metadata["after"] == "end"
