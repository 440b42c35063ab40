"""The header reader: reads what the gguf package writes, refuses everything else in one line."""

import struct
import time
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
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


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def header(
    entries: bytes = b"",
    count: int = 0,
    tensors: bytes = b"",
    number: int = 0,
    version: int = 3,
    data: bytes = b"",
) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, number, count) + entries + tensors
    return head + bytes(-len(head) % 32) + data


def tensor(name: str = "t", dims: tuple[int, ...] = (32,), kind: int = 0, offset: int = 0) -> bytes:
    return (
        text(name)
        + struct.pack("<I", len(dims))
        + struct.pack(f"<{len(dims)}Q", *dims)
        + struct.pack("<IQ", kind, offset)
    )


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


HOSTILE = {
    "empty": (b"", "empty"),
    "other format": (b"PK\x03\x04" + bytes(40), "not a GGUF file"),
    "magic only": (b"GGUF", "truncated"),
    "version 1": (header(version=1), "version 1 is not supported; supported: 2, 3"),
    "byte-swapped": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "byte-swapped"),
    "huge count of entries": (header(count=2**63), "claims 9223372036854775808 metadata entries"),
    "huge count of tensors": (header(number=2**40), "claims 1099511627776 tensors"),
    "entries that are not there": (header(count=60_000), "truncated or lies"),
    "string of 2^63": (header(struct.pack("<Q", 2**63) + bytes(40), 1), "claims 9223372036854775808 bytes"),
    "string past the end": (header(struct.pack("<Q", 5000) + bytes(40), 1), "truncated or lies"),
    "array of 2^60 bytes": (header(entry("a", 9, struct.pack("<IQ", 0, 2**60)), 1), "truncated or lies"),
    # 43 bytes: an array of arrays whose count makes gguf 0.19 loop for years
    "array of arrays": (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a")[:9] + struct.pack("<IIQ", 9, 9, 2**62)[:10],
        "truncated",
    ),
    "nested": (header(entry("a", 9, struct.pack("<IQ", 9, 2) + bytes(99)), 1), "holds arrays"),
    "unknown value type": (header(entry("a", 13, bytes(30)), 1), "has type 13; GGUF defines 0 to 12"),
    "truth value 2": (header(entry("a", 7, b"\x02" + bytes(20)), 1), "a truth value is 0 or 1"),
    "key twice": (header(entry("a", 0, b"\x01") * 2 + bytes(20), 2), "twice"),
    "bad UTF-8": (header(entry("a", 8, struct.pack("<Q", 2) + b"\xff\xfe"), 1), "not valid UTF-8"),
    "alignment 3": (header(entry("general.alignment", 4, struct.pack("<I", 3)), 1), "power of two"),
    "alignment 0": (header(entry("general.alignment", 4, struct.pack("<I", 0)), 1), "power of two"),
    "alignment 2^31": (header(entry("general.alignment", 4, struct.pack("<I", 2**31)), 1), "power of two"),
    "dims of 2^42": (header(tensors=tensor(dims=(2**42 + 1,)), number=1), "each dimension must be"),
    "dims of 0": (header(tensors=tensor(dims=(0,)), number=1), "each dimension must be"),
    "product overflows": (header(tensors=tensor(dims=(2**40,) * 4), number=1), "truncated or lies"),
    "5 dims": (header(tensors=tensor(dims=(1,) * 5), number=1), "5 dimensions"),
    "unknown tensor type": (
        header(tensors=tensor(kind=99), number=1),
        "type 99, which is unknown; known: F32",
    ),
    "ragged rows": (header(tensors=tensor(dims=(33,), kind=2), number=1, data=bytes(99)), "multiple of Q4_0"),
    "past the end": (header(tensors=tensor(), number=1, data=bytes(96)), "ends at byte"),
    "offset of 2^63": (header(tensors=tensor(offset=2**63), number=1, data=bytes(128)), "ends at byte"),
    "crooked offset": (header(tensors=tensor(offset=7), number=1, data=bytes(256)), "multiple of the align"),
    "overlap": (
        header(tensors=tensor("t") + tensor("u", offset=32), number=2, data=bytes(512)),
        "'u' overlaps tensor 't'",
    ),
    "tensor twice": (
        header(tensors=tensor("t") + tensor("t", offset=128), number=2, data=bytes(512)),
        "twice",
    ),
}


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
    with pytest.raises(UserError, match="'mamba' is not supported; supported: llama, gpt2"):
        open_checkpoint(path)
    path.write_bytes(header(entry("general.architecture", 8, text("llama")), 1))
    with pytest.raises(UserError, match=r"lacks llama.embedding_length"):
        open_checkpoint(path)
    path.write_bytes(header(tensors=tensor(dims=(256,), kind=10), number=1, data=bytes(96)))
    file = read_gguf(path)
    with pytest.raises(UserError, match="stored as Q2_K, which is not supported; supported: F32"):
        dequantise(file, file.tensors["t"])


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("fuzz") / "good.gguf"
    write(path)
    return path.read_bytes()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, 900), st.integers(0, 255)), max_size=6),
    spread=st.sampled_from([None, b"\xff" * 8, b"\x00" * 8, b"\x00" * 7 + b"\x80"]),
    place=st.integers(0, 900),
    cut=st.one_of(st.none(), st.integers(0, 2000)),
)
def test_mutated_files_are_read_or_refused(
    good: bytes,
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[int, int]],
    spread: bytes | None,
    place: int,
    cut: int | None,
) -> None:
    content = bytearray(good)
    for at, value in changes:
        content[at] = value
    if spread is not None:
        content[place : place + 8] = spread
    path = tmp_path_factory.getbasetemp() / "mutated.gguf"
    path.write_bytes(bytes(content[:cut]))
    started = time.perf_counter()
    try:
        file = read_gguf(path)
        for info in file.tensors.values():
            assert info.offset + info.size <= len(content)
    except UserError as error:
        assert "\n" not in str(error)
    assert time.perf_counter() - started < 1.0
