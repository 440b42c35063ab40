"""The main job as a user runs it, once, quick; everything it leaves behind is checked."""

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from PIL import Image

from whygpu import models
from whygpu.story import exhibits
from whygpu.story.claims import claims
from whygpu.story.results import schema

ROOT = Path(__file__).parents[2]

Json = dict[str, Any]


@pytest.fixture(scope="module")
def job(whygpu, tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("job")
    return whygpu("--quick", "--json", "--out", "report", cwd=folder, timeout=300), folder / "report"


@pytest.fixture(scope="module")
def results(job: tuple[subprocess.CompletedProcess[str], Path]) -> Json:
    out, _ = job
    assert out.returncode == 0, out.stderr
    parsed: Json = json.loads(out.stdout)  # stdout carries the JSON alone
    return parsed


def test_schema_is_documented_and_kept(results: Json) -> None:
    documented = json.loads((ROOT / "docs" / "results.schema.json").read_text(encoding="utf-8"))
    assert documented == json.loads(json.dumps(schema()))
    jsonschema.validate(results, documented)


def test_files(job: tuple[subprocess.CompletedProcess[str], Path], results: Json) -> None:
    _, folder = job
    names = {path.name for path in folder.iterdir()}
    assert names == {"report.html", "results.json", "cube.png", "character.png", "frame.png"}
    assert json.loads((folder / "results.json").read_text(encoding="utf-8")) == results
    for drawing in results["drawings"]:
        with Image.open(folder / drawing["image"]) as picture:
            assert picture.size == (drawing["width"], drawing["height"])
            assert len(picture.convert("RGB").getcolors(1 << 24)) > 20  # something was drawn and shaded


def test_the_page_shows_the_exhibits_that_a_quick_run_has_time_for(
    job: tuple[subprocess.CompletedProcess[str], Path], results: Json
) -> None:
    page = (job[1] / "report.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 8_000_000
    assert set(results["exhibits"]) == set(exhibits.NAMES) - {"parallel", "sphere", "batch"}
    assert results["left_out"] == {}
    for name in results["exhibits"]:
        assert page.count(f'id="x-{name}"') == 1
    same = results["exhibits"]["same"]["figures"]  # what the main job measured, not another measurement
    fast = next(d for d in results["drawings"] if (d["scene"], d["path"]) == ("character", "fast"))
    assert same["frames"]["value"] == pytest.approx(fast["frames_per_second"])
    assert same["tokens"]["value"] == pytest.approx(results["thinking"]["decode_tokens_per_second"])
    ridge = results["exhibits"]["roofline"]["figures"]
    assert ridge["ridge"]["value"] == pytest.approx(ridge["peak"]["value"] / ridge["bandwidth"]["value"])


def test_claims_are_judged_with_what_was_measured(results: Json) -> None:
    verdicts = {claim["id"]: claim["verdict"] for claim in results["claims"]}
    assert len(verdicts) == len(claims())
    assert verdicts["v100-year"] == "wrong" and verdicts["cuda-year"] == "exact"
    loop = next(claim for claim in results["claims"] if claim["id"] == "loop-time")
    assert loop["computed"] == pytest.approx(results["experiment_1"]["loop"]["timing"]["minimum"] * 1e3)


def test_scenes_have_the_promised_sizes(results: Json) -> None:
    drawn = {(drawing["scene"], drawing["path"]): drawing for drawing in results["drawings"]}
    fast, portable = ("cube", "character", "frame"), ("cube", "character")
    assert set(drawn) == {*((scene, "fast") for scene in fast), *((scene, "portable") for scene in portable)}
    assert drawn["cube", "fast"]["triangles"] == 12
    assert drawn["character", "fast"]["triangles"] == pytest.approx(100_000, rel=0.15)
    assert drawn["character", "fast"]["vertices"] == pytest.approx(50_000, rel=0.15)
    assert drawn["frame", "fast"]["triangles"] == pytest.approx(2_000_000, rel=0.15)
    for scene in ("cube", "character"):
        assert drawn[scene, "fast"]["pixels_lit"] == drawn[scene, "portable"]["pixels_lit"]


def test_the_model_answered(results: Json) -> None:
    thinking = results["thinking"]
    assert not thinking["invented"]
    assert thinking["parameters"] == 134_515_008
    assert len(thinking["text"].split()) > 5
    assert thinking["bytes_per_token"] == pytest.approx(
        98e6, rel=0.05
    )  # the file's bytes: nothing is unpacked
    assert 0 < thinking["bandwidth_share"] < 1.5


def test_the_ledger_holds_what_the_list_of_products_says(results: Json) -> None:
    """Products of the run = products of the model's list, pass by pass."""
    thinking = results["thinking"]
    shape = models.get("smollm2-135m")
    prompt = thinking["prompt_tokens"]
    how = {"chunk": models.FAST_CHUNK, "tiles": models.FAST_TILES}
    passes = [models.matmuls(shape, tokens=prompt, **how)]
    steps = round(thinking["decode_tokens_per_second"] * thinking["decode_seconds"])
    passes += [models.matmuls(shape, tokens=1, past=prompt + step, **how) for step in range(steps)]
    rows = [row for row in results["ledger"]["totals"] if row["workload"] == "think" and row["is_product"]]
    assert len(rows) == 1
    assert rows[0]["products"] == sum(work.count for works in passes for work in works)
    assert rows[0]["flop"] == sum(work.flop for works in passes for work in works)


def test_shares_add_up(results: Json) -> None:
    for workload in ("draw", "think"):
        rows = [row for row in results["ledger"]["rows"] if row["workload"] == workload]
        assert sum(row["share"] for row in rows) == pytest.approx(1)
        assert 0 < results["ledger"]["product_time_share"][workload] < 1
    assert len([shape for shape in results["ledger"]["largest"] if shape["workload"] == "think"]) == 5


def test_elsewhere_is_the_arithmetic_of_the_datasheets(results: Json) -> None:
    bounds = {(bound["machine"], bound["model"]): bound for bound in results["elsewhere"]}
    gpt3 = bounds["A100 SXM4 80GB", "gpt-3-175b"]
    # 174.6e9 parameters in fp16 over 2,039 GB/s; 2 FLOP a parameter over 312 TFLOP/s
    assert gpt3["bandwidth_seconds"] == pytest.approx(2 * 174.6e9 / 2039e9, rel=0.01)
    assert gpt3["arithmetic_seconds"] == pytest.approx(2 * 174.6e9 / 312e12, rel=0.01)
    assert gpt3["binds"] == "bandwidth"
    assert gpt3["fits"] is False
    assert {machine for machine, _ in bounds} >= {
        "Core i9-14900K",
        "GeForce RTX 4090",
        "M4 Max",
        "B200 SXM 180GB",
    }


def test_tables_in_chinese_fit_and_name_everything(whygpu, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    from rich.cells import cell_len

    out = whygpu("--quick", "--no-think", "--lang", "zh", cwd=tmp_path, timeout=300)
    assert out.returncode == 0, out.stderr
    assert max(cell_len(line.rstrip()) for line in out.stdout.splitlines()[:-1]) <= 100
    for words in ("这台机器", "纯 Python 对 BLAS", "绘制", "同一台引擎", "换台机器"):
        assert words in out.stdout
    assert out.stdout.strip().splitlines()[-1].endswith("whygpu-report/report.html")
    assert 'lang="zh' in (tmp_path / "whygpu-report" / "report.html").read_text(encoding="utf-8")


def test_offline_without_a_model_says_so_everywhere(whygpu, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """No network (a proxy that refuses) and an empty cache: random weights, named as such."""
    offline = {
        "WHYGPU_CACHE": str(tmp_path / "cache"),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "PIP_RETRIES": "0",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "",
    }
    out = whygpu("--quick", "--no-draw", cwd=tmp_path, timeout=300, **offline)
    assert out.returncode == 0, out.stderr
    assert "the weights are random" in out.stdout
    results = json.loads((tmp_path / "whygpu-report" / "results.json").read_text(encoding="utf-8"))
    assert results["thinking"]["invented"] is True
    assert "random weights" in results["thinking"]["source"]
    named = whygpu("--quick", "--no-draw", "--model", "smollm2-135m", cwd=tmp_path, timeout=300, **offline)
    assert named.returncode == 2
    assert "smollm2-135m" in named.stderr.strip().splitlines()[-1]
