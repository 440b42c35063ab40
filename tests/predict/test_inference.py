"""Predictions against arithmetic by hand, against public measurements left out, and against nonsense."""

import json
import time

import numpy as np
import pytest

from whygpu import predict
from whygpu.engine import UserError
from whygpu.predict.fit import fit, problem
from whygpu.predict.measurements import parse_measurements
from whygpu.predict.quants import storage
from whygpu.predict.validate import validate


def test_no_token_beats_the_bandwidth() -> None:
    for name in ("4090", "M4 Max", "H100", "Ryzen 9 7950X", "RX 7900 XTX", "Raspberry Pi 5"):
        r = predict.inference("llama-3-8b", name)
        read = (8_030_261_248 - 128256 * 4096) * 4.89 / 8
        assert r.single.seconds > read / r.case.machine.bandwidth.value
        assert r.single.low < r.single.seconds < r.single.high
        assert sum(r.single.shares.values()) == pytest.approx(1)
        assert r.reply_seconds["expected"] > max(r.reply_seconds["bandwidth"], r.reply_seconds["arithmetic"])
        json.dumps(r.as_dict())


def test_memory_by_hand() -> None:
    r = predict.inference("llama-3.1-70b", "2x A100 80GB", quant="F16", context=8192, batch=2)
    m = r.memory
    assert m.weights == pytest.approx(70.55e9 * 2, rel=1e-3)
    # 80 layers x 2 x 8 x 128 x 2 bytes x 8192 tokens x 2 sequences
    assert m.cache == 80 * 2 * 8 * 128 * 2 * 8192 * 2
    assert m.fits is True
    smaller = predict.inference("llama-3.1-70b", "4090")
    assert smaller.memory.fits is False
    assert 0.3 < smaller.case.spilled < 0.7
    assert smaller.binds == "host"
    assert predict.inference("llama-3-8b", "4090", kv="q8").memory.cache == pytest.approx(
        predict.inference("llama-3-8b", "4090").memory.cache * 34 / 64
    )


def test_what_would_change_it() -> None:
    change = predict.inference("llama-3-70b", "A100").changes
    assert 1.5 < change["bandwidth"] <= 2  # memory binds at batch 1
    assert change["arithmetic"] < 1.1
    assert 1.5 < change["bits"] <= 2.01
    assert 1.5 < change["batch"] <= 2


def test_experts_cost_less_than_they_weigh() -> None:
    sparse, dense = predict.inference("qwen3-30b-a3b", "4090"), predict.inference("qwen3-32b", "4090")
    assert sparse.tokens_per_second > 3 * dense.tokens_per_second


@pytest.mark.parametrize(
    (
        "machine",
        "model",
        "quant",
        "measured",
    ),  # rows of the shipped file, llama.cpp: the device itself is in the fit
    [
        ("RTX 4090", "llama-3-8b", "Q4_K_M", 127.7),
        ("M2 Ultra", "llama-2-7b", "Q4_0", 94.3),
        ("RX 7900 XTX", "llama-2-7b", "Q4_0", 120),
    ],
)
def test_known_devices(machine: str, model: str, quant: str, measured: float) -> None:
    r = predict.inference(model, machine, quant=quant, prompt_tokens=1, reply=128)
    assert r.tokens_per_second == pytest.approx(measured, rel=0.4)


def test_ten_thousand_at_once() -> None:
    machines = list(predict.machines())[:125]
    began = time.perf_counter()
    found = predict.table(
        ["llama-3-8b", "qwen3-30b-a3b"],
        machines,
        ["Q4_K_M", "Q8_0"],
        [128, 1024, 4096, 8192, 16384],
        [1, 2, 4, 8],
    )
    assert len(found) == 10_000
    assert time.perf_counter() - began < 5  # under 1 s on a quiet machine (benchmarks/predict.py measures)
    one = predict.inference("llama-3-8b", machines[0], quant="Q8_0", prompt_tokens=1, reply=254)
    same = predict.table(["llama-3-8b"], [machines[0]], ["Q8_0"], [128])
    assert same["seconds"][0] == pytest.approx(one.single.seconds, rel=0.2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"context": 10**6}, "holds 1 to 131,072"),
        ({"batch": 0}, "batch: 0"),
        ({"quant": "Q99"}, "quantisation 'Q99' is unknown"),
        ({"kv": "q3"}, "kv 'q3' is unknown"),
        ({"runtime": "magic"}, "runtime 'magic' is unknown"),
        ({"link": "string"}, "link 'string' is unknown"),
    ],
)
def test_nonsense(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        predict.inference("llama-3.1-8b", "4090", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "bits"),  # block bytes over weights; file mixes as llama.cpp publishes them
    [
        ("Q4_K_M (default tag)", 4.89),
        ("Q8_0", 8.5),
        ("F16", 16),
        ("EXL2 3.0bpw", 3),
        ("gguf-q6_k", 6.5625),
        ("FP8", 8),
        ("bf16", 16),
    ],
)
def test_storage(typed: str, bits: float) -> None:
    assert storage(typed).bits == pytest.approx(bits, rel=0.01)


