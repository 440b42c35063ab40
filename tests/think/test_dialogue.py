"""Conversations: history, what is reused of the cache, sliding, interruption."""

from typing import Any

import pytest
import tiny_models

from whygpu import engine, think
from whygpu.engine import UserError


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> think.Model:
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    tiny_models.llama(path)
    return think.load(path)


@pytest.fixture
def endless(model: think.Model, monkeypatch: pytest.MonkeyPatch) -> think.Model:
    """Its tokens never end an answer, and each stands for itself when it is read again."""
    monkeypatch.setattr(model.tokenizer, "ends", frozenset())
    return model


def said(answer: think.Generation) -> list[int]:
    return [token.id for token in answer]


def test_only_what_is_new_is_pushed_through(endless: think.Model) -> None:
    chat = think.Chat(endless, system="s", max_tokens=6)
    first = chat.ask("one")
    said(first)
    assert first.statistics.reused_tokens == 0
    with engine.ledger() as ledger:
        second = chat.ask("two")
        ids = said(second)
    held = [*first.prompt_ids, *first.ids[:-1]]  # the last token was said, not pushed through
    differ = [a != b for a, b in zip(held, second.prompt_ids, strict=False)]
    shared = differ.index(True) if True in differ else len(held)
    assert shared >= len(first.prompt_ids)
    assert second.statistics.reused_tokens == shared
    assert second.statistics.prefill_tokens == len(second.prompt_ids) - shared
    rows = {m for (stage, name, _, m, _, _) in ledger.counts() if (stage, name) == ("prefill", "Q")}
    assert rows == {len(second.prompt_ids) - shared}
    # the same words as an answer that knows nothing of a cache
    assert ids == said(think.generate(endless, chat.messages[:3], system="s", max_tokens=6))
    assert [turn["role"] for turn in chat.messages] == ["user", "assistant"] * 2
    assert chat.messages[1]["content"] == first.text
    assert [spent.generated_tokens for spent in chat.statistics] == [6, 6]
    assert chat.tokens == len(second.prompt_ids) + 5


def test_an_answer_left_early_is_what_was_said(endless: think.Model) -> None:
    chat = think.Chat(endless, max_tokens=20)
    answer = chat.ask("one")
    for _ in range(4):
        next(answer)
    following = chat.ask("two")
    assert answer.statistics.finish == "interrupted"
    assert list(answer) == []
    text = answer.text
    assert chat.messages == [
        {"role": "user", "content": "one"}, {"role": "assistant", "content": text}
    ]  # "two" has no word of an answer yet  # fmt: skip
    next(following)
    assert [turn["content"] for turn in chat.messages][2] == "two"


def test_a_question_stopped_before_its_answer_is_withdrawn(endless: think.Model) -> None:
    chat = think.Chat(endless, max_tokens=3)
    said(chat.ask("one"))
    chat.ask("two").stop()
    said(chat.ask("three"))
    assert [turn["content"] for turn in chat.messages if turn["role"] == "user"] == ["one", "three"]


def test_reset_and_seed(endless: think.Model) -> None:
    chat = think.Chat(endless, max_tokens=8, temperature=1.5, seed=3)
    first = [said(chat.ask("one")), said(chat.ask("one"))]
    chat.reset()
    assert (chat.messages, chat.tokens, chat.statistics) == ([], 0, [])
    assert [said(chat.ask("one")), said(chat.ask("one"))] == first
    assert first[0] != first[1]


def test_a_conversation_that_is_full_says_so_and_stays(endless: think.Model) -> None:
    chat = think.Chat(endless, max_tokens=10, context=64)
    said(chat.ask("one"))
    before = chat.messages
    with pytest.raises(UserError, match="a context of 64 has room for 63"):
        chat.ask("x" * 40)
    assert chat.messages == before
    assert chat.ask("y").prompt_ids


def test_a_sliding_conversation_forgets_its_oldest_turns(endless: think.Model) -> None:
    chat = think.Chat(endless, system="s", max_tokens=5, context=100, slide=True)
    for number in range(12):
        answer = chat.ask(f"question {number}")
        said(answer)
        assert endless.tokenizer.decode(answer.prompt_ids).startswith("[system]s[user]question")
        assert len(answer.prompt_ids) < 100
    assert len(chat.messages) < 24
    assert chat.messages[0]["role"] == "user"
    assert chat.messages[-2]["content"] == "question 11"
    assert len(chat.statistics) == 12
    with pytest.raises(UserError, match="has room for 99"):
        chat.ask("x" * 120)


def test_a_raw_conversation_is_one_text(endless: think.Model) -> None:
    chat = think.Chat(endless, chat=False, max_tokens=4)
    first = chat.ask("one")
    said(first)
    second = chat.ask("two")
    assert endless.tokenizer.decode(second.prompt_ids) == f"one{first.text}\ntwo"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"top_p": 0}, "top_p: 0"),
        ({"max_tokens": 0}, "max_tokens: 0"),
        ({"context": 999}, "context: 999"),
        ({"chat": False, "system": "x"}, "need the chat template"),
    ],
)
def test_bad_values_are_refused_at_once(model: think.Model, how: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        think.Chat(model, **how)


@pytest.mark.parametrize("words", ["", " \n", "\ud800"])
def test_nothing_to_say(model: think.Model, words: str) -> None:
    chat = think.Chat(model)
    with pytest.raises(UserError, match=r"the prompt is (empty|not UTF-8)"):
        chat.ask(words)
    assert chat.messages == []
