"""The roofline bound, by hand from datasheet figures."""

import dataclasses
import json

import pytest

from whygpu import models, predict
from whygpu.engine import Basis, UserError
from whygpu.measure import Figure, Machine


def figure(value: float) -> Figure:
    return Figure(value, Basis.DATASHEET, "by hand")


def test_gpt_3_on_an_a100() -> None:
    """The article: 1.1 ms in one place (arithmetic), 175 ms in another (bandwidth): the second binds."""
    gpt3 = models.get("gpt-3-175b")
    a100 = predict.hardware("A100 SXM4 80GB")
    result = predict.bound(a100, gpt3, bits_per_weight=16)
    # 12 d^2 weights a layer and the head, 2 FLOP each; attention over the one token itself
    products = 96 * 12 * 12288**2 + 50257 * 12288
    assert result.flop.value == 2 * products + 96 * 4 * 12288
    assert result.arithmetic_seconds == pytest.approx(2 * products / 312e12, rel=2e-5)
    assert result.arithmetic_seconds == pytest.approx(1.12e-3, rel=0.01)
    assert result.bandwidth_seconds == pytest.approx(350e9 / 2039e9, rel=0.005)  # 172 ms
    assert result.seconds == result.bandwidth_seconds
    assert result.binds == "bandwidth"
    assert result.fits is False
    assert result.needed.value == pytest.approx(350e9, rel=0.003)
    assert result.dtype == "fp16"
    assert result.ridge == pytest.approx(312e12 / 2039e9)
    assert result.as_dict()["label"] == "roofline bound, no band yet"


def test_the_articles_processor() -> None:
    """The article says 350 s a token on a CPU; right are 0.35 s (1 TFLOP/s) and 3.9 s (89.6 GB/s)."""
    cpu = Machine("article", "cpu", {"fp32": figure(1e12)}, figure(89.6e9), memory=figure(192 * 2.0**30))
    result = predict.bound(cpu, models.get("gpt-3-175b"), bits_per_weight=16)
    assert result.arithmetic_seconds == pytest.approx(0.35, rel=0.01)
    assert result.bandwidth_seconds == pytest.approx(3.9, rel=0.01)
    assert result.seconds == pytest.approx(3.9, rel=0.01)
    assert result.fits is False
    i9 = predict.bound(predict.hardware("i9-14900K"), models.get("gpt-3-175b"), bits_per_weight=16)
    assert i9.dtype == "fp32"
    assert i9.bandwidth_seconds == pytest.approx(3.9, rel=0.01)


def test_llama_3_8b_at_4_5_bits() -> None:
    llama = models.get("llama-3-8b")
    result = predict.bound(predict.hardware("4090"), llama, bits_per_weight=4.5, context=0)
    # 8,030,261,248 weights (the model card's 8.03B), of which the embedding's 128256 x 4096 are not read
    read = (8_030_261_248 - 128256 * 4096) * 4.5 / 8 + 2 * 2 * 32 * 8 * 128
    assert result.bytes.value == pytest.approx(read)
    assert result.bandwidth_seconds == pytest.approx(read / 1008e9)
    assert result.fits is True
    assert result.binds == "bandwidth"


def test_the_cache_grows_with_the_context() -> None:
    llama = models.get("llama-3-8b")
    machine = predict.hardware("4090")
    empty, long = (predict.bound(machine, llama, bits_per_weight=4.5, context=n) for n in (0, 8000))
    # K and V of 8 heads x 128 in 32 layers, 2 bytes each: 131,072 bytes a token
    assert long.bytes.value - empty.bytes.value == 8000 * 131_072
    assert long.needed.value - empty.needed.value == 8000 * 131_072
    # scores and weighted V: 2 x 2 FLOP x 32 heads x 128 in 32 layers a token
    assert long.flop.value - empty.flop.value == 8000 * 4 * 32 * 128 * 32


def test_arithmetic_can_bind() -> None:
    slow = Machine("slow", "cpu", {"fp32": figure(1e9)}, figure(1e12))
    result = predict.bound(slow, models.get("smollm2-135m"))
    assert result.binds == "arithmetic"
    assert result.seconds == result.flop.value / 1e9
    assert result.fits is None  # its memory is not known


