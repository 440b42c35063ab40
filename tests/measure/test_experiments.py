"""The article's experiments: counts by exact arithmetic, shapes by the article, sums by definition."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from whygpu.engine import UserError, available_threads
from whygpu.measure import experiments
from whygpu.measure.article import article
from whygpu.measure.experiment_1 import Loop
from whygpu.measure.experiment_2 import gelu, layer_norm
from whygpu.measure.layouts import Layouts, Run, Suspect, softmax
from whygpu.measure.timing import summary

DEMO = Path(__file__).parents[2] / "demo_gpu_matmul.py"


@pytest.fixture(scope="module")
def second() -> experiments.Experiment2:
    return experiments.experiment_2(quick=True)


def test_the_articles_figures_agree_with_each_other() -> None:
    one, two, three = (article()[f"experiment_{number}"] for number in (1, 2, 3))
    # its speedups are its loop, scaled by the cube of the side, over its BLAS times (it prints 2 decimals)
    for side, ms, speedup in zip(one["sides"], one["blas_ms"], one["speedup"], strict=True):
        loop_ms = one["loop_ms"] * (side / one["loop_side"]) ** 3
        assert loop_ms / (ms + 0.005) < speedup * 1.002
        assert loop_ms / (ms - 0.005) > speedup * 0.998
    assert one["loop_ms"] * (4096 / 64) ** 3 / 60e3 == pytest.approx(one["extrapolated_minutes"], rel=0.01)
    assert sum(two["ms"].values()) == pytest.approx(two["layer_ms"], abs=1e-9)
    assert two["layer_ms"] * two["layers"] == pytest.approx(two["model_ms"], abs=0.5)
    assert 2 * 1024**3 / three["matmul_ms"] / 1e6 == pytest.approx(three["matmul_gflops"], abs=1)
    assert 1024**2 / three["elementwise_ms"] / 1e6 == pytest.approx(three["elementwise_gflops"], abs=0.01)


def test_extrapolation_is_by_the_cube() -> None:
    loop = Loop(64, summary([0.0255]))
    assert loop.flop == 2 * 262_144
    assert loop.seconds(64) == 0.0255
    assert loop.seconds(4096) == pytest.approx(0.0255 * 262_144)
    assert loop.seconds(4096) / 60 == pytest.approx(111.4, abs=0.05)


def test_experiment_1() -> None:
    result = experiments.experiment_1(quick=True, torch=False)
    assert [(size.library, size.side) for size in result.sizes] == [("numpy", n) for n in (64, 256, 1024)]
    for size in result.sizes:
        assert size.gflops == pytest.approx(2 * size.side**3 / size.timing.median / 1e9)
        assert size.speedup > 10
        assert size.loop_basis == ("measured here" if size.side == 64 else "derived")
    assert [size.article_speedup for size in result.sizes] == [2378, 14306, 21995]
    assert result.skipped == ("4096 x 4096 (quick)",)
    json.dumps(result.as_dict())


def test_pytorch_is_one_more_column() -> None:
    pytest.importorskip("torch")
    result = experiments.experiment_1(quick=True, torch=True)
    assert [size.library for size in result.sizes].count("torch") == 3
    assert result.libraries[1].startswith("PyTorch ")


def test_the_layers_products(second: experiments.Experiment2) -> None:
    def shapes(layer: experiments.Layer) -> dict[str, tuple[int, ...]]:
        return {step.name: step.shape for step in layer.products}

    square, t, d, f = (1, 512, 768, 768), 512, 768, 3072
    assert shapes(second.one_head) == {
        "Q": square, "K": square, "V": square, "scores": (1, t, t, d), "attention x V": (1, t, d, t),
        "out": square, "FFN up": (1, t, f, d), "FFN down": (1, t, d, f),
    }  # fmt: skip
    assert list(shapes(second.one_head)) == list(article()["experiment_2"]["ms"])
    many = shapes(second.many_heads)
    assert (many["scores"], many["attention x V"]) == ((12, t, t, 64), (12, t, 64, t))
    by_name = {step.name: step for step in second.one_head.steps}
    assert by_name["Q"].flop == 2 * 301_989_888  # the article's 512 x 768 x 768 multiply-adds
    assert by_name["scores"].flop == by_name["attention x V"].flop == 2 * 512 * 512 * 768
    for layer in (second.one_head, second.many_heads):
        # 4 projections, 2 attention products and 2 of the MLP, heads or not
        assert sum(step.flop for step in layer.products) == 2 * (
            4 * t * d * d + 2 * t * t * d + 2 * t * d * f
        )
    assert by_name["FFN up"].bytes == 4 * (t * d + d * f + t * f)


def test_what_is_no_product(second: experiments.Experiment2) -> None:
    others = {step.name: (step.count, step.flop) for step in second.one_head.others}
    t, d, f = 512, 768, 3072
    assert others == {
        "LayerNorm": (2, 2 * 7 * t * d),
        "scale and softmax": (1, 6 * t * t),
        "residual add": (2, 2 * t * d),
        "GELU": (1, 9 * t * f),
    }
    softmax_12 = next(step for step in second.many_heads.others if step.name == "scale and softmax")
    assert softmax_12.flop == 12 * 6 * t * t
    for layer in (second.one_head, second.many_heads):
        assert layer.product_flop_share > 0.99
        assert 0 < layer.product_time_share < 1
        shares = [step["share"] for step in layer.as_dict()["steps"]]
        assert sum(shares) == pytest.approx(1)


def test_the_articles_slow_scores(second: experiments.Experiment2) -> None:
    assert second.article_gap == pytest.approx(7.63 / 0.80)
    assert second.article_rates["scores"] == pytest.approx(402.653184 / 7.63)  # GFLOP/s from MFLOP and ms
    # its median product runs at about 430 to 490 GFLOP/s: 8 to 9 times its scores, on 8 cores
    assert 8 < second.article_slowdown < 9.2
    assert second.layouts.skipped == ()
    codes = {suspect.code for suspect in second.layouts.suspects}
    assert {"view", "contiguous", "copy", "first", "first-of-shape", "softmax", "float64"} <= codes
    assert all(suspect.ratio > 0 for suspect in second.layouts.suspects)
    assert {run.order for run in second.layouts.runs} == {"view", "values"}
    if available_threads() > 1:
        assert {"one-thread", "threads", "threads-there", "busy-core"} <= codes
        assert [run.crowded for run in second.layouts.runs].count(True) == 1
    json.dumps(second.as_dict())


def test_a_disturbed_run_is_told() -> None:
    def run(threads: int, seconds: float) -> Run:
        return Run(threads, "view", False, {}, {"values": summary([seconds])})

    assert Layouts((run(8, 0.02), run(1, 0.004)), (), ()).disturbed
    assert not Layouts((run(8, 0.001), run(1, 0.004)), (), ()).disturbed
    assert not Layouts((run(1, 0.004),), (), ()).disturbed
    assert not Layouts((), (), ()).disturbed


def test_verdicts() -> None:
    verdicts = [Suspect("x", "x", ratio, 9.5).verdict for ratio in (1.0, 1.5, 7.0, 7.2, 20)]
    assert verdicts == ["no", "partly", "partly", "explains", "explains"]


def test_the_other_steps_are_right() -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).standard_normal((5, 768), dtype=np.float32)
    gain, shift = (np.random.default_rng(i).standard_normal(768, dtype=np.float32) for i in (1, 2))
    t = torch.from_numpy(x)
    expected = torch.nn.functional.layer_norm(
        t, (768,), torch.from_numpy(gain), torch.from_numpy(shift), 1e-5
    )
    np.testing.assert_allclose(layer_norm(x, gain, shift), expected.numpy(), atol=2e-5)
    np.testing.assert_allclose(gelu(x), torch.nn.functional.gelu(t, approximate="tanh").numpy(), atol=2e-6)
    np.testing.assert_allclose(softmax(x), torch.softmax(t, -1).numpy(), rtol=2e-5)


def test_experiment_3_counts() -> None:
    result = experiments.experiment_3(quick=True)
    assert result.matmul.flop == 2_147_483_648
    assert result.matmul.exact_flop == 1024 * 1024 * (1024 + 1023)
    assert result.elementwise.flop == 1_048_576
    assert result.matmul.bytes == result.elementwise.bytes == 3 * 4 * 1_048_576
    assert (result.operations_ratio, result.exact_operations_ratio) == (2048, 2047)
    assert result.matmul.intensity == pytest.approx(2 * 1024 / 12)
    assert result.elementwise.intensity == pytest.approx(1 / 12)
    assert result.time_ratio > 1
    json.dumps(result.as_dict())


def test_unknown_experiment() -> None:
    with pytest.raises(UserError, match="known: 1, 2, 3"):
        experiments.run(4)


def test_the_demo_runs_alone(tmp_path: Path) -> None:
    # -S and no site-packages but NumPy's: as on a machine where whygpu is not installed
    (tmp_path / "numpy").symlink_to(Path(np.__file__).parent)
    libraries = Path(np.__file__).parents[1] / "numpy.libs"
    if libraries.exists():
        (tmp_path / "numpy.libs").symlink_to(libraries)
    command = [sys.executable, "-S", "-W", "error", str(DEMO), "--quick", "3"]
    environment = {"PYTHONPATH": str(tmp_path), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "2,048x at 2mnk, 2,047x exactly" in done.stdout
    assert done.stderr == ""


def test_the_demo_explains_itself() -> None:
    done = subprocess.run([sys.executable, str(DEMO), "--help"], capture_output=True, text=True, check=True)
    assert "--quick" in done.stdout
