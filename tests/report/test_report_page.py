"""The page as text: what it says, that it asks the network for nothing, that foreign words stay words."""

import json
import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from importlib import resources
from typing import Any

import pytest

from whygpu import report
from whygpu.engine import UserError
from whygpu.report.palette import DARK, LIGHT
from whygpu.story.exhibits import Numbers
from whygpu.story.results import Results

Make = Callable[..., Any]


ORDER = [
    "drawing", "processors", "cuda", "model", "token", "same", "history", "experiments", "ecosystem",
    "bandwidth", "needs", "claims", "chain", "sources", "glossary",
]  # fmt: skip


class Page(HTMLParser):
    """Elements with their attributes, the text of each script, and the visible text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.text = ""
        self.inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.elements.append((tag, values))
        self.inside = tag
        if tag == "script":
            self.scripts.append((values, ""))

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self.inside != "style":
            self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def data(self, name: str) -> Any:
        return next(json.loads(text) for attributes, text in self.scripts if attributes.get("id") == name)

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


def build(
    results: Results,
    images: Mapping[str, bytes],
    language: str = "en",
    exhibits: Mapping[str, Numbers] | None = None,
) -> Page:
    return Page(report.html(results, language=language, images=images, exhibits=exhibits))


@pytest.fixture(scope="module", params=["en", "zh"])
def page(
    request: pytest.FixtureRequest,
    make_results: Make,
    pictures: dict[str, bytes],
    exhibits: dict[str, Numbers],
) -> Page:
    return build(make_results(), pictures, request.param, exhibits)


@pytest.fixture(scope="module")
def english(make_results: Make, pictures: dict[str, bytes], exhibits: dict[str, Numbers]) -> Page:
    return build(make_results(), pictures, exhibits=exhibits)


def test_document_says_its_language(make_results: Make, pictures: dict[str, bytes]) -> None:
    assert build(make_results(), pictures, "en").all("html")[0]["lang"] == "en"
    assert build(make_results(), pictures, "zh").all("html")[0]["lang"] == "zh-Hans"
    with pytest.raises(UserError, match="known: en, zh"):
        build(make_results(), pictures, "fr")


def test_nothing_is_fetched(page: Page) -> None:
    for tag, attributes in page.elements:
        for name in ("src", "srcset", "data", "poster", "action", "background"):
            assert attributes.get(name, "data:").startswith("data:"), (tag, attributes)
        if tag == "link":
            assert attributes["href"].startswith("data:")
        if tag == "a":
            assert attributes["href"].startswith(("#", "https://"))
    style = resources.files("whygpu.report").joinpath("templates")
    for name in ("base.css", "parts.css", "story.css", "media.css"):
        assert not re.search(r"url\(|@import", style.joinpath(name).read_text())


def test_policy_forbids_every_request_and_every_other_script(page: Page) -> None:
    policy = next(m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]{44}'( 'sha256-[A-Za-z0-9+/=]{44}'){2}", rules["script-src"])
    assert not {"connect-src", "font-src", "frame-src"} & set(rules)


def test_plotly_is_there_once_and_only_simple_traces_are_used(page: Page) -> None:
    assert sum("plotly.js v" in text for _, text in page.scripts) == 1
    charts = page.data("figures")["charts"]
    assert len(charts) == 6
    types = {trace["type"] for chart in charts.values() for trace in chart["figure"]["data"]}
    assert types <= {"scatter", "bar", "heatmap"}
    boxes = {attributes["id"] for attributes in page.all("div") if attributes.get("class") == "chart-box"}
    assert boxes == set(charts)


def test_all_results_are_in_it(english: Page, make_results: Make) -> None:
    assert english.data("results") == make_results().model_dump(mode="json")


def test_markup_is_never_shown_as_text(page: Page) -> None:
    assert "</" not in page.text and "popovertarget" not in page.text


def test_ids_are_unique_and_every_basis_exists(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = {a[key] for _, a in page.elements for key in ("popovertarget", "data-basis") if key in a}
    assert named and named <= set(ids)
    for anchor in page.all("a"):
        if anchor["href"].startswith("#"):
            assert anchor["href"][1:] in ids


def test_every_number_in_a_table_has_a_basis(make_results: Make, pictures: dict[str, bytes]) -> None:
    html = report.html(make_results(), language="en", images=pictures)
    cells = re.findall(r"<td([^>]*)>(.*?)</td>", html, flags=re.S)
    assert len(cells) > 80
    for attributes, content in cells:
        text = re.sub(r"<[^>]+>", "", content)
        if re.search(r"\d", text) and "matrix" not in text:  # "a 4 x 4 matrix" is a description
            assert "data-basis" in attributes, text


def test_pictures_have_words_and_sizes(page: Page) -> None:
    images = page.all("img")
    assert len(images) == 2
    for image in images:
        assert image["alt"] and image["src"].startswith("data:image/png;base64,")
        assert (image["width"], image["height"]) == ("64", "36")


def test_figures_worked_out_by_hand(english: Page) -> None:
    words = english.words
    assert "5,120×" in words  # 0.02 s x 64^3 / 1.024 s
    assert "87.4 min" in words  # 0.02 s x 64^3 = 5242.88 s
    assert "2,047" in words and "2,048" in words  # 2n - 1 and 2n at n = 1024
    assert "99.0 %" in words and "25.0 %" in words
    assert "500 MB" in words and "16.0 tokens/s" in words and "80.0 %" in words
    assert "100 GFLOP/s" in words and "10.0 GB/s" in words
    assert "20.0×" in words  # portable 0.2 s, fast 0.01 s
    assert "needs a correction for drawing" in words
    assert "Matrix products are 80.0 % of a transformer layer’s time once everything else" in words


def test_roofline_points_stand_where_they_belong(english: Page) -> None:
    figure = english.data("figures")["charts"]["chart-roofline"]["figure"]
    lines = [trace for trace in figure["data"] if trace["mode"] == "lines"]
    assert lines[0]["x"][1] == pytest.approx(10.0)  # the ridge: 1e11 / 1e10
    assert lines[0]["y"][1:] == [pytest.approx(1e11)] * 2
    assert lines[1]["y"] == [pytest.approx(5e10)] * 2
    marked = [trace for trace in figure["data"] if "markers" in trace["mode"]]
    points = {(t["name"], round(x, 2)): y for t in marked for x, y in zip(t["x"], t["y"], strict=True)}
    assert points["thinking", 0.99] == pytest.approx(99e4 / 0.9)
    assert points["drawing", 2.5] == pytest.approx(25e5 / 0.5)
    assert points["experiments", 682.67] == pytest.approx(2 * 4096**3 / 1.024)


def test_memory_is_not_blamed_where_arithmetic_binds(
    make_results: Make, make_thinking: Make, pictures: dict[str, bytes]
) -> None:
    assert "it is memory that sets the pace" in build(make_results(), pictures).words
    idle = make_results(thinking=make_thinking(bandwidth_share=0.05))
    assert "memory is the roof that it meets first" in build(idle, pictures).words
    ledger = make_results().ledger.model_copy(deep=True)
    for row in ledger.stages:
        row.flop_per_byte = 20.0  # beyond the ridge of 10
    assert "arithmetic sets the pace" in build(make_results(ledger=ledger), pictures).words


def test_invented_weights_are_announced(make_results: Make, make_thinking: Make) -> None:
    invented = make_results(thinking=make_thinking(invented=True))
    assert "These words are meaningless." in build(invented, {}).words
    assert "这些话没有意义。" in build(invented, {}, "zh").words
    assert "These words are meaningless." not in build(make_results(), {}).words


def test_parts_that_did_not_run_are_left_out(make_results: Make, pictures: dict[str, bytes]) -> None:
    ledger = make_results().ledger
    thought_only = ledger.model_copy(
        update={
            "product_flop_share": {"think": 0.99},
            "product_time_share": {"think": 0.9},
            **{
                key: [row for row in getattr(ledger, key) if row.workload == "think"]
                for key in ("totals", "stages", "rows", "largest")
            },
        }
    )
    nothing: dict[str, Any] = {"drawings": [], "thinking": None, "ledger": None, "elsewhere": []}
    whole = set(ORDER)  # without exhibits: no model, history, ecosystem
    for changes, missing in (
        ({"drawings": [], "ledger": thought_only}, {"drawing"}),
        (nothing, {"drawing", "token", "same", "needs"}),
    ):
        for language in ("en", "zh"):
            view = build(make_results(**changes), {}, language)
            chapters = {a["id"] for a in view.all("section")}
            assert chapters == whole - missing - {"model", "history", "ecosystem"}


def test_chapters_stand_in_the_order_of_the_story(page: Page) -> None:
    told = [a["id"] for a in page.all("section")]
    assert told == [name for name in ORDER if name != "model"]  # (the fixture has no model)
    listed = [a["href"] for a in page.all("a") if a["href"].startswith("#") and a["href"] != "#main"]
    assert listed == [f"#{name}" for name in told]


def test_guesses_have_one_right_choice_and_an_answer(
    make_results: Make, exhibits: dict[str, Numbers]
) -> None:
    html = report.html(make_results(), language="en", images={}, exhibits=exhibits)
    guesses = re.findall(r'<fieldset class="guess" id="guess-(\w+)">(.*?)</fieldset>', html, flags=re.S)
    assert len(guesses) >= 8
    for name, guess in guesses:
        assert len(re.findall('class="choice', guess)) >= 3, name
        assert guess.count('class="choice right"') == 1, name
        assert re.search(r'class="answered".*class="number"', guess, flags=re.S), name
    right = {
        name: re.search(r'choice right"><input[^>]*><span>(.*?)</span>', text)[1] for name, text in guesses
    }  # type: ignore[index]
    assert right["bandwidth"] == "5"  # the ridge is at 10: 5 is nearer than 50 by its ratio
    assert right["same"] == "20 %" and right["token"] == "100 MB"  # 25 %; 500 MB
    assert right["experiments"] == "10,000×"  # 5,120
    assert right["processors"] == "20×"  # 82.58 / 2.58 TFLOP/s by the data sheets


def test_exhibits_show_the_figures_of_the_results(page: Page) -> None:
    """What stands below a picture is what the JSON of the page holds."""
    found = page.data("results")["exhibits"]
    assert {a["id"] for a in page.all("figure") if a.get("class") == "x-exhibit"} == {f"x-{n}" for n in found}
    ratio = found["chips"]["figures"]["fp32"]["value"]
    assert f"{ratio:.1f} ×" in page.text
    assert f"{found['stack']['figures']['looked']['value']:.0f}" in page.words
    last = found["timeline"]["data"]["chips"][-1]
    assert last["name"] in page.words and f"{last['flops'] / last['bandwidth']:.0f}" in page.words


def test_claims_are_told_with_their_verdicts(english: Page) -> None:
    for claim in english.data("results")["claims"]:
        assert " ".join(claim["why"]["en"].split()) in english.words
    assert "✗ wrong: 1" in english.words  # the year of the V100
    assert "2018" in english.words and "Announced in May 2017" in english.words


def test_foreign_sources_are_marked_on_a_chinese_page(
    make_results: Make, exhibits: dict[str, Numbers]
) -> None:
    html = report.html(make_results(), language="zh", images={}, exhibits=exhibits)
    notes = re.findall(r'<p lang="en">(.*?)</p>', html, flags=re.S)
    assert notes and all("出处为英文" in note for note in notes)
    assert "（英文出处）" in html


def test_glossary_speaks_both_languages(page: Page) -> None:
    for word in ("rasterisation", "光栅化", "prefill", "预填充", "decode", "解码", "矩阵乘法", "显存"):
        assert word in page.words


HOSTILE = (
    "</script><script>hacked=1</script><img src=x onerror='hacked=1'>"
    '<!--<script>"{{7*7}}{0}\u2028\u202e &amp;'
)


def test_foreign_words_stay_words(make_results: Make, make_thinking: Make, make_drawing: Make) -> None:
    hostile = make_results(
        thinking=make_thinking(text=HOSTILE, prompt=HOSTILE, model=HOSTILE),
        drawings=[make_drawing(scene=HOSTILE)],
        device=HOSTILE,
        created=HOSTILE,
    )
    page = build(hostile, {})
    calm = build(make_results(), {})
    assert len(page.scripts) == len(calm.scripts) == 5
    assert not page.all("img")
    assert not [a for _, a in page.elements if any(name.startswith("on") for name in a)]
    assert page.data("results")["thinking"]["text"] == HOSTILE
    assert "{{7*7}}{0}" in page.text and "onerror=" in page.text
    assert "\u202e" not in page.text
    figures = json.dumps(page.data("figures"))
    assert "<img" not in figures and "&lt;img" in figures


def test_control_characters_do_not_reach_the_page(make_results: Make, make_thinking: Make) -> None:
    page = build(make_results(thinking=make_thinking(text="a\x00b\x1b[31mc\nd")), {})
    assert "ab[31mc\nd" in page.text
    assert "\x00" not in page.text and "\x1b" not in page.text


def test_it_stays_small_whatever_the_pictures_weigh(make_results: Make) -> None:
    import io

    import numpy as np
    from PIL import Image

    noise = np.random.default_rng(1).integers(0, 256, (900, 1600, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(noise).save(stream, "PNG")  # 4.3 MB: noise does not compress
    images = {"cube.png": stream.getvalue(), "character.png": stream.getvalue()}
    html = report.html(make_results(), language="en", images=images)
    assert len(html.encode()) < 8_000_000
    assert html.count("data:image/webp;base64,") == 2


def test_palette_and_style_sheet_agree() -> None:
    css = resources.files("whygpu.report").joinpath("templates", "base.css").read_text()
    light, dark = css.split("prefers-color-scheme: dark", 1)
    for name in ("paper", "panel", "ink", "soft", "line", "draw", "think", "rest"):
        assert f"--{name}: {LIGHT[name]}" in light
        assert f"--{name}: {DARK[name]}" in dark.split("}", 1)[0]
    assert set(LIGHT) == set(DARK) and len(set(LIGHT.values())) == len(LIGHT)


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_has_contrast(palette: dict[str, str]) -> None:
    """WCAG 2.2 AA: 4.5 to 1 for text."""
    pairs = [("ink", p) for p in ("paper", "panel", "draw2", "draw3", "draw4", "line")]
    pairs += [("soft", "paper"), ("soft", "panel"), ("draw", "paper"), ("think", "paper"), ("here", "paper")]
    for ink, paper in pairs:
        high, low = sorted((luminance(palette[ink]), luminance(palette[paper])), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, paper)
