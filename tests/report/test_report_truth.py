"""The page claims no more than the run did: random weights, parts left out, kept roofs, disturbed runs."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import pytest

from whygpu import report
from whygpu.measure import Flag, Rate
from whygpu.measure.layouts import Layouts, Run
from whygpu.measure.timing import Timing
from whygpu.story.results import LedgerResult, Results

Make = Callable[..., Any]

RANDOM = re.compile("[Rr]andom weights|随机权重|权重为随机数")


def parts(results: Results, language: str = "en") -> dict[str, str]:
    """The visible words of the opening (``""``), of each chapter, and the figures as JSON (``figures``)."""
    html = report.html(results, language=language, images={})
    figures = re.search(r'id="figures">(.*?)</script>', html, flags=re.S)
    assert figures is not None
    html = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.S)
    pieces = re.split(r'<section class="chapter" id="(\w+)"', html)
    named = {"": pieces[0]} | dict(zip(pieces[1::2], pieces[2::2], strict=True))
    words = {name: " ".join(re.sub(r"<[^>]+>", " ", text).split()) for name, text in named.items()}
    return words | {"figures": figures[1]}


def timing(seconds: float) -> Timing:
    return Timing(seconds, seconds, seconds, seconds, seconds, 5, True)


def only(ledger: LedgerResult, workload: str) -> LedgerResult:
    kept = {
        key: [row for row in getattr(ledger, key) if row.workload == workload]
        for key in ("totals", "stages", "rows", "largest")
    }
    shares = {
        key: {workload: getattr(ledger, key)[workload]}
        for key in ("product_flop_share", "product_time_share")
    }
    return ledger.model_copy(update={**kept, **shares})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_random_weights_are_said_wherever_thinking_is_shown(
    make_results: Make, make_thinking: Make, language: str
) -> None:
    calm = parts(make_results(), language)
    assert not [name for name, words in calm.items() if RANDOM.search(words)]
    page = parts(make_results(thinking=make_thinking(invented=True)), language)
    told = {name: len(RANDOM.findall(words)) for name, words in page.items()}
    assert told[""] >= 2  # both cards of thinking
    assert told["token"] >= 5  # four cards and the table
    assert told["same"] >= 4  # the sentence, the ledger, the other steps, the shapes
    assert told["bandwidth"] >= 1 and told["figures"] >= 3  # the points; the legend and two bars
    opening = {"en": "The weights of that model are random numbers", "zh": "这个模型的权重是随机数"}
    assert opening[language] in page[""]


@pytest.mark.parametrize(
    ("language", "both", "draws", "thinks"),
    [
        ("en", "Drawing and thinking", "frames", "tokens of answer"),
        ("zh", "绘制和思考", "帧画面", "token 的回答"),
    ],
)
def test_prose_claims_only_what_ran(
    make_results: Make, language: str, both: str, draws: str, thinks: str
) -> None:
    whole = make_results()
    assert both in parts(whole, language)["same"] and both in parts(whole, language)["sources"]
    for workload, missing, changes in (
        ("think", draws, {"drawings": []}),
        ("draw", thinks, {"thinking": None}),
    ):
        page = parts(make_results(ledger=only(whole.ledger, workload), **changes), language)
        assert both not in page["same"] + page["sources"]
        assert missing not in page["same"]
    nothing = parts(make_results(drawings=[], thinking=None, ledger=None, elsewhere=[]), language)
    assert both not in "".join(nothing.values())


def test_matrix_by_vector_is_a_rate_of_bytes(make_results: Make) -> None:
    """8192 x 4096: 67.1 MFLOP and 134.3 MB in 4 ms are 16.8 GFLOP/s and 33.6 GB/s."""
    roofline = make_results().roofline
    gemv = Rate("gemv", "fp32", 2, (8192, 4096), 67_108_864, 134_266_880, 134_266_880, timing(0.004))
    page = parts(make_results(roofline=dataclasses.replace(roofline, rates=(*roofline.rates, gemv))))
    assert "Matrix × vector fp32 2 33.6 GB/s 33.6 GB/s" in page["bandwidth"]


def test_stages_come_as_the_pipeline_runs(make_results: Make, make_drawing: Make) -> None:
    drawn = make_drawing().model_copy(update={"stages": {"raster": 0.5, "shade": 0.3, "vertex": 0.2}})
    assert re.search(
        r"vertices\S* rasterisation\S* shading", parts(make_results(drawings=[drawn]))["drawing"]
    )
    ledger = make_results().ledger.model_copy(deep=True)
    names = ["shade", "vertex", "raster"]
    row = ledger.stages[0]
    ledger.stages = [row.model_copy(update={"stage": name}) for name in names] + ledger.stages[2:]
    words = parts(make_results(ledger=ledger))["same"]
    table = words[words.index("The ledger:") :]
    assert table.index("vertices") < table.index("rasterisation") < table.index("shading")


def test_products_without_bytes_show_a_dash_and_why(make_results: Make) -> None:
    ledger = make_results().ledger.model_copy(deep=True)
    ledger.stages[0].bytes, ledger.stages[0].flop_per_byte = 0, 0.0
    html = report.html(make_results(ledger=ledger), language="en", images={})
    note = re.search(r'id="(basis-\d+)"[^>]*>\s*<p>.*?</p>\s*<p>No bytes to count', html)
    assert note is not None
    assert len(re.findall(rf'<td[^>]*data-basis="{note[1]}"[^>]*><span class="what">–', html)) == 2


def test_kept_roofs_say_when_and_how(make_results: Make) -> None:
    roofline = make_results().roofline
    assert "kept from" not in parts(make_results())["bandwidth"]
    assert "kept from" not in parts(make_results(created="2026-01-02T03:13:05+00:00"))["bandwidth"]
    later = parts(make_results(created="2026-01-02T03:15:05+00:00"))
    assert "kept from 2026-01-02 03:04 UTC" in later["bandwidth"]
    assert "2026-01-02 03:04" in parts(make_results(created="2026-01-03T00:00:00+00:00"), "zh")["bandwidth"]
    flag = Flag("busy", "other processes used 31% of the processors meanwhile", {"share": "31%"})
    page = parts(make_results(roofline=dataclasses.replace(roofline, flags=(flag,))))["bandwidth"]
    assert page.count("Other processes used 31% of the processors") == 1
    assert "may be too low" in page and "A point can stand above a horizontal roof" in page


def test_disturbed_runs_say_little(make_results: Make) -> None:
    """One thread (1 ms) beat two (2 ms)."""
    runs = tuple(Run(n, "view", False, {}, {"values": timing(s)}) for n, s in ((2, 0.002), (1, 0.001)))
    two = make_results().experiment_2
    layouts = Layouts(runs, two.layouts.suspects, ())
    disturbed = make_results(experiment_2=dataclasses.replace(two, layouts=layouts))
    assert "the ratios below say little" in parts(disturbed)["experiments"]
    assert "说明不了什么" in parts(disturbed, "zh")["experiments"]
    assert "say little" not in parts(make_results())["experiments"]
