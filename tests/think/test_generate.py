"""Answers: sampling, stopping, streaming, templates, errors."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from whygpu import models, think
from whygpu.engine import UserError
from whygpu.think.sampling import Sampler, _penalise
from whygpu.think.sandbox import render
from whygpu.think.streaming import TextStream


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> think.Model:
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    tiny_models.llama(path)
    return think.load(path)


SCORES = np.random.default_rng(3).standard_normal(200).astype(np.float32) * 3


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"top_k": 17}, TopKLogitsWarper(17)),
        ({"top_p": 0.8}, TopPLogitsWarper(0.8)),
        ({"top_p": 0.05}, TopPLogitsWarper(0.05)),
        ({"min_p": 0.1}, MinPLogitsWarper(0.1)),
    ],
)
def test_filters_keep_what_transformers_keeps(ours: dict[str, Any], theirs: Any) -> None:
    expected = theirs(torch.tensor([[0]]), torch.from_numpy(SCORES)[None].double())[0].numpy()
    found = Sampler(temperature=1.0, **ours).filtered(SCORES.astype(np.float64))
    assert np.isfinite(found).any()
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))


def test_repeat_penalty_is_that_of_transformers() -> None:
    history = [1, 5, 5, 80]
    processor = RepetitionPenaltyLogitsProcessor(1.3)
    expected = processor(torch.tensor([history]), torch.from_numpy(SCORES)[None])[0].numpy()
    np.testing.assert_allclose(_penalise(SCORES, history, 1.3), expected, rtol=1e-6)


def test_sampling_follows_the_distribution() -> None:
    scores = np.log(np.array([0.6, 0.3, 0.1], np.float32))
    sampler = Sampler(temperature=1.0, seed=4)
    drawn = [sampler.choose(scores, []) for _ in range(4000)]
    shares = np.bincount([token for token, _ in drawn], minlength=3) / 4000
    np.testing.assert_allclose(shares, [0.6, 0.3, 0.1], atol=0.03)
    assert {round(p, 5) for token, p in drawn if token == 1} == {0.3}
    assert Sampler().choose(scores, []) == (0, pytest.approx(0.6))


def test_seeds(model: think.Model) -> None:
    def said(seed: int) -> list[int]:
        answer = think.generate(model, "a prompt", max_tokens=20, temperature=1.5, seed=seed, chat=False)
        return [token.id for token in answer]

    assert said(1) == said(1)
    assert said(1) != said(2)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"temperature": -1}, "temperature: -1 is not possible; it must be 0 or more"),
        ({"top_p": 0}, "top_p: 0 is not possible"),
        ({"top_k": -1}, "top_k: -1"),
        ({"min_p": 2}, "min_p: 2"),
        ({"repeat_penalty": 0}, "repeat_penalty: 0"),
        ({"seed": -1}, "seed: -1"),
        ({"max_tokens": 0}, "max_tokens: 0"),
        ({"context": 0}, "context: 0 is not possible; .* room for 1 to 256"),
        ({"context": 999}, "context: 999 is not possible"),
        ({"context": 10}, "a context of 10 has room for 9"),
        ({"stop": [""]}, "stop: an empty text"),
        ({"chat": False, "system": "x"}, "need the chat template"),
        ({"prompt": "  \n"}, "the prompt is empty"),
        ({"prompt": []}, "the conversation is empty"),
        ({"prompt": "x" * 300}, "the prompt has 3.. tokens; a context of 256 has room for 255"),
    ],
)
def test_bad_values_are_refused_before_anything_runs(
    model: think.Model, how: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        think.generate(model, **{"prompt": "a longer prompt", **how})
    assert "\n" not in str(caught.value)


def test_ends(model: think.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model.tokenizer, "ends", frozenset())
    answer = think.generate(model, "abc", max_tokens=7)
    assert len(list(answer)) == 7
    assert answer.statistics.finish == "length"
    answer = think.generate(model, "abc", max_tokens=99, context=30)
    assert len(list(answer)) + len(answer.prompt_ids) == 30
    assert answer.statistics.finish == "context"
    assert list(answer) == []  # it is over


def test_the_end_token_stops(model: think.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(think.generate(model, "abc")).id
    monkeypatch.setattr(model.tokenizer, "ends", frozenset({first}))
    answer = think.generate(model, "abc")
    tokens = list(answer)
    assert [token.id for token in tokens] == [first]
    assert (answer.text, answer.statistics.finish) == ("", "stop")


def test_logits_refuse_what_is_no_prompt(model: think.Model) -> None:
    with pytest.raises(UserError, match="no tokens"):
        think.logits(model, [])
    with pytest.raises(UserError, match="token 300 is outside the vocabulary of 300"):
        think.logits(model, [1, 300])
    assert think.logits(model, [1] * 256).shape == (256, 300)
    with pytest.raises(UserError, match="257 tokens"):
        think.logits(model, [1] * 257)


@given(st.text(), st.lists(st.integers(1, 5), min_size=1))
def test_streams_give_whole_characters(text: str, sizes: list[int]) -> None:
    raw, stream, pieces, at = text.encode("utf-8", "replace"), TextStream(), [], 0
    while at < len(raw):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(stream.push(raw[at : at + size]))
        at += size
    assert "".join(pieces) + stream.flush() == raw.decode("utf-8")
    assert not any("\ufffd" in piece for piece in pieces) or "\ufffd" in text


@given(st.text("ab"), st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3))
def test_streams_end_at_the_first_stop(text: str, stops: list[str]) -> None:
    stream, shown = TextStream(stops), ""
    for character in text:
        shown += stream.push(character.encode())
        assert not any(stop in shown for stop in stops)
    shown += stream.flush()
    ends = [text.find(stop) + len(stop) for stop in stops if stop in text]
    if ends:
        cut = min(ends)  # the first stop that is complete
        found = [stop for stop in stops if text[:cut].endswith(stop)]
        assert shown == text[: cut - max(map(len, found))]
        assert stream.stopped
    else:
        assert shown == text


def test_half_a_character_at_the_end_is_dropped() -> None:
    stream = TextStream()
    assert stream.push("é".encode()[:1]) == ""
    assert stream.flush() == ""
    assert TextStream().push(b"a\xffb") == "a\ufffdb"


CHAT = [{"role": "user", "content": "hi"}]


def test_templates_do_what_templates_do() -> None:
    template = """{%- set ns = namespace(n=0) -%}
{%- for m in messages -%}{%- set ns.n = ns.n + 1 -%}
{{ loop.index ~ ':' ~ m['role'] | upper }}={{ m.content | trim }}{{ '' if loop.last else ';' }}
{%- endfor -%}{{ ns.n }} {{ [1, {'a': 'é'}] | tojson }} {{ 'a,b'.split(',')[1] }} {{ x is defined }}"""
    expected = '1:USER=hi;2:USER=hi2 [1, {"a": "é"}] b False'
    assert render(template, {"messages": CHAT * 2}, "t") == expected


@pytest.mark.parametrize(
    "template",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% set r = range(9999) %}{% for a in r %}{% for b in r %}{{ a }}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{{ f(n - 1) }}{{ f(n - 1) }}{% endmacro %}{{ f(60) }}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "{{ 'a' * 10 ** 9 }}",
        "{{ 'a' * 1000000000 }}",
        "{{ [1] * 1000000000 }}",
        "{% set ns = namespace(s='aa') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "{% set ns = namespace(s='aa') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set ns = namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}{% endfor %}"
        "{{ ns.a }}",
        "{% set ns = namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}{% endfor %}"
        "{{ ns.a | tojson }}",
        "{% set ns = namespace(s='a') %}{% for i in range(9) %}"
        "{% set ns.s = ns.s.replace('a', 'aaaaaaaaaa') %}{% endfor %}",
        "{{ 'x'.center(1000000000) }}",
        "{{ (1).to_bytes(1000000000) }}",
        "{{ ['x'] | map('center', 1000000000) | first }}",
        "{{ 'x' | center(1000000000) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__ }}{{ cycler.__init__.__globals__ }}",
        "{{ messages.append(1) }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{{ lipsum(100) }}",
        "{% if %}",
        "{{ 1 / 0 }}",
        "{{ raise_exception('no system role') }}",
        "x" * 70_000,
    ],
)
def test_hostile_templates_end_in_one_line(template: str) -> None:
    with pytest.raises(UserError, match=r"^file: ") as caught:
        text = render(template, {"messages": CHAT}, "file")
        assert not text.strip("{}[]<>"), text[:200]  # attributes that are not there print nothing
        raise UserError("file: printed nothing")
    assert "\n" not in str(caught.value)


def test_a_file_without_a_template_continues_raw_text(model: think.Model, tmp_path: Path) -> None:
    invented = think.invented("gpt2-small", seed=1)
    assert invented.invented
    assert not model.invented
    assert invented.source == "random weights in the shapes of gpt2-small"
    assert invented.architecture.parameters == 124_439_808
    answer = think.generate(invented, "Why do LLMs need GPUs? 为什么", max_tokens=3)
    assert [token.id for token in answer] == [int(i) for i in answer.ids]
    assert invented.tokenizer.decode(answer.prompt_ids) == "Why do LLMs need GPUs? 为什么"
    assert len(invented.tokenizer) == 50257
    with pytest.raises(UserError, match="has no chat template"):
        think.generate(invented, "x", system="y")


def test_absence_is_made_up_for_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any, **__: Any) -> Path:
        raise models.Unavailable("no network")

    monkeypatch.setattr("whygpu.models.locate", gone)
    heard = []
    module = importlib.import_module("whygpu.think.invented")  # the package has a function of that name
    monkeypatch.setattr(module, "invented", lambda **_: "stand-in")
    made = think.load_or_invent(progress=lambda key, *_, **values: heard.append((key, values)))
    assert made == "stand-in"
    assert heard == [("think.invented", {"reason": "no network"})]
    with pytest.raises(models.Unavailable):
        think.load()