def test_training_of_the_past() -> None:
    """Published durations lie within the band, or near it."""
    for name in predict.history_names():
        case = predict.history(name)
        assert case.published_days is not None
        assert case.run_days.low / 1.5 < case.published_days < case.run_days.high * 1.5
    run = predict.training("llama-3.1-405b", "H100", tokens=15.6e12, count=16384, sequence=8192)
    assert run.flop == pytest.approx(3.8e25, rel=0.1)  # arXiv 2407.21783 states 3.8e25
    assert 0.25 < run.utilisation < 0.5
    json.dumps(run.as_dict())


def test_drawing() -> None:
    small, large = (predict.drawing("4090", triangles=n, size=(1920, 1080)) for n in (10**4, 10**8))
    assert small.seconds < large.seconds
    assert 1 / large.seconds < 1 / max(large.arithmetic_seconds, large.bandwidth_seconds)
    json.dumps(small.as_dict())


def test_the_fit_finds_constants_that_were_put_in() -> None:
    """t = a x1 + b x2 with a = 2, b = 3, and noise of 1 %."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0.5, 2, (200, 2))
    seconds = (2 * x[:, 0] + 3 * x[:, 1]) * np.exp(rng.normal(0, 0.01, 200))
    p = problem(x.tolist(), [(("a:",), ("b:",))] * 200, {"a": (0, 2), "b": (0, 2)}, (0, 1), 4.0, ["a:", "b:"])
    found = np.exp(fit(p, seconds, np.ones(200), 0.02).theta)
    assert found == pytest.approx([2, 3], rel=0.02)


HEAD = (
    "id,device,device_count,backend,model,params_b,quant,file_gib,prompt_tokens,gen_tokens,batch,prefill_tok_s,"
    "decode_tok_s,source,date,notes\n"
)


def test_a_file_of_other_measurements() -> None:
    rest = "1,llama.cpp CUDA,Llama 3.1 8B,8.03,Q4_K_M,,512,128,1,,{rate},somewhere,2025-06,quality=A"
    good, bad = rest.format(rate=100), rest.format(rate="many")
    text = f"{HEAD}a,RTX 4080,{good}\nb,Quantum 9000,{good}\nc,RTX 4080,{bad}\n"
    measured = parse_measurements(text, "mine.csv")
    assert [row.id for row in measured.rows] == ["a"]
    assert [name for name, _ in measured.unresolved] == ["b", "c"]
    fast = parse_measurements(text.replace(",,100,", ",,9000,"), "mine.csv")
    result = validate(type(fast)(fast.rows, ()))
    assert [name for name, _ in result.impossible] == ["a"]  # 4.6 GB in 0.1 ms: flagged
    assert result.groups[0].rows == 1  # and kept
    with pytest.raises(UserError, match="none of the known sets of columns"):
        parse_measurements("a,b\n1,2\n", "mine.csv")
    with pytest.raises(UserError, match="no line of measurements"):
        parse_measurements(HEAD, "mine.csv")


def test_dense_serving_left_out_by_device() -> None:
    """Cross validation as a test: 778 public rows, the fit never saw the device that it predicts."""
    from importlib import resources

    text = resources.files("whygpu.predict").joinpath("data/measurements/serving.csv").read_text("utf-8")
    lines = text.splitlines()
    dense = [line for line in lines[1:] if "Llama" in line or "Qwen3-32B" in line]
    result = validate(parse_measurements("\n".join([lines[0], *dense]), "serving.csv"))
    first = result.groups[0]
    assert first.by == "all"
    assert first.rows == 778
    held = next(g for g in result.groups if g.by == "leave-one-device-out")
    assert held.median_abs < 13
    assert held.p90_abs < 35
    assert 70 < held.coverage < 90
    json.dumps(result.as_dict())


@pytest.mark.parametrize("name", ["RTX 4090", "M3 Ultra", "RX 580", "Raspberry Pi 5", "H100", "Arc B580"])
def test_no_band_reaches_below_the_floor(name: str) -> None:
    for quant in ("Q4_0", "F16"):
        r = predict.inference("llama-2-7b", name, quant=quant, gpu_layers=10**6)
        assert r.single.bound <= r.single.low <= r.single.seconds < r.single.high
        assert r.first_token.bound <= r.first_token.low <= r.first_token.seconds < r.first_token.high
