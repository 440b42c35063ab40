"""The article's claims: figures by hand arithmetic, verdicts, sources, and that none is left out."""

import io
from fractions import Fraction as F
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from whygpu.cli.tables.claims import claim_tables, claims_tables
from whygpu.story import claims as story
from whygpu.story.claims import Here, Judged, Outcome, Verdict, judge
from whygpu.story.claims.words import case_words, computed_words, given_words, what, why
from whygpu.story.text import LANGUAGES, load_catalogue, texts

# GPT-3: 96 layers of 12 d^2 weights and 13 d of biases and norms, a vocabulary of 50,257, 2,048 positions
D, LAYERS, VOCAB, CONTEXT = 12288, 96, 50257, 2048
BLOCKS = LAYERS * (12 * D**2 + 13 * D)
GPT3 = BLOCKS + VOCAB * D + CONTEXT * D + 2 * D
GPT3_FLOP = 2 * (LAYERS * 12 * D**2 + VOCAB * D) + LAYERS * 4 * D
READ = 2 * (GPT3 - CONTEXT * D)  # bytes in fp16; of the positions one row


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Judged]:
    """Every claim, with nothing measured here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHYGPU_CACHE", str(tmp_path_factory.mktemp("empty")))
        here = Here("never")
        return {name: judge(claim, here) for name, claim in story.claims().items()}


def value(judged: Judged, case: str = "") -> float:
    found = {each.name: each.value for each in judged.cases}
    number = found[case] if case else judged.main.value if judged.main else None
    assert isinstance(number, float)
    return number


def test_gpt3_by_hand() -> None:
    assert GPT3 == 174_604_259_328
    assert GPT3_FLOP == 349_132_185_600


BY_HAND = {
    # id, case: value in the claim's unit
    ("product-size", ""): 512 * 768 * 768,
    ("product-flop", ""): 603_979_776,
    ("cube-triangles", ""): 6 * 2,
    ("cube-vertices", "corners"): 2**3,
    ("cube-vertices", "drawn"): 6 * 4,
    ("cube-rotation", "matrices"): 1,
    ("character-vertices", "euler"): 50_002,
    ("million-vertices", "rounds"): 62,  # 1,000,000 / 16,384 = 61.04
    ("million-vertices", "multiply-adds"): 62 * 16,
    ("ratio-cores", ""): F(16384, 24),
    ("ratio-clock", ""): F(252, 600),
    ("ratio-bandwidth", ""): F(10080, 896),
    ("ratio-flops", "peak"): F(8260, 258),
    ("ratio-watts", ""): F(450, 253),
    ("ratio-per-watt", "peak"): F(8260, 258) * F(253, 450),
    ("i9-flops", "base"): F(8 * 32 * 32 + 16 * 16 * 24, 10_000),
    ("block-products", "gpt2"): len(["Q", "K", "V", "scores", "weighted-V", "out", "up", "down"]),
    ("block-products", "gated"): 9,
    ("products-12-layers", ""): 96,
    ("products-36-layers", ""): 288,
    ("products-96-layers", ""): 768,
    ("gpt3-flop", ""): F(GPT3_FLOP, 10**9),
    ("gpt3-bytes", ""): F(2 * GPT3, 10**9),
    ("gpt3-a100", ""): F(READ * 1000, 2039 * 10**9),
    ("gpt3-h100", ""): F(READ * 1000, 3350 * 10**9),
    ("gpt3-cpu", ""): F(READ * 1000, 896 * 10**8),
    ("gpt3-a100-arithmetic", "arithmetic"): F(GPT3_FLOP * 1000, 312 * 10**12),
    ("gpt3-a100-arithmetic", "memory"): F(READ * 1000, 2039 * 10**9),
    ("gpt3-cpu-seconds", "arithmetic"): F(GPT3_FLOP, 10**12),
    ("gpt3-cpu-seconds", "memory"): F(READ, 896 * 10**8),
    ("answer-gpu", "arithmetic"): F(500 * GPT3_FLOP, 312 * 10**12),
    ("answer-cpu", "memory"): F(500 * READ, 896 * 10**8 * 3600),
    ("gpt3-compute", "layer-squares"): 24_576,
    ("gpt3-compute", "model-squares"): 2_048,
    ("gpt3-compute", "layer-products"): 22_272,
    ("gpt3-compute", "model-products"): 1_856,
    ("operations-ratio", "multiply-adds"): 1024,
    ("operations-ratio", "flop"): 2048,
    ("loop-extrapolated", "own"): F(255, 10_000) * 64**3 / 60,
    ("layer-time", "own"): F(2352, 100),
    ("model-time", "own"): F(28224, 100),
    ("matmul-rate", "own"): F(2 * 1024**3, 4_350_000),
    ("elementwise-rate", "own"): F(1024**2, 2_300_000),
    ("time-ratio", "own"): F(435, 230),
    ("speedup-4096", "own"): F(255 * 64**3 * 10, 28715),
    ("bandwidth-ratio", "a100"): F(20390, 896),
    ("bandwidth-ratio", "h100"): F(33500, 896),
    ("tensor-cores", "v100"): F(1250, 157),
    ("tensor-cores", "rtx-4090"): 2,
    ("v100-year", ""): 2017,
    ("b200-flops", "sparse"): 18,
    ("b200-flops", "superchip"): 20,
}


@pytest.mark.parametrize(("claim", "case"), BY_HAND)
def test_figures_by_hand(judged: dict[str, Judged], claim: str, case: str) -> None:
    assert value(judged[claim], case) == pytest.approx(float(BY_HAND[claim, case]), rel=1e-9)


def test_the_articles_own_figures_are_near_ours() -> None:
    """What the issue and the article say, to the digits that they print."""
    milliseconds = [READ / bandwidth / 1e6 for bandwidth in (2000, 3350, 90)]  # the GB/s that it takes
    assert milliseconds == pytest.approx([175, 104, 3889], rel=0.005)
    assert F(16384, 24) == pytest.approx(680, rel=0.005)
    assert float(F(10080, 896)) == pytest.approx(11, rel=0.03)
    assert float(F(450, 253)) == pytest.approx(1.8, rel=0.02)


VERDICTS = {
    "exact": "cube-triangles product-size products-12-layers products-36-layers products-96-layers cuda-year "
    "rtx-4090-bandwidth alexnet-gpus transformer-year trillion-year i9-watts i9-clock",
    "rounded": "gpt3-flop gpt3-bytes gpt3-a100 gpt3-h100 gpt3-cpu ratio-cores ratio-clock ratio-bandwidth "
    "ratio-watts rtx-4090-flops i9-bandwidth character-vertices frame-triangles",
    "conditional": "gpt3-a100-arithmetic answer-gpu gpt3-compute operations-ratio b200-flops tpu-cloud "
    "gpt3-v100 ratio-flops i9-flops bandwidth-ratio cpu-cores gpu-cores cube-rotation llm-parameters "
    "llm-tokens tensor-cores",
    "wrong": "gpt3-cpu-seconds answer-cpu v100-year product-flop million-vertices",
    "unverifiable": "gpt4-layers products-gpt4 chatgpt-a100 king-queen loop-time others-time matmul-time",
}


@pytest.mark.parametrize(("verdict", "names"), VERDICTS.items())
def test_verdicts(judged: dict[str, Judged], verdict: str, names: str) -> None:
    assert {name: str(judged[name].verdict) for name in names.split()} == dict.fromkeys(
        names.split(), verdict
    )


LIST = """
cube 12: cube-triangles; cube 8: cube-vertices; character 100k: character-triangles; 50k: character-vertices
frame millions: frame-triangles; 60 fps 1e8: vertices-per-second; 24 cores: i9-cores; 6.0 GHz: i9-clock
90 GB/s: i9-bandwidth; ~1 TFLOPS: i9-flops; 253 W: i9-watts; 16,384: rtx-4090-cores; 2.5 GHz: rtx-4090-clock
1,008 GB/s: rtx-4090-bandwidth; 83 TFLOPS: rtx-4090-flops; 450 W: rtx-4090-watts; 680x: ratio-cores
0.4x: ratio-clock; 11x: ratio-bandwidth; 83x: ratio-flops; 1.8x: ratio-watts; per watt: ratio-per-watt
8 products a frame: cube-rotation; one step: million-vertices; CPUs: cpu-cores; GPUs thousands: gpu-cores
8 products a block: block-products; 96: products-12-layers; 288: products-36-layers; 768: products-96-layers
~960: products-gpt4; ~120 layers: gpt4-layers; 301,989,888: product-size; operations: product-flop
350 GFLOP: gpt3-flop; 1.1 ms: gpt3-a100-arithmetic; 350 s: gpt3-cpu-seconds; 0.6 s: answer-gpu
48 h: answer-cpu
24,000x: gpt3-compute; 25.5 ms: loop-time; 112 min: loop-extrapolated; 2,378x: speedup-64
23,305x: speedup-4096
23.52 ms: layer-time; 282 ms: model-time; negligible FLOP: others-flop; negligible time: others-time
tens to a hundred: gpu-against-blas; Tensor Cores: tensor-cores; millions: llm-parameters; tens: llm-tokens
493 GFLOP/s: matmul-rate; 1024x: operations-ratio; 1.9x: time-ratio; 350 GB: gpt3-bytes; 175: gpt3-a100
104: gpt3-h100; 3,889: gpt3-cpu; 20 to 40x: bandwidth-ratio; CUDA 2006: cuda-year; before it: cuda-before
AlexNet: alexnet-gpus; Transformer: transformer-year; V100 2018: v100-year
with Tensor Cores: v100-tensor-cores
GPT-3 V100: gpt3-v100; ChatGPT: chatgpt-a100; trillion: trillion-year; TPU: tpu-cloud; B200: b200-flops
King: king-queen; Queen: king-queen-equals
"""


def test_every_claim_of_the_list_has_an_entry() -> None:
    wanted = {part.split(":")[-1].strip() for line in LIST.strip().splitlines() for part in line.split(";")}
    assert wanted - set(story.claims()) == set()


PRINTED = {
    "character-triangles": 100_000,
    "rtx-4090-cores": 16_384,
    "ratio-cores": 680,
    "product-size": 301_989_888,
    "gpt3-compute": 24_000,
    "speedup-64": 2_378,
    "speedup-4096": 23_305,
    "layer-time": 23.52,
    "model-time": 282,
    "matmul-rate": 493,
    "gpt3-cpu": 3_889,
    "answer-cpu": 48,
    "b200-flops": 20,
}


def test_what_the_article_prints() -> None:
    for name, printed in PRINTED.items():
        given = story.claims()[name].given
        assert given is not None
        assert given.low == printed


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_claim_has_its_words(judged: dict[str, Judged], language: str) -> None:
    spoken = texts(language)
    for each in judged.values():
        for sentence in (what, why, given_words, computed_words):
            said = sentence(spoken, each)
            assert said.strip()
            assert "{" not in said
        for case in each.cases:
            assert case_words(spoken, each, case)


@pytest.mark.parametrize("language", LANGUAGES)
def test_tables_fit_100_columns(judged: dict[str, Judged], language: str) -> None:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    for table in claims_tables(texts(language), list(judged.values()), disturbed=True):
        console.print(table)
    whole = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(name in whole for name in judged)
    for each in judged.values():
        for table in claim_tables(texts(language), each):
            console.print(table)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(cell_len, lines)) <= 100
    assert "…" not in whole


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_word_is_left_over(language: str) -> None:
    """Each key of a claim names a claim that is there, and a sentence or a case of it."""
    known = {f"claims.{name}.{part}" for name in story.claims() for part in ("what", "why", "right")}
    known |= {f"claims.{c.id}.{case.name}" for c in story.claims().values() for case in c.cases}
    shared = "column field chapter verdict outcome says basis word unit case missing"
    general = tuple(f"claims.{name}." for name in shared.split())
    for key in load_catalogue(language):
        if key.startswith("claims.") and key.count(".") > 1 and not key.startswith(general):
            assert key in known


def test_results_are_never_typed_into_a_sentence(judged: dict[str, Judged]) -> None:
    """A computed figure stands in a sentence only where a placeholder puts it: the raw sentence lacks it."""
    for each in judged.values():
        if each.main is None or not isinstance(each.main.value, float) or each.main.value < 100:
            continue
        for language in LANGUAGES:
            raw = load_catalogue(language)[f"claims.{each.claim.id}.why"]
            assert computed_words(texts(language), each) not in raw


def test_every_claim_has_sources_and_a_basis(judged: dict[str, Judged]) -> None:
    for name, each in judged.items():
        computed = [case for case in each.cases if case.value is not None]
        assert each.sources or not computed, name
        assert str(each.basis) in ("measured here", "datasheet", "derived", "published"), name
        for case in computed:
            assert case.sources, name
            assert case.numbers, name


def test_who_says_what_nobody_can_check(judged: dict[str, Judged]) -> None:
    assert judged["gpt4-layers"].who == "SemiAnalysis (July 2023)"
    assert judged["products-gpt4"].cases[0].outcome is Outcome.HEARSAY
    assert "TrendForce" in judged["chatgpt-a100"].who
    assert "TrendForce" in why(texts("zh"), judged["chatgpt-a100"])


def test_offline_without_a_model_the_analogy_says_how_to_get_it(judged: dict[str, Judged]) -> None:
    queen = judged["king-queen"]
    assert queen.verdict is Verdict.UNVERIFIABLE
    assert why(texts("en"), queen).endswith("whygpu models pull smollm2-135m")
    assert "whygpu models pull smollm2-135m" in why(texts("zh"), queen)


def test_the_analogy_in_the_default_model() -> None:
    """Against the embedding as the gguf package reads it, token by token."""
    gguf = pytest.importorskip("gguf")
    import numpy as np

    from whygpu import models
    from whygpu.story.claims.analogy import Analogies

    reader = gguf.GGUFReader(Path(models.locate("smollm2-135m")))
    tensor = next(t for t in reader.tensors if t.name == "token_embd.weight")
    rows = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    field = reader.fields["tokenizer.ggml.tokens"]
    tokens = [bytes(field.parts[index]).decode() for index in field.data]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    king, man, woman, queen = (rows[tokens.index(f"Ġ{word}")] for word in ("king", "man", "woman", "queen"))
    total = king - man + woman
    scores = rows @ total / np.linalg.norm(total)
    assert tokens[int(scores.argmax())] == "Ġqueen"
    analogies = Analogies()
    assert analogies.nearest("king-man+woman", with_inputs=True)[0][0] == "queen"
    assert analogies.cosine("king-man+woman", "queen") == pytest.approx(float(scores.max()), abs=1e-5)
    assert analogies.cosine("king-man+woman", "king") == pytest.approx(
        float(scores[tokens.index("Ġking")]), abs=1e-5
    )
    assert float(queen @ total) > float(king @ total)
