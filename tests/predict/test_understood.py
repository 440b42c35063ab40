"""Nothing that a name says is dropped in silence: it is used, or noted, or an error names it."""

import pytest

from whygpu import predict
from whygpu.engine import Basis, UserError
from whygpu.models.outline_source import outline_source
from whygpu.models.said import said_context, said_storage
from whygpu.predict.counts import split_count
from whygpu.predict.measurements import parse_measurements
from whygpu.predict.quants import storage
from whygpu.predict.typed import typed


@pytest.mark.parametrize(
    (
        "name",
        "kind",
        "bits",
    ),  # bits: block bytes over weights, llama.cpp's published mixes, or what the name says
    [
        ("llama 7B mostly Q4_0", "q4", 4.5),
        ("llama 8B Q4_K - Medium", "k", 4.89),
        ("llama 8B Q4_K - Small", "k", 4.67),
        ("llama 7B IQ3_XXS - 3.0625 bpw", "iq", 3.25),
        ("llama 7B all F32", "f32", 32),
        ("Meta-Llama-3-8B-Instruct.Q8_0.gguf", "q8", 8.5),
        ("Qwen/Qwen3-8B-AWQ", "w4", 4.4),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "w4", 4.4),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", "q8", 8.0),
        ("neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8-dynamic", "fp8", 8),
        ("nvidia/Llama-3.1-8B-Instruct-NVFP4", "nv4", 4.5),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "w4", 4.4),
        ("mlx-community/Qwen3-30B-A3B-8bit", "q8", 8.25),
        ("llama-3-8b-bf16", "f16", 16),
        ("gemma3:4b-it-qat", "q4", 4.5),
        ("Llama-3.1-8B-Instruct-exl2-4.65bpw", "w4", 4.65),
        ("unsloth/Llama-3.2-3B-Instruct-bnb-4bit", "w4", 4.4),
    ],
)
def test_storage_in_a_models_name_is_used(name: str, kind: str, bits: float) -> None:
    case = predict.inference(outline_source(name), "4090").case
    assert case.storage.kind == kind
    assert case.bits == pytest.approx(bits, abs=0.26)


def test_a_contradiction_is_said() -> None:
    result = predict.inference("llama 7B mostly Q4_0", "4090", quant="Q8_0")
    assert result.case.storage.name == "Q8_0"
    assert [note.as_dict() for note in result.notes] == [{"kind": "quant", "said": "Q4_0", "used": "Q8_0"}]
    assert predict.inference("llama 7B mostly Q4_0", "4090", quant="q4_0").notes == ()


def test_names_without_storage_say_nothing() -> None:
    for name in (
        "Qwen3-30B-A3B-Instruct-2507",
        "gemma-3-4b-it",
        "deepseek-r1-distill-qwen-32b",
        "Yi-34B-200K",
    ):
        assert said_storage(name) is None
    with pytest.raises(UserError, match="quantisation 'EXL2' is unknown"):
        predict.inference("Llama-3.1-8B-exl2", "4090")


def test_context_in_a_name() -> None:
    assert said_context("Phi-3-mini-128k-instruct") == 131072
    assert said_context("Qwen2.5-7B-Instruct-1M") == 2**20
    assert said_context("llama-3.1-8b") is None
    found = outline_source("gradientai/Llama-3-8B-Instruct-262k")
    assert found.outline.context == 262 * 1024
    assert [note.kind for note in found.notes] == ["context"]


def test_words_that_nobody_understands() -> None:
    assert outline_source("llama 3.1 8b foo bar").notes[0].values["words"] == "foo, bar"
    assert outline_source("meta-llama/Llama-3.1-8B-Instruct").notes == ()
    assert outline_source("mystery 13b").notes[0].kind == "generic"
    with pytest.raises(UserError, match="called a mixture"):
        outline_source("llama-7b-moe")
    assert outline_source("qwen1.5-moe-a2.7b").outline.is_mixture


