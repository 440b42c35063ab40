"""The fast path against the portable one, its kernels against exact arithmetic, other CPUs' instructions."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whygpu import engine, models, think

QUESTION = "Why do LLMs need GPUs?"


def test_exponential_is_within_two_units_of_the_last_place() -> None:
    from whygpu.engine import simd
    from whygpu.think.fast.activations import exp16

    @engine.jit.kernel
    def exponentials(x, out):  # type: ignore[no-untyped-def]
        for i in range(0, x.size, 16):
            simd.store_f32x16(out, i, exp16(simd.load_f32x16(x, i)))

    x = np.linspace(-86.9, 87.9, 1 << 16).astype(np.float32)
    out = np.zeros_like(x)
    exponentials(x, out)
    exact = np.exp(x.astype(np.float64))
    assert (np.abs(out - exact) <= 2 * np.spacing(exact.astype(np.float32))).all()


@pytest.mark.parametrize("cpu", [None, "generic"])
def test_half_precision_both_ways_equals_numpys(cpu: str | None, tmp_path: Path) -> None:
    program = tmp_path / "halves.py"
    program.write_text(HALVES)
    environment = {**os.environ, **({"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""} if cpu else {})}
    out = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True, env=environment
    )
    assert out.stdout.split() == ["0", "0"]


HALVES = """
import numpy as np
from whygpu.engine import simd
from whygpu.engine.jit import kernel
@kernel
def down(x, y):
    for i in range(x.size): y[i] = simd.half_bits(x[i])
@kernel
def up(x, y):
    for i in range(0, x.size, 16): simd.store_f32x16(y, i, simd.half_to_float(simd.load_f16x16(x, i)))
