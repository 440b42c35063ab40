"""``whygpu claims`` as a user runs it: tables that fit, JSON that is documented, figures that are kept."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.cells import cell_len

from whygpu.cli.tables.wrap import wrapped
from whygpu.story import claims as story
from whygpu.story.claims.schema import schema

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_json_is_documented_and_complete(whygpu: Any, cache: Path) -> None:
    out = whygpu("claims", "--json", "--no-measure", WHYGPU_CACHE=str(cache))
    assert out.returncode == 0, out.stderr
    documented = json.loads((ROOT / "docs" / "claims.schema.json").read_text(encoding="utf-8"))
    assert documented == json.loads(json.dumps(schema()))
    document = json.loads(out.stdout)
    jsonschema.validate(document, documented)
    assert set(document) == {"claims"}
    assert [claim["id"] for claim in document["claims"]] == list(story.claims())
    product = next(claim for claim in document["claims"] if claim["id"] == "product-size")
    assert product["given"] == product["computed"] == 301_989_888
    assert (product["verdict"], product["basis"]) == ("exact", "derived")
    assert product["with_numbers"] == "512 × 768 × 768"


def test_one_claim_in_full(whygpu: Any, cache: Path) -> None:
    out = whygpu("claims", "gpt3-a100-arithmetic", WHYGPU_CACHE=str(cache))
    assert out.returncode == 0, out.stderr
    for part in ("1.12 ms", "171 ms", "349.2 GB / (2.039 TB/s)", "conditional", "2005.14165", "basis"):
        assert part in out.stdout
    assert max(cell_len(line) for line in out.stdout.splitlines()) <= 100


def test_measured_once_and_kept(whygpu: Any, cache: Path) -> None:
    def ratio(*arguments: str) -> dict[str, Any]:
        out = whygpu("claims", "time-ratio", "--json", *arguments, WHYGPU_CACHE=str(cache))
        assert out.returncode == 0, out.stderr
        (claim,) = json.loads(out.stdout)["claims"]
        found: dict[str, Any] = claim
        return found

    before = ratio("--no-measure")
    assert before["cases"][0]["outcome"] == "missing"
    assert before["computed"] == pytest.approx(4.35 / 2.30)
    measured = ratio()
    assert measured["basis"] == "measured here"
    assert measured["computed"] > 1
    assert ratio("--no-measure")["computed"] == measured["computed"]
    for kept in (cache / "claims").iterdir():
        kept.write_text("not JSON")
    assert ratio("--no-measure")["cases"][0]["outcome"] == "missing"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("gpt3-a100-arithmatic",), "did you mean gpt3-a100-arithmetic"),
        (("x" * 5000,), "is unknown"),
        (("--verdict", "maybe"), "maybe"),
    ],
)
def test_bad_input_is_one_line(whygpu: Any, arguments: tuple[str, ...], line: str) -> None:
    out = whygpu("claims", *arguments)
    assert out.returncode == 2
    assert line in out.stderr
    assert len(out.stderr.strip().splitlines()) == 1
    assert not out.stdout


def test_only_one_verdict(whygpu: Any, cache: Path) -> None:
    out = whygpu("claims", "history", "--verdict", "wrong", "--json", WHYGPU_CACHE=str(cache))
    assert [claim["id"] for claim in json.loads(out.stdout)["claims"]] == ["v100-year"]
    none = whygpu("claims", "v100-year", "--verdict", "exact", WHYGPU_CACHE=str(cache))
    assert none.stdout == "No claim of these has that verdict.\n"


def test_chinese_lines_break_between_characters_but_not_before_a_stop() -> None:
    text = "由欧拉公式，封闭曲面的顶点数约为三角形数的一半。GPT-3 要读 349 GB，很慢。"
    for width in range(12, 60):
        lines = wrapped(text, width).splitlines()
        assert all(cell_len(line) <= width for line in lines)
        assert not any(line[0] in "，。" for line in lines)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
