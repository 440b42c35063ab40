"""Ids equal to the families' own tokenizers: from GGUF metadata and from tokenizer.json.

The vocabularies come from registry packages (``originals.py``); the ids of 48 texts by their own
libraries are kept in ``tokenizer_ids.json``.
"""

import json
from typing import Any

import pytest
from transformers import AutoTokenizer

import originals
from whygpu import models
from whygpu.models.pretokenizers import TEKKEN

pytestmark = pytest.mark.network
TABLE: dict[str, Any] = json.loads((originals.HERE / "tokenizer_ids.json").read_text("utf-8"))
LOSSY = {  # texts that the family itself does not give back
    "qwen3": {"cafe\u0301 A\u030a n\u0303 \u1112\u1161\u11ab"},  # comes back composed (NFC)
    "llama3.1": set(),
    "mistral-nemo": set(),
}
UNDERSCORES = {"▁under▁score ▁ and <0x41> <0x0A> literal"}  # SentencePiece's space is no other character
ENDS = {
    "llama2": {2},
    "llama3.1": {128001, 128009},
    "qwen3": {151643, 151645},
    "gemma3": {1, 106},
    "mistral-json": {2},
    "mistral-v1": {2},
    "mistral-v3": {2},
    "mistral-nemo": {2},
}


def test_the_table_has_every_family_and_text() -> None:
    assert set(TABLE) == set(originals.FAMILIES) == set(ENDS)
    for row in TABLE.values():
        assert len(row["ids"]) == len(originals.TEXTS) == 48


@pytest.mark.parametrize("family", originals.FAMILIES)
def test_gguf_metadata_give_the_familys_ids(family: str) -> None:
    original = originals.original(family)
    ours = models.tokenizer_from_metadata(original.metadata, family)
    for text, ids in zip(originals.TEXTS, TABLE[family]["ids"], strict=True):
        assert ours.encode(text, bos=False) == ids, text
        if text not in LOSSY.get(family, UNDERSCORES):
            assert ours.decode(ids) == text
    assert set(ours.ends) >= ENDS[family]
    assert ours.adds_bos == (family != "qwen3")
    assert original.source == TABLE[family]["source"]
    for text in originals.TEXTS[3:12]:  # the table is what the original says now
        assert original.encode(text) == TABLE[family]["ids"][originals.TEXTS.index(text)]


@pytest.mark.parametrize("family", ["llama3.1", "qwen3", "gemma3"])
def test_tokenizer_json_gives_the_ids_of_transformers(family: str) -> None:
    folder = originals.files(family)
    ours = models.tokenizer_from_folder(folder)
    theirs = AutoTokenizer.from_pretrained(folder)
    for text in originals.TEXTS:
        ids = theirs(text)["input_ids"]
        assert ours.encode(text) == ids, text
        shown = theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        assert ours.decode(ids) == shown
    assert ours.special["eos"] == theirs.eos_token_id
    assert ours.special.get("bos") == theirs.bos_token_id
    assert {theirs.eos_token_id} <= ours.ends


def test_tokenizer_json_of_sentencepiece_gives_its_ids() -> None:
    """Against sentencepiece itself: transformers 5 rebuilds this one and cuts leading spaces otherwise."""
    ours = models.tokenizer_from_folder(originals.files("mistral-json"))
    for text, ids in zip(originals.TEXTS, TABLE["mistral-v1"]["ids"], strict=True):
        assert ours.encode(text, bos=False) == ids, text
        assert ours.encode(text) == [1, *ids]
        if text not in UNDERSCORES:
            assert ours.decode(ids) == text


def test_tekkens_pattern_is_the_published_one() -> None:
    saved = json.loads((originals.files("mistral") / "tekken_240911.json").read_text("utf-8"))
    assert saved["config"]["pattern"] == TEKKEN