random = np.random.default_rng(0)
x = random.integers(0, 2**32, 100_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
edges = [0, -0.0, np.inf, 65504, 65519.9, 65520, 2.98e-8, 5.96e-8, 6.1035e-05]
x = np.concatenate([x, np.array(edges, np.float32)])
y = np.zeros(x.size, np.int16)
down(x, y)
with np.errstate(all="ignore"):
    wrong = (x.astype(np.float16).view(np.int16) != y) & ~np.isnan(x)
print(wrong.sum())
halves = np.arange(65536, dtype=np.uint16).view(np.int16)
z = np.zeros(65536, np.float32)
up(halves, z)
exact = halves.view(np.float16).astype(np.float32)
print((np.isfinite(exact) & (exact != z)).sum())
"""


@pytest.fixture(scope="module")
def pair() -> tuple[think.Model, think.Model]:
    """SmolLM2-135M by the fast path and by the portable one."""
    try:
        fast = think.load(path="fast", backend=engine.backend("cpu", threads=2))
    except models.Unavailable as reason:
        pytest.skip(f"the default model cannot be had: {reason}")
    return fast, think.load(path="portable", backend=engine.backend("cpu", threads=1))


def every_score(model: think.Model, ids: list[int]) -> Any:
    """(T, vocab): one token at a time, as decoding does."""
    cache = think.new_cache(model, len(ids))
    with engine.using(model.backend):
        return np.stack([think.decode_one_token(model, token, cache).copy() for token in ids])


def perplexity(scores: Any, ids: list[int]) -> float:
    """Of each next token of a text."""
    top = scores[:-1].astype(np.float64)
    logs = top - top.max(1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(1, keepdims=True))
    return float(np.exp(-logs[np.arange(len(ids) - 1), ids[1:]].mean()))


TEXT = (
    "The Moon orbits the Earth once every twenty-seven days. Its gravity raises the tides, and because the "
    "Earth turns faster than the Moon moves, friction in the oceans slowly lengthens the day. Long ago a day "
    "had only twenty-two hours, as the growth lines of fossil corals show."
)
LONGER = (
    TEXT
    + """

To multiply two matrices, take a row of the first and a column of the second, multiply the numbers
pair by pair, and add up the products. Every number of the result is made in this way, and none of
them needs any of the others, so that many workers can share the task. A graphics processor has
thousands of small arithmetic units for exactly this. When it draws a picture, each corner of each
triangle is multiplied with a matrix that says where the camera stands. When it runs a language
model, each word becomes a list of numbers, and that list is multiplied with one matrix after
another, until the last one tells how likely every possible next word is. The machine does not know
which of the two it is doing.

There is one difference that matters. A picture has a million corners, and the same small matrix
serves all of them. A model that writes one word after another has to read every one of its weights
for each word, and it uses each weight only once. So the time is not spent on arithmetic; it is
spent waiting for memory. This is why a model whose weights are stored in four bits instead of
sixteen writes almost four times as fast, although the processor does more work to unpack them. It
is also why a long prompt is read much faster than an answer is written: all words of the prompt are
known, and each weight that was fetched can be used for many of them.

The old mill by the river had not turned for thirty years when the children found the way in. Dust
lay on the stones, and a family of owls had taken the upper floor. They cleaned the gears with sand
and oil, and on the first day of spring, when the water was high, they lifted the gate. For a moment
nothing happened. Then, with a groan that shook the windows, the wheel began to move.
"""
)


def test_perplexity_is_within_one_percent_of_float32(pair: tuple[think.Model, think.Model]) -> None:
    fast, portable = pair
    ids = fast.tokenizer.encode(LONGER)
    with engine.using(portable.backend):
        exact = perplexity(think.logits(portable, ids), ids)
    assert perplexity(every_score(fast, ids), ids) == pytest.approx(exact, rel=0.01)


def test_greedy_text_is_identical_over_runs(pair: tuple[think.Model, think.Model]) -> None:
    fast, _ = pair
    texts = {"".join(t.text for t in think.generate(fast, QUESTION, max_tokens=48)) for _ in range(3)}
    assert len(texts) == 1


def test_prefill_and_decode_agree(pair: tuple[think.Model, think.Model]) -> None:
    """Each within what rounding activations to bytes does to a score."""
    fast, portable = pair
    ids = fast.tokenizer.encode(TEXT)[:40]
    at_once = think.prefill(fast, ids, think.new_cache(fast, 64))
    one_by_one = every_score(fast, ids)[-1]
    exact = think.logits(portable, ids)[-1]
    spread = exact.std()
    for scores in (at_once, one_by_one):
        assert np.abs(scores - exact).mean() < 0.1 * spread
        assert scores.argmax() == exact.argmax()


def test_rewinding_the_cache_forgets_exactly_what_came_after(pair: tuple[think.Model, think.Model]) -> None:
    fast, _ = pair
    ids = fast.tokenizer.encode(TEXT)[:24]
    cache = think.new_cache(fast, 64)
    first = think.prefill(fast, ids, cache)
    think.prefill(fast, ids[:7], cache)
    cache.rewind(len(ids) - 1)
    again = think.decode_one_token(fast, ids[-1], cache)
    fresh = think.new_cache(fast, 64)
    think.prefill(fast, ids[:-1], fresh)
    assert np.array_equal(again, think.decode_one_token(fast, ids[-1], fresh))
    assert first.argmax() == again.argmax()


def test_the_ledger_equals_the_list_of_products(pair: tuple[think.Model, think.Model]) -> None:
    """Prefill in two chunks, then two tokens; attention as executed, by tiles."""
    fast, _ = pair
    cache = think.new_cache(fast, 128)
    with engine.ledger() as ledger, engine.using(fast.backend):
        think.prefill(fast, list(range(100, 170)), cache)
        think.decode_one_token(fast, 5, cache)
        think.decode_one_token(fast, 6, cache)
    executed: dict[Any, int] = {}
    for tokens, past in ((70, 0), (1, 70), (1, 71)):
        works = models.matmuls(
            fast.architecture, tokens=tokens, past=past, chunk=models.FAST_CHUNK, tiles=models.FAST_TILES
        )
        for work in works:
            stage = "prefill" if past == 0 else "decode"
            key = (stage, work.name, work.batch, work.m, work.n, work.k)
            executed[key] = executed.get(key, 0) + work.count
    assert ledger.counts("think") == executed
    assert sum(row.seconds for row in ledger.rows(("workload",))) > 0


def test_memory_grows_by_the_file_and_the_cache(pair: tuple[think.Model, think.Model]) -> None:
    """At most 1.15 times the file, beside the cache, above a process that has the libraries, the compiled
    kernels and the tokenizer: the file's pages are given back, no weight is kept twice."""
    program = (
        "import gc, psutil\nfrom whygpu import think, models\n"
        "from whygpu.think.fast.run import FastCache, PackedModel\n"
        "place = models.locate(models.DEFAULT)\n"
        "checkpoint = models.open_checkpoint(place)\n"
        "def answer():\n"
        "    model = PackedModel(checkpoint, 2)\n"
        "    cache = FastCache(model.architecture, 512)\n"
        "    model.prefill(list(range(500)), cache)\n"
        "    return model, cache\n"
        "tokenizer = checkpoint.tokenizer()\n"
        "answer()\n"
        "gc.collect()\n"
        "before = psutil.Process().memory_info().rss\n"
        "model = answer()\n"
        "print(psutil.Process().memory_info().rss - before, place.stat().st_size)\n"
        "print(models.kv_bytes(checkpoint.architecture, 512))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    grown, size, cache = (float(word) for word in out.stdout.split())
    assert grown < 1.15 * size + cache


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cpu", "features", "dot"),
    [
        ("generic", "", "generic"),
        ("x86-64-v2", "", "generic"),
        ("x86-64-v3", "+avx2,+fma,+f16c,+avx", "avx2"),
    ],
)
def test_other_instruction_sets_give_the_same_words(cpu: str, features: str, dot: str) -> None:
    """Compiled for a CPU without VNNI, AVX-512, AVX2 or F16C: chosen before compiling, the same words."""
    if os.uname().machine != "x86_64":
        pytest.skip("these are x86-64 CPUs")
    program = (
        "from whygpu import think, engine\nfrom whygpu.engine import simd\n"
        f"model = think.load(path='fast')\nprint(simd.byte_dot())\n"
        f"print(''.join(t.text for t in think.generate(model, {QUESTION!r}, max_tokens=8)))"
    )
    environment = {**os.environ, "NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features}
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    kind, text = out.stdout.split("\n", 1)
    assert kind == dot
    assert text.strip() == "The answer to this question is a classic"


def test_what_the_fast_path_cannot_is_named() -> None:
    with pytest.raises(engine.UserError, match="fast path runs on cpu alone"):
        think.load(path="fast", backend="torch:cpu")
    with pytest.raises(engine.UserError, match="path 'quick' is unknown; known: auto, fast, portable"):
        think.load(path="quick")
