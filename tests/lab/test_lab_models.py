"""Another model of this disk takes the place of the one that answers: safely, one in memory at a time."""

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from starlette.testclient import TestClient

from whygpu import think
from whygpu.engine import UserError
from whygpu.lab.errors import Busy, Gone, Unknown
from whygpu.lab.host import Host
from whygpu.lab.options import Address, hosted
from whygpu.lab.roots import Roots
from whygpu.lab.sequence import Sequence
from whygpu.lab.state import Lab
from whygpu.think.generate import rules_for

KEY = "key-of-these-tests"
OTHER = "scenes/other.gguf"


@pytest.fixture
def host(tiny_model: think.Model, files: Path) -> Iterator[Host]:
    made = hosted(think.load(tiny_model.path, backend=tiny_model.backend), str(tiny_model.path),
                  Roots([str(files)]), slots=2, queue=4)  # fmt: skip
    yield made
    made.close(0)


def sequence(model: think.Model, count: int) -> Sequence:
    rules = rules_for(model, max_tokens=count, context=100)
    return Sequence(model, model.tokenizer.encode("th"), think.Sampler(), rules)


def test_what_is_here_is_listed_and_nothing_else(host: Host) -> None:
    entries = {entry.id: entry for entry in host.shelf.entries()}
    assert next(iter(entries)) == "tiny"
    assert entries[OTHER].size == Path(entries[OTHER].place).stat().st_size
    assert "scenes/way-out.gguf" not in entries  # a link that leads out of the folder
    assert not [name for name in entries if name.endswith(".obj")]
    for name in ("gpt-4o", "../secret.gguf", "/etc/passwd", "scenes/way-out.gguf"):
        with pytest.raises(Unknown, match="tiny"):
            host.find(name)


def test_answers_end_first_and_the_old_model_is_let_go(host: Host) -> None:
    async def ask() -> tuple[int, str]:
        old = host.thinker
        answer = old.ask(sequence(old.model, 60))
        waiting = [old.ask(sequence(old.model, 20)) for _ in range(3)]  # more than there are slots
        await anext(answer)
        new = await host.get(OTHER)
        assert host.thinker is new
        counts = [1 + len([step async for step in answer])]
        counts += [len([step async for step in each]) for each in waiting]
        assert counts == [60, 20, 20, 20]  # nobody lost a word
        with pytest.raises(Busy, match="another model"):
            old.ask(sequence(old.model, 1))
        return len(new.model.tokenizer), new.model.architecture.name

    gone = weakref.ref(host.thinker.model.portable)  # holds its weights
    first = asyncio.run(ask())
    assert first[1] == OTHER
    gc.collect()
    assert gone() is None
    assert host.state == {"model": OTHER, "state": "ready"}
    assert asyncio.run(host.get("tiny")).model.architecture.name == "tiny"


def test_each_gets_the_model_that_they_named(host: Host) -> None:
    """Two clients that want different models, at once and again and again: in turn, none starves."""

    async def ask(name: str) -> str:
        thinker = await host.get(name)
        steps = [step async for step in thinker.ask(sequence(thinker.model, 5))]
        assert len(steps) == 5
        return thinker.model.architecture.name

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(ask(name) for name in (OTHER, "tiny", OTHER)))

    assert asyncio.run(all_of_them()) == [OTHER, "tiny", OTHER]


def test_what_cannot_be_loaded_changes_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    before = host.thinker
    with pytest.raises(UserError, match="broken"):
        asyncio.run(host.get("scenes/broken.gguf"))
    assert host.thinker is before  # it was refused before anything was let go
    assert host.state["state"] == "failed"
    real, calls = host._load, []

    def fails_once(place: str, progress: Any) -> think.Model:
        calls.append(place)
        if len(calls) == 1:
            raise UserError("the disk went away")
        return real(place, progress)

    monkeypatch.setattr(host, "_load", fails_once)
    with pytest.raises(UserError, match="the disk went away"):
        asyncio.run(host.get(OTHER))
    assert asyncio.run(host.get()).model.architecture.name == "tiny"  # the old one came back
    assert len(calls) == 2


def test_more_than_may_wait_for_a_model_are_told_so_and_an_end_is_an_end(host: Host) -> None:
    entry = host.find(OTHER)
    release = threading.Event()
    real = host._load
    host._load = lambda place, progress: (release.wait(5), real(place, progress))[1]
    futures = [host.wish(entry)]
    while host.state["state"] != "loading":
        time.sleep(0.01)
    with pytest.raises(Busy):
        _ = host.thinker
    with pytest.raises(Busy, match="wait for another model"):
        futures += [host.wish(host.shelf.first) for _ in range(40)]
    host.drain()
    release.set()
    for future in futures[1:]:
        with pytest.raises(Gone):
            future.result(5)
    with pytest.raises(Gone):
        asyncio.run(host.get())


def test_the_official_client_names_another_model(live: Address, lab: Lab) -> None:
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key=KEY, max_retries=0) as official:
        listed = [model.id for model in official.models.list()]
        assert listed[0] == "tiny"
        assert OTHER in listed
        assert official.models.retrieve(OTHER).id == OTHER
        answer = official.completions.create(model=OTHER, prompt="th", max_tokens=7, temperature=0)
        assert answer.model == OTHER
        alone = think.generate(lab.model, "th", max_tokens=7, chat=False)
        assert answer.choices[0].text == "".join(token.text for token in alone)
        assert next(iter(official.models.list())).id == OTHER
        with pytest.raises(openai.NotFoundError, match="known: tiny"):
            official.completions.create(model="gpt-4o", prompt="th")
        with pytest.raises(openai.BadRequestError, match="broken"):
            official.completions.create(model="scenes/broken.gguf", prompt="th")
        assert official.completions.create(model="tiny", prompt="th", max_tokens=2).model == "tiny"


def test_the_page_changes_it_by_post_alone(client: TestClient) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        assert client.request(method, "/api/models").status_code == 405
    assert client.post("/api/models", json={"id": OTHER}, headers={"authorization": ""}).status_code == 401
    assert client.post("/api/models", json={"id": "nothing"}).status_code == 404
    assert client.get("/api/models").json()["model"] == "tiny"
    told = client.post("/api/models", json={"id": OTHER})
    assert told.status_code == 202
    assert (told.json()["state"], told.json()["wanted"]) == ("waiting", OTHER)
    for wanted in (OTHER, "tiny"):
        for _ in range(400):
            now = client.get("/api/models").json()
            if now["state"] == "ready" and now["model"] == wanted:
                break
            time.sleep(0.02)
        assert now["facts"]["name"] == wanted
        assert now["facts"]["layers"] == client.get("/api/facts").json()["model"]["layers"]
        client.post("/api/models", json={"id": "tiny"})
