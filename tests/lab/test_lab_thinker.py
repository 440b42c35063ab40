"""Several answers side by side: each is what it would be alone; fair, bounded, and it ends when told."""

import asyncio
import threading
import time

import pytest

from whygpu import think
from whygpu.lab.errors import Busy, Gone
from whygpu.lab.sequence import Sequence
from whygpu.lab.thinker import Thinker
from whygpu.lab.turns import Turns
from whygpu.think.generate import rules_for


def sequence(model: think.Model, text: str, count: int) -> Sequence:
    rules = rules_for(model, max_tokens=count, context=200)
    return Sequence(model, model.tokenizer.encode(text), think.Sampler(), rules)


async def words(thinker: Thinker, text: str, count: int) -> str:
    return "".join([step.text async for step in thinker.ask(sequence(thinker.model, text, count))])


def alone(model: think.Model, text: str, count: int) -> str:
    answer = think.generate(model, text, max_tokens=count, chat=False)
    for _ in answer:
        pass
    return answer.text


def test_answers_side_by_side_are_those_alone(tiny_model: think.Model) -> None:
    """Seven of different lengths in three slots: they join and leave between steps."""
    asked = [("th", 30), ("a", 5), ("abc" * 30, 20), ("the", 1), ("x", 12), ("th", 9), ("qrs", 25)]
    thinker = Thinker(tiny_model, slots=3, context=200)
    said = asyncio.run(_all(thinker, asked))
    thinker.close(0)
    assert said == [alone(tiny_model, *each) for each in asked]
    assert thinker.steps < sum(count for _, count in asked)  # they did go side by side
    assert thinker.tokens == sum(count for _, count in asked)


async def _all(thinker: Thinker, asked: list[tuple[str, int]]) -> list[str]:
    return await asyncio.gather(*(words(thinker, *each) for each in asked))


def test_more_than_may_wait_are_told_so(tiny_model: think.Model) -> None:
    thinker = Thinker(tiny_model, slots=1, context=200, queue=2)

    async def ask() -> int:
        refused, answers = 0, []
        for _ in range(12):
            try:
                answers.append(thinker.ask(sequence(tiny_model, "th", 150)))
            except Busy:
                refused += 1
        for answer in answers:
            answer.cancel()
        return refused

    assert asyncio.run(ask()) >= 9
    thinker.close(0)


def test_it_ends_while_somebody_listens(tiny_model: think.Model) -> None:
    thinker = Thinker(tiny_model, slots=1, context=200)

    async def ask() -> float:
        running = thinker.ask(sequence(tiny_model, "th", 190))
        waiting = thinker.ask(sequence(tiny_model, "th", 190))
        await anext(running)
        started = time.monotonic()
        closing = asyncio.get_running_loop().run_in_executor(None, thinker.close, 0.2)
        with pytest.raises(Gone):
            await anext(waiting)
        with pytest.raises((Gone, StopAsyncIteration)):
            while True:
                await anext(running)
        await closing
        with pytest.raises(Busy):
            thinker.ask(sequence(tiny_model, "th", 1))
        return time.monotonic() - started

    assert asyncio.run(ask()) < 2


def test_memory_bounds_the_slots(tiny_model: think.Model) -> None:
    each = Thinker(tiny_model, slots=1, context=200)
    few = Thinker(tiny_model, slots=16, context=200, memory=3.5 * each.cache_bytes)
    assert few.slots == 3
    assert few.cache_bytes == 3 * each.cache_bytes
    for thinker in (each, few):
        thinker.close(0)


def test_turns_go_round() -> None:
    """Whoever asks for the next turn at once does not push in before those who waited."""
    turns, order = Turns(), []
    ready = threading.Barrier(3)

    def work(name: str) -> None:
        ready.wait()
        for _ in range(40):
            with turns:
                order.append(name)
                time.sleep(0.0005)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    middle = order[6:90]
    assert all(len(set(middle[at : at + 6])) == 3 for at in range(0, len(middle) - 6, 3))
