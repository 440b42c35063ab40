"""Results made of round numbers, so that what the page must say can be worked out by hand."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from whygpu import predict
from whygpu.engine.basis import Basis
from whygpu.measure import Flag, Launch, Rate, Roofline, this_host
from whygpu.measure.experiment_1 import Experiment1, Loop, Size
from whygpu.measure.experiment_2 import Experiment2, Layer, Step
from whygpu.measure.experiment_3 import Experiment3, Operation
from whygpu.measure.layouts import Layouts, Suspect
from whygpu.measure.timing import Timing
from whygpu.story import exhibits as story
from whygpu.story.claims import Here, find, judge
from whygpu.story.claims.schema import ClaimJson, document
from whygpu.story.exhibits import Numbers
from whygpu.story.results import Drawing, ExhibitJson, LedgerResult, LedgerShare, Results, Shape, Thinking


def timing(seconds: float) -> Timing:
    return Timing(seconds, seconds, seconds, seconds, seconds, 5, True)


def roofline() -> Roofline:
    """100 GFLOP/s in float32, 50 in float64, 10 GB/s: the ridge is at 10 FLOP/byte."""
    rates = (
        Rate("gemm", "fp32", 2, (1000, 1000, 1000), 2 * 10**9, 12 * 10**6, 12 * 10**6, timing(0.02)),
        Rate("gemm", "fp64", 2, (1000, 1000, 1000), 2 * 10**9, 24 * 10**6, 24 * 10**6, timing(0.04)),
        Rate("read", "fp32", 1, (10**8,), 25 * 10**6, 10**8, 10**8, timing(0.01)),
    )
    launches = (Launch("matmul", 1, 32, timing(2e-6)),)
    flags = (Flag("battery", "running on battery"), Flag("never-heard-of", "a warning without a translation"))
    return Roofline(this_host(), "2026-01-02T03:04:05+00:00", 1.0, True, "numba", rates, launches, flags)


def experiment_1() -> Experiment1:
    """The loop takes 20 ms at 64, so 64^3 times as long at 4096; BLAS takes 1.024 s there."""
    loop = Loop(64, timing(0.02))
    sizes = (
        Size("numpy", 64, timing(1e-5), loop.seconds(64), Basis.MEASURED, 0.01, 2378),
        Size("numpy", 4096, timing(1.024), loop.seconds(4096), Basis.DERIVED, 287.15, 23305),
    )
    return Experiment1(loop, sizes, ("NumPy 2",), 4096, ())


def experiment_2() -> Experiment2:
    """Two products of 4 ms and one other step of 2 ms: 80 % of the time."""
    shape = (1, 512, 512, 768)
    product = 2 * 512 * 512 * 768
    steps = (
        Step("scores", 1, shape, True, product, 10**6, timing(0.004), 7.63),
        Step("attention x V", 1, (1, 512, 768, 512), True, product, 10**6, timing(0.004), 0.8),
        Step("GELU", 1, (512, 3072), False, 10**6, 10**6, timing(0.002)),
    )
    suspects = (
        Suspect("float64", "in float64", 2.0, 9.5375),
        Suspect("new-idea", "a suspect without words", 1.0, 9.5),
    )
    layer = Layer(1, steps)
    return Experiment2(768, 512, 3072, 12, layer, Layer(12, steps), Layouts((), suspects, ()), 9.5375)


def experiment_3() -> Experiment3:
    n, moved = 1024, 3 * 1024 * 1024 * 4
    matmul = Operation("matmul", n, 2 * n**3, n * n * (2 * n - 1), moved, 0.01, timing(0.008))
    return Experiment3(matmul, Operation("elementwise", n, n * n, n * n, moved, 0.01, timing(0.002)))


def drawing(scene: str = "cube", path: str = "fast", seconds: float = 0.01) -> Drawing:
    return Drawing(
        scene=scene,
        path=path,
        triangles=12,
        vertices=24,
        width=64,
        height=36,
        pixels_lit=100,
        first_seconds=0.5,
        seconds=seconds,
        frames=7,
        frames_per_second=1 / seconds,
        vertices_per_second=24 / seconds,
        stages={"vertex": seconds / 4, "raster": seconds / 2, "shade": seconds / 4},
        image=f"{scene}.png",
    )


def thinking(**changes: Any) -> Thinking:
    values: dict[str, Any] = {
        "model": "tiny",
        "source": "nowhere",
        "invented": False,
        "parameters": 135_000_000,
        "prompt": "Why?",
        "text": "Because.",
        "prompt_tokens": 37,
        "generated_tokens": 33,
        "load_seconds": 1.5,
        "prefill_seconds": 0.5,
        "decode_seconds": 2.0,
        "prefill_tokens_per_second": 74.0,
        "decode_tokens_per_second": 16.0,
        "bytes_per_token": 5e8,
        "bandwidth_share": 0.8,
        "ended": "stop",
    }
    return Thinking(**{**values, **changes})


def share(workload: str, stage: str, name: str, product: bool, flop: int, seconds: float) -> LedgerShare:
    return LedgerShare(
        workload=workload,
        stage=stage,
        name=name,
        is_product=product,
        products=int(product),
        flop=flop,
        bytes=10**6,
        seconds=seconds,
        share=seconds,
        flop_per_byte=flop / 10**6,
    )


def ledger() -> LedgerResult:
    """Drawing: 1/4 of the FLOP are products; thinking: 99/100."""
    rows = [
        share("draw", "raster", "edge functions", True, 25 * 10**5, 0.5),
        share("draw", "shade", "lighting", False, 75 * 10**5, 0.5),
        share("think", "decode", "Q", True, 99 * 10**4, 0.9),
        share("think", "decode", "softmax", False, 10**4, 0.1),
    ]
    shapes = [
        Shape(
            workload=w, name=n, batch=b, m=37, n=64, k=576, dtype="float32", count=3, flop=10**6, seconds=0.1
        )
        for w, n, b in (("draw", "edge functions", 1), ("think", "Q", 9))
    ]
    return LedgerResult(
        frames=2,
        tokens=33,
        totals=rows,
        stages=rows,
        rows=rows,
        largest=shapes,
        product_time_share={"draw": 0.5, "think": 0.9},
        product_flop_share={"draw": 0.25, "think": 0.99},
        invented=False,
    )


SHOWN = ("rotation", "cube", "timeline", "stack", "chips")
"""Exhibits that need nothing measured."""


@pytest.fixture(scope="session")
def exhibits() -> dict[str, Numbers]:
    job = story.Job()
    return {name: story.load(name).numbers(job) for name in SHOWN}


def claims_of_history() -> list[ClaimJson]:
    here = Here("never")
    return document([judge(claim, here) for claim in find("history")]).claims


@pytest.fixture(scope="session")
def make_results(exhibits: dict[str, Numbers]) -> Callable[..., Results]:
    """Results with any part replaced: ``make_results(thinking=None)``."""
    machine = roofline().as_machine()
    shown_there = (machine.name, "GeForce RTX 4090")
    bounds = [
        bound
        for bound in predict.elsewhere(machine)
        if bound.model == "smollm2-135m" and bound.machine.name in shown_there
    ]

    shown, judged = exhibits, claims_of_history()

    def make(**changes: Any) -> Results:
        values: dict[str, Any] = {
            "whygpu": "0.1.0",
            "created": "2026-01-02T03:04:05+00:00",
            "quick": False,
            "device": "cpu",
            "threads": 2,
            "roofline": roofline(),
            "experiment_1": experiment_1(),
            "experiment_2": experiment_2(),
            "experiment_3": experiment_3(),
            "drawings": [drawing(), drawing("character"), drawing("character", "portable", 0.2)],
            "thinking": thinking(),
            "ledger": ledger(),
            "elsewhere": bounds,
            "exhibits": {name: ExhibitJson.model_validate(found.as_dict()) for name, found in shown.items()},
            "claims": judged,
            "seconds": {"machine": 1.0, "draw": 2.0},
        }
        return Results(**{**values, **changes})

    return make


@pytest.fixture(scope="session")
def make_thinking() -> Callable[..., Thinking]:
    return thinking


@pytest.fixture(scope="session")
def make_drawing() -> Callable[..., Drawing]:
    return drawing


@pytest.fixture(scope="session")
def pictures() -> dict[str, bytes]:
    stream = io.BytesIO()
    Image.new("RGB", (64, 36), (200, 90, 10)).save(stream, "PNG")
    return {name: stream.getvalue() for name in ("cube.png", "character.png")}
