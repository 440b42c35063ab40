"""Text to ids and back: against llama.cpp on the real vocabulary, and against trained tokenizers."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer
from tokenizers import pre_tokenizers as pre
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from whygpu import models
from whygpu.engine import UserError
from whygpu.models.pretokenizers import PRETOKENIZERS
from whygpu.models.tokenizer import byte_characters

HERE = Path(__file__).parent
TEXTS = [
    "Why do LLMs need GPUs?",
    "it's they'll I'D we've  don't",
    "def f(x):\n\treturn x ** 2  # 12345\r\n\n\n",
    "你好，世界！矩阵乘法有 4096 行。",
    "🚀👩‍👩‍👧 café naïve Ωμέγα",
    "  leading,   inner\u00a0and trailing   ",
    "3.14159e-10 ½ ²³ ٣٤ Ⅳ",
    "",
]


@pytest.fixture(scope="module")
def smollm2() -> models.Tokenizer:
    try:
        path = models.locate(models.DEFAULT)
    except models.Unavailable as error:
        pytest.skip(f"the default model is neither cached nor within reach: {error}")
    return models.tokenizer_from_metadata(models.open_checkpoint(path).file.metadata, "smollm2")


def test_ids_equal_llama_cpp_on_the_default_model(smollm2: models.Tokenizer) -> None:
    golden = json.loads((HERE / "smollm2_ids.json").read_text("utf-8"))
    for row in golden["rows"]:
        assert smollm2.encode(row["text"]) == row["ids"], row["text"]


@pytest.mark.parametrize("text", TEXTS)
def test_round_trip(smollm2: models.Tokenizer, text: str) -> None:
    assert smollm2.decode(smollm2.encode(text)) == text


def test_special_tokens(smollm2: models.Tokenizer) -> None:
    assert smollm2.encode("<|im_start|>user") == [1, 4093]
    assert smollm2.decode([1, 4093]) == "user"
    assert smollm2.decode([1, 4093], control=True) == "<|im_start|>user"
    assert smollm2.ends == {0, 2}  # <|endoftext|>, <|im_end|>
    assert not smollm2.adds_bos
    assert len(smollm2) == 49152


def published(pattern: str) -> Any:
    """A pre-tokenizer as the family's own tokenizer.json writes it."""
    return pre.Sequence(
        [pre.Split(Regex(pattern), "isolated"), pre.ByteLevel(add_prefix_space=False, use_regex=False)]
    )


CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
CONTRACTIONS = rf"{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SLASHES = REST.replace(r"[\r\n]*", r"[\r\n/]*", 1)
SMALL = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
CAPITAL = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
FAMILIES = {
    "gpt-2": published(GPT_2),
    "phi-2": published(GPT_2),
    "smollm": pre.Sequence([pre.Digits(individual_digits=True), published(GPT_2)]),
    "starcoder": pre.Sequence([pre.Digits(individual_digits=True), published(GPT_2)]),
    "llama-bpe": published(rf"{CONTRACTIONS}|\p{{N}}{{1,3}}|{REST}"),
    "dbrx": published(rf"{CONTRACTIONS}|\p{{N}}{{1,3}}|{REST}"),
    "qwen2": published(rf"{CONTRACTIONS}|\p{{N}}|{REST}"),
    "tekken": published(rf"{SMALL}|{CAPITAL}|\p{{N}}|{SLASHES}"),
    "gpt-4o": published(rf"{SMALL}{CONTRACTION}?|{CAPITAL}{CONTRACTION}?|\p{{N}}{{1,3}}|{SLASHES}"),
}


def test_every_pretokenizer_is_one_of_these() -> None:
    alike = {
        "llama3": "llama-bpe",
        "llama-v3": "llama-bpe",
        "falcon3": "llama-bpe",
        "deepseek-r1-qwen": "qwen2",
    }
    assert set(PRETOKENIZERS) == {*FAMILIES, *alike}
    for tag, same in alike.items():
        assert PRETOKENIZERS[tag] is PRETOKENIZERS[same]


@pytest.mark.parametrize("tag", FAMILIES)
def test_ids_equal_a_tokenizer_trained_with_the_familys_pattern(tag: str) -> None:
    source = Path(__file__).read_text("utf-8")
    reference = Tokenizer(BPE())
    reference.pre_tokenizer = FAMILIES[tag]
    trainer = BpeTrainer(vocab_size=900, initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False)
    reference.train_from_iterator([source, *TEXTS] * 3, trainer)
    saved = json.loads(reference.to_str())["model"]
    tokens = sorted(saved["vocab"], key=saved["vocab"].get)
    merges = [" ".join(pair) if isinstance(pair, list) else pair for pair in saved["merges"]]
    ours = models.tokenizer_from_metadata(metadata(tokens, merges, tag), "trained")
    for text in [*TEXTS, source]:
        assert ours.encode(text, bos=False) == reference.encode(text).ids
        assert ours.decode(ours.encode(text)) == text