@pytest.mark.parametrize(
    ("name", "count", "rest"),
    [
        ("8xH100", 8, "H100"),
        ("4x-RTX 3090", 4, "RTX 3090"),
        ("dual RTX 3090", 2, "RTX 3090"),
        ("RTX 3090 (2x)", 2, "RTX 3090"),
        ("4 RTX 3090", 4, "RTX 3090"),
        ("DGX H100", 8, "H100"),
        ("HGX B200 (4 GPUs)", 4, "B200"),
        ("GB200 NVL72", 72, "GB200"),
        ("Ryzen 9 9900X", 1, "Ryzen 9 9900X"),
        ("Threadripper 7980X", 1, "Threadripper 7980X"),
    ],
)
def test_counts(name: str, count: int, rest: str) -> None:
    assert split_count(name) == (count, rest)


@pytest.mark.parametrize(
    ("name", "entry"),  # as operating systems print them, and as people write a system
    [
        ("Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "Xeon Gold 6338"),
        ("Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", "Core i7-8700K"),
        ("13th Gen Intel(R) Core(TM) i9-13900K", "Core i9-13900K"),
        ("AMD EPYC 7763 64-Core Processor", "EPYC 7763"),
        ("AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "Radeon 890M (Ryzen AI 9 HX 370)"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB"),
        ("RTX 3060 12GB + 32GB DDR4", "GeForce RTX 3060 12GB"),
        ("Intel Core i7-12700K + RTX 3060", "GeForce RTX 3060 12GB"),
        ("i9-13900K / RTX 4090", "GeForce RTX 4090"),
        ("GMKtec EVO-X2", "Ryzen AI Max+ 395 (Strix Halo)"),
        ("RTX 6000", "Quadro RTX 6000"),
        ("GCP a2-ultragpu-1g", "A100 SXM4 80GB"),
    ],
)
def test_systems(name: str, entry: str) -> None:
    found = typed(name)
    assert (found.machine.name, found.power) == (entry, 1.0)
    assert {note.kind for note in found.notes} <= {"host"}


def test_a_limit_of_power() -> None:
    found = typed("RTX 4090 (power limit 250W)")
    assert found.power == pytest.approx(250 / 450)
    assert found.notes[0].kind == "power"
    limited = predict.inference("llama-3-8b", found)
    free = predict.inference("llama-3-8b", "RTX 4090")
    assert limited.first_token.seconds > 1.1 * free.first_token.seconds
    assert limited.tokens_per_second == pytest.approx(
        free.tokens_per_second, rel=0.02
    )  # memory keeps its clock


def test_memory_as_typed() -> None:
    found = typed("RTX 4090 48GB")
    assert found.machine.memory is not None
    assert found.machine.memory.value == 48 * 2**30
    assert found.machine.memory.basis is Basis.ASSUMED
    assert typed("RTX 4090 24GB").notes == ()


def test_unlike_cards_and_a_host() -> None:
    mixed = typed("2x RTX 4090 + RTX 3090")
    assert mixed.count == 3
    # layers by memory, in turn: 72 GiB at 1008, 1008 and 936 GB/s
    assert mixed.machine.bandwidth.value == pytest.approx(72 / (48 / 1008 + 24 / 936.2) * 1e9, rel=1e-3)
    fast, slow = (
        predict.inference("llama-3.3-70b", f"RTX 4090 + {cpu}") for cpu in ("EPYC 9654", "Core i7-8700K")
    )
    assert fast.case.count == 1
    assert (
        fast.tokens_per_second > 3 * slow.tokens_per_second
    )  # 461 against 43 GB/s for the layers that spill


def test_words_of_a_device() -> None:
    assert typed("4090 bogus").notes[0].as_dict() == {
        "kind": "hardware_words",
        "words": "bogus",
        "machine": "GeForce RTX 4090",
    }
    assert typed("DGX H100 bogus").machine.name == "H100 SXM5 80GB"
    assert typed("NVIDIA GeForce RTX 4090 24GB").notes == ()
    assert typed("Ryzen 9 7950X DDR5-6000").notes[0].kind == "hardware_words"


def test_storage_in_a_row_without_a_column_for_it() -> None:
    text = "device,model,decode_tok_s\nRTX 4090,llama 8B Q8_0,95\n"
    assert parse_measurements(text, "mine.csv").rows[0].case.storage == storage("Q8_0")
