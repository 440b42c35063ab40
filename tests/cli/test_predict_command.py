"""``whygpu predict`` as a person types it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from whygpu.cli.predict import predict


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "whygpu", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_one_machine_in_json() -> None:
    done = run("predict", "llama-3.1-8b", "--on", "RTX 4090", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (one,) = found["predictions"]
    assert one["machine"] == "GeForce RTX 4090"
    assert one["fits"] is True
    assert one["tokens_per_second_p10"] < one["tokens_per_second"] < one["tokens_per_second_p90"]
    assert sum(one["shares"].values()) == pytest.approx(1)
    assert set(one["changes"]) == {"bandwidth", "arithmetic", "bits", "batch"}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_tables_fit(language: str) -> None:
    for arguments in (
        ["llama-3-70b", "--batch", "4"],
        ["gpt-oss-20b", "--on", "M4 Max"],
        ["deepseek-v3", "--on", "8x H200", "--runtime", "sglang", "--batch", "32", "--prompt-tokens", "4096"],
        ["qwen3-8b", "--train", "--train-tokens", "1e12", "--count", "64"],
        ["--draw", "--triangles", "1000000"],
    ):
        done = run("predict", *arguments, "--lang", language)
        assert done.returncode == 0, done.stderr
        assert all(_width(line) <= 100 for line in done.stdout.splitlines()), done.stdout


def _width(line: str) -> int:
    from rich.cells import cell_len

    return cell_len(line)


def test_choices() -> None:
    done = run("predict", "llama-3-8b", "--sort", "speed", "--min-tok-s", "50", "--budget", "2000", "--json")
    kept = json.loads(done.stdout)["predictions"]
    rates = [one["tokens_per_second"] for one in kept]
    assert rates == sorted(rates, reverse=True)
    assert min(rates) >= 50
    assert "H100 SXM5 80GB" not in {one["machine"] for one in kept}


def test_validation_in_json(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        "id,system,model_path,backend,precision,gemm_quant_mode,isl,osl,batch_size,tp_size,silicon_tpot_ms\n"
        "a,h200_sxm,meta-llama/Llama-3.1-70B,vllm,fp8,fp8,1024,1024,16,4,12.5\n"
        "b,q9000_sxm,meta-llama/Llama-3.1-70B,vllm,fp8,fp8,1024,1024,16,4,12.5\n"
    )
    done = run("predict", "--validate", str(path), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"groups", "unresolved"}
    assert found["groups"][0]["by"] == "all"
    assert set(found["groups"][0]) == {
        "target",
        "by",
        "rows",
        "signed_median",
        "median_abs",
        "p90_abs",
        "coverage",
    }
    assert [entry["id"] for entry in found["unresolved"]] == ["b"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["predict"], "give a MODEL"),
        (["predict", "nonsense"], "its name says no size"),
        (["predict", "llama-3-8b", "--on", "nonsense"], "not in the catalogue"),
        (["predict", "llama-3-8b", "--gpu-layers", "some"], "give a number of blocks"),
        (["predict", "llama-3-8b", "--train"], "--train needs --train-tokens"),
        (["predict", "--validate", "nowhere.csv"], "No such file"),
        (["predict", "missing.gguf"], "no such file"),
        (["predict", "tests"], "tests: has no config.json"),
        (["predict", "llama-3-8b", "--on", ""], "--on names no machine"),
        (["predict", "llama-3-8b", "--hardware", "nowhere.csv"], "No such file"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout


def test_what_is_known() -> None:
    assert json.loads(run("models", "deepseek-v3", "--json").stdout)["cached_values_per_token"] == 61 * 576
    assert json.loads(run("hardware", "RTX 3070 Ti", "--json").stdout)["bandwidth"]["value"] == pytest.approx(
        608e9, rel=0.01
    )


def test_every_term_has_a_name() -> None:
    from whygpu.predict.constants import FORMS
    from whygpu.story.text import LANGUAGES, Texts

    for language in LANGUAGES:
        texts = Texts(language)
        for name, form in FORMS.items():
            if name != "training":  # whose table names other things
                assert [term for term in form.terms if not texts.has(f"predict.term.{term}")] == []


def test_a_link_that_was_measured_here(whygpu, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    asked = ["predict", "llama-3.1-8b", "--on", "A100 80GB", "--count", "2", "--runtime", "vllm", "--json"]
    out = whygpu(*asked, "--link", "here", WHYGPU_CACHE=str(tmp_path))
    assert (out.returncode, out.stdout) == (2, "")
    assert "torchrun --nproc-per-node 2 -m whygpu roofline" in out.stderr
    assert out.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["llama-3-8b", "--draw"], "--draw takes no MODEL"),
        (["llama-3-8b", "--train-tokens", "1e9"], "--train-tokens means nothing"),
        (["--draw", "--count", "3"], "--count means nothing with --draw"),
        (["gpt-3", "--train", "--on", "H100"], "--on means nothing"),
        (["--validate", "x.csv", "--quant", "F16"], "--quant means nothing with --validate"),
        (["llama-3-8b", "--on", "4090", "--prompt-tokens", "9000"], "llama-3-8b holds 1 to 8,192"),
        (["llama-3-8b", "--on", ","], "--on names no machine"),
    ],
)
def test_an_option_that_would_not_be_used_is_refused(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(predict, arguments)  # in this process: the shell's part is tested above
    assert done.exit_code != 0
    assert said in done.output + str(done.exception)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_was_not_understood_is_shown(language: str) -> None:
    done = run(
        "predict",
        "llama 7B mostly Q4_0",
        "--on",
        "4090 bogus,M4 Max",
        "--runtime",
        "metal",
        "--lang",
        language,
    )
    assert done.returncode == 0
    assert "Q4_0" in done.stdout
    assert "bogus" in done.stdout
    assert done.stdout.count("metal") == 1  # of the card, not of the Mac
    assert all(_width(line) <= 100 for line in done.stdout.splitlines())
