"""Hostile and damaged files: bounded memory and time; fuzzed from the header to the tokens."""

import json
import struct
import time
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf_bytes import HOSTILE, entry, header, tensor
from hypothesis import given
from hypothesis import strategies as st

from whygpu.engine import UserError
from whygpu.models.checkpoint import open_checkpoint
from whygpu.models.gguf import read_gguf
from whygpu.models.quants import DEQUANTISERS, dequantise
from whygpu.models.tokenizer import byte_characters
from whygpu.models.tokenizer_gguf import tokenizer_from_metadata

CROWDED = {  # as much of everything as is read at all; what is wrong comes last
    "strings": header(
        entry("a", 9, struct.pack("<IQ", 8, 1_500_000) + bytes(8 * 1_500_000)) + b"\xff" * 8, 2
    ),
    "tensors": header(
        tensors=b"".join(tensor(f"t{i}", (1,), 0, 0) for i in range(32_768)),
        number=32_768,
        data=bytes(1 << 20),
    ),
    "entries": header(b"".join(entry(f"k{i}", 4, bytes(4)) for i in range(65_535)) + b"\xff" * 13, 65_536),
    "arrays": header(
        b"".join(entry(f"k{i}", 9, struct.pack("<IQ", 0, 1) + b"a") for i in range(65_535)) + b"\xff" * 13,
        65_536,
    ),
    "long strings": header(
        b"".join(entry(f"k{i}", 8, struct.pack("<Q", 1 << 20) + b"x" * (1 << 20)) for i in range(130)), 130
    ),
}


def test_hostile_files_take_neither_memory_nor_time(
    tmp_path: Path, memory_limited: Callable[[str, str], str]
) -> None:
    """Each in under a second (of processor time: others use the machine too), all within 300 MB."""
    cases = {**{name: content for name, (content, _) in HOSTILE.items()}, **CROWDED}
    paths = {}
    for number, (name, content) in enumerate(cases.items()):
        paths[name] = str(tmp_path / f"{number}.gguf")
        Path(paths[name]).write_bytes(content)
    program = """
import json, sys, time
from whygpu.engine import UserError
from whygpu.models.gguf import read_gguf
paths = json.loads(sys.stdin.read())
limit(300)
took = {}
for name, path in paths.items():
    started = time.process_time()
    try:
        read_gguf(path)
    except UserError as error:
        assert "\\n" not in str(error)
        took[name] = time.process_time() - started
print(json.dumps(took))
"""
    took = json.loads(memory_limited(program, json.dumps(paths)))
    assert set(took) == set(cases)
    assert max(took.values()) < 1.0, max(took, key=lambda name: took[name])


def _write(path: Path, kind: str) -> None:
    """A small valid file: every tensor type that is supported, and a tokenizer."""
    writer = gguf.GGUFWriter(path, "llama")
    for key in ("block_count", "embedding_length", "context_length", "feed_forward_length"):
        writer.add_uint32(f"llama.{key}", 256)
    writer.add_uint32("llama.attention.head_count", 4)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    if kind == "gpt2":
        tokens = [*byte_characters(), "ab", "<|end|>"]
        writer.add_tokenizer_pre("llama-bpe")
        writer.add_token_merges(["a b"])
        types = [1] * 257 + [3]
    else:
        tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), "▁", "a", "▁a", "  "]
        types = [2, 3, 3] + [6] * 256 + [1, 1, 1, 4]
        writer.add_token_scores([-float(i) for i in range(len(tokens))])
        writer.add_unk_token_id(0)
        writer.add_add_space_prefix(True)
    writer.add_tokenizer_model(kind)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_array("numbers", [1, -2, 3])
    random = np.random.default_rng(0)
    for name in DEQUANTISERS:
        number = gguf.GGMLQuantizationType[name]
        weights, size = gguf.GGML_QUANT_SIZES[number]
        raw = random.integers(0, 128, (2, 256 // weights * size), dtype=np.uint8)
        writer.add_tensor(name, raw, raw_dtype=number)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    contents = []
    for kind in ("gpt2", "llama", "t5"):
        path = tmp_path_factory.mktemp("fuzz") / f"{kind}.gguf"
        _write(path, kind)
        contents.append(path.read_bytes())
    return contents


def _load(path: Path) -> None:
    """As far as the file goes: header, tensors, tokenizer, architecture."""
    file = read_gguf(path)
    size = path.stat().st_size
    for info in file.tensors.values():
        assert info.offset + info.size <= size
        dequantise(file, info)
    tokenizer = tokenizer_from_metadata(file.metadata, str(path))
    tokenizer.decode(tokenizer.encode("a b ab 你 🙂\n"))
    open_checkpoint(path)


def test_the_files_are_valid_but_for_their_architecture(valid: list[bytes], tmp_path: Path) -> None:
    for content in valid:
        path = tmp_path / "valid.gguf"
        path.write_bytes(content)
        with pytest.raises(UserError, match="claims 256 layers in 16 tensors"):
            _load(path)


INTERESTING = [0, 1, 7, 8, 9, 13, 2**31 - 1, 2**32 - 1, 2**42 + 1, 2**62, 2**63, 2**64 - 1]
PLACE = st.floats(0, 1, exclude_max=True)


@given(
    which=st.integers(0, 2),
    changes=st.lists(st.tuples(PLACE, st.integers(0, 255)), max_size=6),
    numbers=st.lists(st.tuples(PLACE, st.sampled_from(INTERESTING), st.sampled_from([4, 8])), max_size=3),
    copied=st.one_of(st.none(), st.tuples(PLACE, PLACE, st.integers(1, 64))),
    cut=st.one_of(st.none(), PLACE),
)
def test_mutated_files_are_read_or_refused(
    valid: list[bytes],
    tmp_path_factory: pytest.TempPathFactory,
    which: int,
    changes: list[tuple[float, int]],
    numbers: list[tuple[float, int, int]],
    copied: tuple[float, float, int] | None,
    cut: float | None,
) -> None:
    content = bytearray(valid[which])
    span = content.index(b"MXFP4") + 64  # the header, and a little more
    for place, value in changes:
        content[int(place * span)] = value
    for place, number, size in numbers:
        at = int(place * span)
        content[at : at + size] = (number % 2 ** (8 * size)).to_bytes(size, "little")
    if copied is not None:
        start, end, size = int(copied[0] * span), int(copied[1] * span), copied[2]
        content[end:end] = content[start : start + size]
    path = tmp_path_factory.getbasetemp() / "mutated.gguf"
    path.write_bytes(bytes(content[: None if cut is None else int(cut * len(content))]))
    started = time.process_time()
    try:
        _load(path)
    except UserError as error:
        assert "\n" not in str(error)
    assert time.process_time() - started < 1.0