def metadata(tokens: list[str], merges: list[str], tag: str, **more: Any) -> dict[str, Any]:
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": tag,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": merges,
        **{f"tokenizer.ggml.{key}": value for key, value in more.items()},
    }


BYTES = list(byte_characters())


def test_byte_characters_are_gpt_2s() -> None:
    assert sorted(BYTES) == sorted(pre.ByteLevel.alphabet())
    assert BYTES[ord("A")] == "A"
    assert BYTES[ord(" ")] == "Ġ"
    assert BYTES[ord("\n")] == "Ċ"


def test_bos_is_added_once_where_the_file_asks_for_it() -> None:
    tokens = [*BYTES, "<s>"]
    types = [1] * 256 + [3]
    more = {"token_type": types, "bos_token_id": 256, "add_bos_token": True}
    tokenizer = models.tokenizer_from_metadata(metadata(tokens, [], "gpt-2", **more), "x")
    assert tokenizer.encode("a") == [256, 97]
    assert tokenizer.encode("<s>a") == [256, 97]
    assert tokenizer.encode("a", bos=False) == [97]
    assert tokenizer.bytes_of(999) == b""  # a padding row


def test_a_token_that_users_defined_is_text_as_it_stands() -> None:
    tokens = [*BYTES, "<é\u0120>"]
    more = {"token_type": [1] * 256 + [4]}
    tokenizer = models.tokenizer_from_metadata(metadata(tokens, [], "gpt-2", **more), "x")
    assert tokenizer.encode("a<é\u0120>") == [97, 256]
    assert tokenizer.decode([97, 256]) == "a<é\u0120>"


def test_qwen_composes() -> None:
    tokenizer = models.tokenizer_from_metadata(metadata(BYTES, [], "qwen2"), "x")
    assert tokenizer.decode(tokenizer.encode("e\u0301")) == "\u00e9"


def test_text_that_is_no_unicode_is_refused() -> None:
    tokenizer = models.tokenizer_from_metadata(metadata(BYTES, [], "gpt-2"), "x")
    with pytest.raises(UserError, match="not valid Unicode at character 1"):
        tokenizer.encode("a\ud800")


def test_llama_3_takes_whole_tokens_before_merges() -> None:
    tokens = [*BYTES, "ab", "abc"]  # no merge makes "abc"
    tokenizer = models.tokenizer_from_metadata(metadata(tokens, ["a b"], "llama-bpe"), "x")
    assert tokenizer.encode("abc", bos=False) == [257]
    tokenizer = models.tokenizer_from_metadata(metadata(tokens, ["a b"], "gpt-2"), "x")
    assert tokenizer.encode("abc") == [256, 99]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokenizer.ggml.model": "bert"}, r"tokenizer 'bert' is not supported; supported: gpt2"),
        (
            {"tokenizer.ggml.pre": "viking"},
            r"pre-tokenizer 'viking' is not supported; supported: gpt-2, phi-2, smollm",
        ),
        ({"tokenizer.ggml.pre": None}, r"pre-tokenizer None is not supported"),
        ({"tokenizer.ggml.tokens": None}, r"lacks tokenizer.ggml.tokens"),
        ({"tokenizer.ggml.tokens": [*BYTES, "A"]}, r"1 tokens of the vocabulary stand there twice"),
        ({"tokenizer.ggml.tokens": ["a", "b"]}, r"lacks 254 of the 256 bytes"),
        ({"tokenizer.ggml.merges": ["a b"]}, r"do not fit together"),
        ({"tokenizer.ggml.merges": ["ab"]}, r"the merge 'ab' is not two tokens"),
        ({"tokenizer.ggml.merges": None}, r"lack tokenizer.ggml.merges, which gpt2 needs"),
        ({"tokenizer.ggml.merges": [1, 2]}, r"merges is not a list of strings"),
        ({"tokenizer.ggml.tokens": [1, 2]}, r"lacks tokenizer.ggml.tokens"),
        ({"tokenizer.ggml.token_type": ["x"] * 256}, r"token_type is not a list of numbers"),
        ({"tokenizer.ggml.add_bos_token": 1}, r"add_bos_token is 1; it must be a truth value"),
        ({"tokenizer.ggml.token_type": [1, 2]}, r"2 token types for 256 tokens"),
        ({"tokenizer.ggml.eos_token_id": 300}, r"the eos token 300 is not in the vocabulary of 256"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=rf"^file: .*{message}"):
        models.tokenizer_from_metadata({**metadata(BYTES, [], "gpt-2"), **change}, "file")
