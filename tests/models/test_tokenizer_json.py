"""tokenizer.json and the files beside it: small ones that the ``tokenizers`` library writes."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE, Unigram, WordLevel

from whygpu import models
from whygpu.engine import UserError
from whygpu.models.tokenizer import byte_characters


def byte_level() -> Tokenizer:
    vocabulary = {c: i for i, c in enumerate(byte_characters())} | {"ab": 256}
    tokenizer = Tokenizer(BPE(vocabulary, [("a", "b")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<s>", special=True), AddedToken("<|im_end|>", special=True)])
    tokenizer.add_tokens([AddedToken("<tool é>", special=False)])
    return tokenizer


def saved(folder: Path, tokenizer: Tokenizer, **files: Any) -> Path:
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return folder


def test_byte_level(tmp_path: Path) -> None:
    saved(
        tmp_path,
        byte_level(),
        tokenizer_config={"bos_token": {"content": "<s>"}, "eos_token": "<|im_end|>", "pad_token": None},
        generation_config={"eos_token_id": [258, 97]},
    )
    ours = models.tokenizer_from_folder(tmp_path)
    assert ours.encode("abé<|im_end|>") == [256, 0xC3, 0xA9, 258]
    assert ours.decode(ours.encode("a\n<tool é> 你🙂<s>")) == "a\n<tool é> 你🙂"
    assert ours.ends == {258, 97}
    assert ours.special == {"bos": 257, "eos": 258}
    assert not ours.adds_bos
    assert len(ours) == 260


@pytest.mark.parametrize(("config", "expected"), [({}, [257, 97]), ({"add_bos_token": False}, [97])])
def test_bos_is_added_as_the_post_processor_says_or_the_config(
    tmp_path: Path, config: dict[str, Any], expected: list[int]
) -> None:
    tokenizer = byte_level()
    special = [("<s>", 257), ("<|im_end|>", 258)]
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A <|im_end|>", special_tokens=special)
    saved(tmp_path, tokenizer, tokenizer_config={"eos_token": "<|im_end|>", **config})
    ours = models.tokenizer_from_folder(tmp_path)
    assert ours.encode("a") == expected
    assert ours.adds_eos
    assert ours.encode("a", bos=True, eos=None) == [257, 97, 258]


def test_sentencepiece_of_both_kinds(tmp_path: Path) -> None:
    pieces = ["<unk>", *(f"<0x{i:02X}>" for i in range(256)), "▁", "a", "▁a"]
    tokenizer = Tokenizer(
        Unigram([(p, -float(i)) for i, p in enumerate(pieces)], unk_id=0, byte_fallback=True)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first", split=False)]
    )
    ours = models.tokenizer_from_folder(saved(tmp_path, tokenizer))
    assert ours.encode("a a") == [259, 259]
    assert ours.decode(ours.encode("a a é")) == "a a é"
    bpe = Tokenizer(
        BPE({p: i for i, p in enumerate(pieces)}, [("▁", "a")], unk_token="<unk>", byte_fallback=True)
    )
    bpe.normalizer = normalizers.Replace(" ", "▁")
    bpe.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    ours = models.tokenizer_from_folder(saved(tmp_path, bpe))
    assert ours.decode(ours.encode(" a a\n")) == " a a\n"


def test_truncation_and_padding_of_the_file_are_ignored(tmp_path: Path) -> None:
    tokenizer = byte_level()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9)
    assert len(models.tokenizer_from_folder(saved(tmp_path, tokenizer)).encode("x" * 50)) == 50


def word_level() -> Tokenizer:
    return Tokenizer(WordLevel({"a": 0}, unk_token="a"))


@pytest.mark.parametrize(
    ("make", "files", "message"),
    [
        (word_level, {}, "tokenizer model 'WordLevel' is not supported; supported: BPE, Unigram"),
        (lambda: Tokenizer(BPE({"a": 0}, [])), {}, "decoder 'none' is not supported; supported: ByteLevel"),
        (
            byte_level,
            {"tokenizer_config": {"bos_token": "<no>"}},
            "bos_token '<no>' is not in the vocabulary",
        ),
        (byte_level, {"tokenizer_config": {"eos_token": 5}}, "eos_token 5 is not in the vocabulary"),
        (byte_level, {"tokenizer_config": [1]}, "tokenizer_config.json: holds no JSON object"),
        (byte_level, {"generation_config": {"eos_token_id": 999}}, "eos_token_id 999 is not in the vocab"),
        (byte_level, {"generation_config": {"eos_token_id": "x"}}, "eos_token_id 'x' is not in the vocab"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, make: Any, files: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        models.tokenizer_from_folder(saved(tmp_path, make(), **files))
    assert str(caught.value).startswith(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b'{"model": 5}', b'{"model": {"type": "BPE"}}', b"\xff\xfe",
        b"[" * 100_000,
        b'{"model": {"type": "BPE", "vocab": {"a": 4000000000}, "merges": []},'
        b' "decoder": {"type": "ByteLevel"}}',
        b'{"model": {"type": "Unigram", "vocab": [], "unk_id": 7}, "decoder": {"type": "Metaspace"}}',
    ],
)  # fmt: skip
def test_damaged_files_get_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(UserError, match=r"tokenizer\.json") as caught:
        models.tokenizer_from_folder(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_without_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no tokenizer.json; a safetensors model needs one"):
        models.tokenizer_from_folder(tmp_path)