def test_formats() -> None:
    smol = models.get("smollm2-135m")
    assert predict.bound(predict.hardware("GTX 580"), smol).dtype == "fp32"  # no fp16 there
    assert predict.bound(predict.hardware("H100 SXM5 80GB"), smol, dtype="fp8").peak.value == 1979e12
    with pytest.raises(UserError, match="no published peak for fp8; it has"):
        predict.bound(predict.hardware("A100 SXM4 80GB"), smol, dtype="fp8")
    with pytest.raises(UserError, match="dtype 'fp7' is unknown"):
        predict.bound(predict.hardware("A100 SXM4 80GB"), smol, dtype="fp7")
    with pytest.raises(UserError, match="nothing can be bounded"):
        predict.bound(predict.hardware("WSE-3 (CS-3)"), smol)


@pytest.mark.parametrize("bits", [0.0, -4.0, 65.0, float("nan")])
def test_impossible_bits(bits: float) -> None:
    with pytest.raises(UserError, match="give 1 to 64"):
        predict.bound(predict.hardware("4090"), models.get("smollm2-135m"), bits_per_weight=bits)


@pytest.mark.parametrize("context", [-1, 2048, 10**9])
def test_impossible_context(context: int) -> None:
    with pytest.raises(UserError, match="holds 0 to 2047"):
        predict.bound(predict.hardware("4090"), models.get("gpt-3-175b"), context=context)


def test_elsewhere() -> None:
    here = Machine("here", "cpu", {"fp32": figure(2e11)}, figure(5e10), memory=figure(24 * 2.0**30))
    table = predict.elsewhere(here)
    machines = list(dict.fromkeys(bound.machine.name for bound in table))
    assert machines == [
        "here", "Core i9-14900K", "GeForce RTX 4090", "A100 SXM4 80GB", "H100 SXM5 80GB", "B200 SXM 180GB",
        "M4 Max",
    ]  # fmt: skip
    assert len(table) == 3 * len(machines)
    by_key = {(bound.machine.name, bound.model): bound for bound in table}
    b200 = by_key["B200 SXM 180GB", "gpt-3-175b"]
    assert (b200.bits, b200.fits) == (16, False)  # 350 GB against 180 GiB
    assert b200.seconds == pytest.approx(350e9 / 7.7e12, rel=0.01)
    assert by_key["M4 Max", "gpt-3-175b"].seconds == pytest.approx(350e9 / 546e9, rel=0.01)
    assert by_key["here", "llama-3-8b"].bits == 4.5
    assert all(bound.fits for bound in table if bound.model != "gpt-3-175b")
    assert not any(bound.fits for bound in table if bound.model == "gpt-3-175b")
    assert set(predict.labels()) == {bound.model for bound in table}
    json.dumps([bound.as_dict() for bound in table])
    assert len(predict.elsewhere()) == 18


def test_elsewhere_says_what_to_expect() -> None:
    """Above the floor, with a band and a basis; a model that ran here sets this machine's own."""
    here = Machine("here", "cpu", {"fp32": figure(2e11)}, figure(5e10), memory=figure(24 * 2.0**30))
    for bound in predict.elsewhere(here):
        e = bound.expected
        assert e is not None
        assert bound.seconds < e.seconds == bound.likely
        assert e.low < e.seconds < e.high
    known = next(b for b in predict.elsewhere() if b.machine.name == "GeForce RTX 4090" and b.bits == 4.5)
    assert known.expected is not None
    assert known.expected.basis == "itself"
    assert known.as_dict()["label"] != predict.LABEL
    own = predict.own_factor(here, "smollm2-135m", 4e-3)
    ours = predict.elsewhere(here, own=own)[0]
    assert ours.expected is not None
    assert ours.expected.basis == "here"
    assert ours.likely == pytest.approx(4e-3, rel=0.01)
    fast = predict.own_factor(here, "smollm2-135m", 2.2e-3)  # near this machine's own roof
    for bound in predict.elsewhere(here, own=fast):
        assert bound.expected is not None
        assert bound.seconds <= bound.expected.low <= bound.expected.seconds <= bound.expected.high


def test_a_machine_must_make_sense() -> None:
    machine = predict.hardware("4090")
    with pytest.raises(UserError, match="kind 'rocket' is unknown"):
        dataclasses.replace(machine, kind="rocket")
    with pytest.raises(UserError, match="bandwidth is 0"):
        dataclasses.replace(machine, bandwidth=figure(0))
    with pytest.raises(UserError, match="not a figure"):
        figure(float("nan"))
    with pytest.raises(UserError, match="dtype 'fp7' is unknown"):
        dataclasses.replace(machine, flops={"fp7": figure(1)})
