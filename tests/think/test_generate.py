"""Answers: stopping, streaming, sliding, candidates, templates, errors."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from hypothesis import given
from hypothesis import strategies as st

from whygpu import engine, models, think
from whygpu.engine import UserError
from whygpu.think.sandbox import render
from whygpu.think.streaming import TextStream


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[think.Model, Any]:
    """A tiny model of 300 tokens and a context of 256, and transformers' own."""
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    reference = tiny_models.llama(path)
    return think.load(path, path="portable"), reference


@pytest.fixture(scope="module")
def model(both: tuple[think.Model, Any]) -> think.Model:
    return both[0]


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
        ({"context": 4, "slide": True}, "context: 4 is too small to slide"),
        ({"candidates": -1}, "candidates: -1"),
        ({"temperature": float("nan")}, "temperature: nan is not possible"),
        ({"prompt": "half \ud83d"}, "the prompt is not UTF-8 text .character 6."),
        ({"system": "\udcff"}, "the prompt is not UTF-8 text .character 1."),
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


def test_a_full_context_slides(both: tuple[think.Model, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a slow account of the rule, each token by a whole pass of transformers over what is left."""
    model, reference = both
    monkeypatch.setattr(model.tokenizer, "ends", frozenset())
    answer = think.generate(model, "abcdefghij", max_tokens=40, chat=False, context=20, slide=True)
    said = [token.id for token in answer]
    window, expected, slides = list(answer.prompt_ids), [], 0
    for step in range(40):
        expected += tiny_models.reference_greedy(reference, window, 1)
        window.append(expected[-1])
        if len(window) == 20 and step < 39:
            window = window[:4] + window[12:]  # four first tokens stay, and of the other 16 the later half
            slides += 1
    assert said == expected
    assert answer.statistics.slides == slides == 4
    assert answer.statistics.finish == "length"
    # the four kept tokens are still in the cache; the eight after them stand at new positions
    assert answer.statistics.prefill_tokens == 10 + slides * 8
    assert answer.statistics.decode_steps == 40 - 1 - slides


def test_a_slide_keeps_the_system_message(model: think.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model.tokenizer, "ends", frozenset())
    answer = think.generate(model, "hello", system="rules", max_tokens=99, context=64, slide=True)
    assert answer.rules.keep == len("[system]rules[user]")
    list(answer)
    assert model.tokenizer.decode(answer._window).startswith("[system]rules[user]")


def test_candidates_are_the_likeliest_next_tokens(both: tuple[think.Model, Any]) -> None:
    model, reference = both
    answer = think.generate(model, "ab", max_tokens=3, chat=False, candidates=5)
    tokens = list(answer)
    ids = list(answer.prompt_ids)
    for token in tokens:
        scores = tiny_models.reference_logits(reference, ids)[-1].astype(np.float64)
        expected = np.exp(scores - scores.max())
        expected /= expected.sum()
        assert [c.id for c in token.candidates] == np.argsort(-expected)[:5].tolist()
        found = [c.probability for c in token.candidates]
        np.testing.assert_allclose(found, -np.sort(-expected)[:5], rtol=1e-3)
        assert [c.chance for c in token.candidates] == [1.0, 0, 0, 0, 0]  # greedy
        assert token.probability == token.candidates[0].probability
        ids.append(token.id)
    names = {c.text for token in tokens for c in token.candidates if c.id > 255}
    assert all(name.startswith("<|") for name in names)  # control tokens are written out
    assert next(think.generate(model, "ab")).candidates == ()


def test_stopping_keeps_what_was_said(model: think.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model.tokenizer, "ends", frozenset())
    answer = think.generate(model, "abc", max_tokens=50)
    said = [next(answer).id for _ in range(7)]
    answer.stop()
    assert list(answer) == []
    assert answer.ids == said
    assert (answer.statistics.finish, answer.statistics.generated_tokens) == ("interrupted", 7)
    assert answer.text == model.tokenizer.decode(said)[: len(answer.text)]
    unheard = think.generate(model, "abc")
    unheard.stop()
    assert list(unheard) == []
    assert (unheard.text, unheard.statistics.prefill_tokens) == ("", 0)


def test_a_long_prompt_can_be_stopped_between_chunks(
    model: think.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whygpu.think.passes.PREFILL_CHUNK", 4)
    ids = list(range(30, 50))
    cache = think.PrefixCache(model, 64)
    calls = 0

    def between() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise InterruptedError

    with engine.using(model.backend):
        with pytest.raises(InterruptedError):
            cache.prefill(ids, between)
        assert cache.ids == ids[:8]  # two chunks are done
        assert cache.known(ids) == 8
        resumed = cache.prefill(ids)
    np.testing.assert_allclose(resumed, think.logits(model, ids)[-1], atol=1e-4)


def test_a_prefix_is_computed_once(model: think.Model) -> None:
    cache = think.PrefixCache(model, 64)
    first, second = [40, 41, 42, 43, 44], [40, 41, 42, 99, 98, 97]
    with engine.using(model.backend):
        cache.prefill(first)
        assert (cache.known(second), cache.known(first), cache.known([7])) == (3, 4, 0)
        with engine.ledger() as ledger:
            scores = cache.prefill(second)
        after = cache.decode(96)
    rows = {m for (_, name, _, m, _, _) in ledger.counts() if name == "Q"}
    assert rows == {3}
    assert cache.ids == [*second, 96]
    expected = think.logits(model, [*second, 96])
    np.testing.assert_allclose(scores, expected[-2], atol=1e-4)
    np.testing.assert_allclose(after, expected[-1], atol=1e-4)


def test_the_cache_grows_with_the_text(model: think.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whygpu.think.cache.FIRST_ROOM", 2)
    cache = think.Cache(model.architecture, 40)
    ids = list(range(20, 53))
    with engine.using(model.backend):
        think.prefill(model, ids[:3], cache)
        for token in ids[3:]:
            scores = think.decode_one_token(model, token, cache)
        np.testing.assert_allclose(scores, think.logits(model, ids)[-1], atol=1e-4)
        with pytest.raises(UserError, match=r"the context is full: 33 \+ 8 tokens do not fit into 40"):
            think.prefill(model, ids[:8], cache)


def test_scores_that_are_no_numbers_are_one_line(model: think.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = np.full(300, np.nan, np.float32)
    monkeypatch.setattr("whygpu.think.prefix.prefill", lambda *_, **__: broken)
    with pytest.raises(UserError, match="scores are not numbers"):
        next(think.generate(model, "abc"))


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
