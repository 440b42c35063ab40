"""SentencePiece's BPE and unigram, rebuilt: ids equal to the original library on models that it trains."""

import io
from typing import Any

import numpy as np
import pytest

import originals
from whygpu import models
from whygpu.engine import UserError

TEXTS = [*originals.TEXTS, "a<tool>b", "<tool>", "two  spaces   three"]


def train(kind: str, *, falls_back: bool, prefix: bool, collapse: bool = False) -> Any:
    """A small model of the original library: (processor, its metadata as a GGUF file has them)."""
    sentencepiece = pytest.importorskip("sentencepiece")
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text for text in originals.TEXTS if text.strip()] * 4),
        model_writer=written,
        model_type=kind,
        vocab_size=1100 if falls_back else 900,
        hard_vocab_limit=False,
        byte_fallback=falls_back,
        character_coverage=0.98,  # so that some characters have no piece
        add_dummy_prefix=prefix,
        remove_extra_whitespaces=collapse,
        normalization_rule_name="nmt_nfkc" if collapse else "identity",
        user_defined_symbols=["<tool>"],
        control_symbols=["<turn>"],
        minloglevel=2,
    )
    model = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    metadata = originals.spm_metadata(model) | originals.ggml(
        model={"bpe": "llama", "unigram": "t5"}[kind],
        add_space_prefix=prefix,
        add_eos_token=False,
        remove_extra_whitespaces=collapse,
    )
    metadata["tokenizer.ggml.token_type"][model.piece_to_id("<tool>")] = 4
    return model, metadata


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("falls_back", [True, False])
def test_bpe_ids_equal_the_original(falls_back: bool, prefix: bool) -> None:
    model, metadata = train("bpe", falls_back=falls_back, prefix=prefix)
    ours = models.tokenizer_from_metadata(metadata, "trained")
    for text in TEXTS:
        if "<tool>" in text and prefix:
            continue  # as llama.cpp we put the space before text alone, and behind such a token too
        assert ours.encode(text, bos=False) == model.encode(text), text
        if falls_back and "▁" not in text:
            assert ours.decode(model.encode(text)) == text


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("falls_back", [True, False])
def test_unigram_ids_equal_the_original(falls_back: bool, prefix: bool) -> None:
    model, metadata = train("unigram", falls_back=falls_back, prefix=prefix)
    ours = models.tokenizer_from_metadata(metadata, "trained")
    scores = np.array(metadata["tokenizer.ggml.scores"])
    for text in TEXTS:
        if "<tool>" in text and prefix:
            continue
        found, expected = ours.encode(text), model.encode(text)
        if found != expected:  # two ways with one sum of scores; the original adds up in single precision
            assert scores[found].sum() == pytest.approx(scores[expected].sum(), rel=1e-6), text
            assert ours.decode(found) == ours.decode(expected)
        if falls_back and "▁" not in text:
            assert ours.decode(expected) == text


def test_a_piece_that_spells_a_byte_token_is_text() -> None:
    for kind in ("bpe", "unigram"):
        _, metadata = train(kind, falls_back=True, prefix=False)
        ours = models.tokenizer_from_metadata(metadata, "trained")
        assert ours.decode(ours.encode("<0x41><s>", bos=False)) == "<0x41>"  # <s> is a control token


def small(**change: Any) -> dict[str, Any]:
    tokens = [
        "<unk>",
        "<s>",
        "</s>",
        *(f"<0x{i:02X}>" for i in range(256)),
        "▁",
        "a",
        "b",
        "ab",
        "▁ab",
        "<t>",
    ]
    return originals.ggml(
        **{
            "model": "llama",
            "tokens": tokens,
            "scores": [-float(i) for i in range(len(tokens))],
            "token_type": [2, 3, 3] + [6] * 256 + [1] * 5 + [4],
            "bos_token_id": 1,
            "eos_token_id": 2,
            "unknown_token_id": 0,
            **change,
        }
    )


def test_by_hand() -> None:
    ours = models.tokenizer_from_metadata(small(), "x")
    space, a, b, ab, space_ab, tool = range(259, 265)
    assert ours.encode("ab") == [1, space_ab]
    assert ours.encode("ab", bos=False, eos=True) == [space_ab, 2]
    assert ours.encode("bab", bos=False) == [space, b, ab]
    assert ours.encode("b a", bos=False) == [space, b, space, a]
    assert ours.encode("é", bos=False) == [space, 3 + 0xC3, 3 + 0xA9]
    assert ours.encode("<t>a", bos=False) == [tool, space, a]
    assert ours.decode([1, space, ab, 3 + 0xC3, 3 + 0xA9, tool, 2]) == "abé<t>"
    assert ours.ends == {2}
    assert ours.adds_bos


PHI_3 = {"<|user|>": 3, "<|end|>": 3, "<|endoftext|>": 3}


def test_phi_3s_added_tokens_take_the_white_space_behind_them() -> None:
    metadata = small()
    metadata["tokenizer.ggml.tokens"] = [*metadata["tokenizer.ggml.tokens"], *PHI_3]
    metadata["tokenizer.ggml.token_type"] = [*metadata["tokenizer.ggml.token_type"], *PHI_3.values()]
    metadata["tokenizer.ggml.scores"] = [*metadata["tokenizer.ggml.scores"], 0.0, 0.0, 0.0]
    user, end, text_end = range(265, 268)
    phi = models.tokenizer_from_metadata({**metadata, "general.architecture": "phi3"}, "x")
    assert phi.encode("<|user|>\n a<|end|> \n", bos=False) == [user, 259, 260, end]
    assert phi.encode("<|endoftext|>\n", bos=False) == [text_end, 259, 3 + ord("\n")]
    assert phi.ends == {2, end, text_end}
    other = models.tokenizer_from_metadata({**metadata, "general.architecture": "llama"}, "x")
    assert other.encode("<|user|>\n", bos=False) == [user, 259, 3 + ord("\n")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": None}, "lack tokenizer.ggml.scores, which llama needs"),
        ({"scores": [1.0]}, "1 scores for 265 tokens"),
        ({"scores": ["a"] * 265}, "tokenizer.ggml.scores is not a list of numbers"),
        ({"scores": [float("nan")] * 265}, "a number that is not finite"),
        ({"token_type": "text"}, "token_type is not a list of numbers"),
        ({"add_space_prefix": 1}, "add_space_prefix is 1; it must be a truth value"),
        ({"bos_token_id": True}, "the bos token True is not in the vocabulary"),
        ({"tokens": ["a", "b"], "scores": [0.0, 0.0], "token_type": [1, 1], "unknown_token_id": None,
          "bos_token_id": 0, "eos_token_id": 1}, "neither all 256 byte tokens .* nor an unknown token"),
        ({"model": "t5", "scores": None}, "lack tokenizer.ggml.scores, which t5 needs"),
        ({"model": "t5", "precompiled_charsmap": np.arange(9, dtype=np.uint8)}, "character map is damaged"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=rf"^file: .*{message}") as caught:
        models.tokenizer_from_metadata(small(**change), "file").encode("a")
    assert "\n" not in str(caught.value)


def test_a_piece_too_long_to_be_one_is_named() -> None:
    tokens = ["<unk>", "a", "a" * 513]
    metadata = originals.ggml(model="llama", tokens=tokens, scores=[0.0] * 3, token_type=[2, 1, 1])
    with pytest.raises(UserError, match="token 2 has 513 characters; at most 512 can be"):
        models.tokenizer_from_metadata(metadata, "file")
