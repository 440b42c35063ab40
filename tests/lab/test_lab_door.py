"""The OpenAI format: asked with the official client over a port, and route by route."""

import base64
import json
import math
import time
from typing import Any

import numpy as np
import openai
import pytest
from starlette.testclient import TestClient

from whygpu import engine, think
from whygpu.lab.options import Address
from whygpu.lab.state import Lab

KEY = "key-of-these-tests"
ASKED = [{"role": "user", "content": "th"}]


@pytest.fixture(scope="module")
def official(live: Address) -> Any:
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key=KEY, max_retries=0) as client:
        yield client


def expected(model: think.Model, count: int) -> think.Generation:
    answer = think.generate(model, [think.Message(role="user", content="th")], max_tokens=count, candidates=3)
    for _ in answer:
        pass
    return answer


def test_models(official: Any, lab: Lab) -> None:
    name = lab.model.architecture.name
    assert next(iter(official.models.list())).id == name
    assert official.models.retrieve(name).id == name
    with pytest.raises(openai.NotFoundError):
        official.models.retrieve("gpt-4o")


def test_a_chat_is_what_think_says(official: Any, lab: Lab) -> None:
    answer = official.chat.completions.create(model="default", messages=ASKED, max_tokens=12, temperature=0)
    wanted = expected(lab.model, 12)
    assert answer.choices[0].message.content == wanted.text
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 12
    assert answer.usage.prompt_tokens == len(wanted.prompt_ids)
    assert answer.usage.total_tokens == 12 + len(wanted.prompt_ids)


def test_a_stream_says_the_same(official: Any, lab: Lab) -> None:
    chunks = list(
        official.chat.completions.create(
            model="default", messages=ASKED, max_tokens=12, temperature=0, stream=True,
            stream_options={"include_usage": True},
        )
    )  # fmt: skip
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == expected(lab.model, 12).text
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == 12
    assert len({chunk.id for chunk in chunks}) == 1


def test_logprobs_are_the_models_own(official: Any, lab: Lab) -> None:
    answer = official.chat.completions.create(
        model="default", messages=ASKED, max_tokens=3, temperature=0, logprobs=True, top_logprobs=3
    )
    told = answer.choices[0].logprobs.content
    wanted = expected(lab.model, 3)
    with engine.using(lab.model.backend):
        scores = think.logits(lab.model, [*wanted.prompt_ids, *wanted.ids[:2]])[-3:]
    for token, row in zip(told, scores, strict=True):
        exact = row - math.log(np.exp(row.astype(np.float64)).sum())
        assert token.logprob == pytest.approx(float(exact.max()), abs=1e-3)
        assert [each.logprob for each in token.top_logprobs] == pytest.approx(
            np.sort(exact)[::-1][:3], abs=1e-3
        )
        assert bytes(token.bytes).decode("utf-8", "replace") == token.token


def test_the_same_seed_says_the_same(official: Any) -> None:
    def ask(seed: int | None) -> str:
        answer = official.completions.create(
            model="default", prompt="th", max_tokens=16, temperature=1, seed=seed
        )
        return str(answer.choices[0].text)

    assert ask(5) == ask(5)
    assert len({ask(None) for _ in range(3)} | {ask(6)}) > 1


def test_a_stop_text_ends_it(official: Any, lab: Lab) -> None:
    whole = (
        official.completions.create(model="default", prompt="th", max_tokens=24, temperature=0)
        .choices[0]
        .text
    )
    stop = whole[6:8]
    cut = official.completions.create(
        model="default", prompt="th", max_tokens=24, temperature=0, stop=[stop, "\0"]
    )
    assert cut.choices[0].text == whole[: whole.index(stop)]
    assert cut.choices[0].finish_reason == "stop"


def test_token_ids_are_a_prompt_too(official: Any, lab: Lab) -> None:
    ids = lab.model.tokenizer.encode("th")
    said = [
        official.completions.create(model="default", prompt=prompt, max_tokens=5, temperature=0)
        .choices[0]
        .text
        for prompt in ("th", ["th"], ids)
    ]
    assert len(set(said)) == 1


def test_embeddings_are_thinks(official: Any, lab: Lab) -> None:
    found = official.embeddings.create(model="default", input=["th", "abc"])
    for entry, text in zip(found.data, ("th", "abc"), strict=True):
        assert entry.embedding == pytest.approx(think.embed(lab.model, text), abs=1e-5)
    assert found.usage.prompt_tokens == sum(len(lab.model.tokenizer.encode(text)) for text in ("th", "abc"))


def test_embeddings_as_bytes(client: TestClient) -> None:
    body = {"model": "default", "input": "th"}
    numbers = client.post("/v1/embeddings", json=body).json()["data"][0]["embedding"]
    coded = client.post("/v1/embeddings", json={**body, "encoding_format": "base64"}).json()["data"][0][
        "embedding"
    ]
    assert np.frombuffer(base64.b64decode(coded), "<f4").tolist() == pytest.approx(numbers)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": ASKED}, "model"),
        ({"model": "default"}, "messages"),
        ({"model": "default", "messages": []}, "messages"),
        ({"model": "default", "messages": ASKED, "temperature": -1}, "temperature"),
        ({"model": "default", "messages": ASKED, "n": 2}, "n"),
        ({"model": "default", "messages": ASKED, "presence_penalty": 0.5}, "presence_penalty.literal[0]"),
        ({"model": "default", "messages": ASKED, "tools": []}, "tools"),
        ({"model": "default", "messages": ASKED, "top_logprobs": 2}, "top_logprobs"),
        ({"model": "default", "messages": [{"role": "robot", "content": "a"}]}, "messages.0.role"),
        ({"model": "default", "messages": ASKED, "stop": ["a"] * 5}, "stop"),
    ],
)
def test_what_cannot_be_is_named(client: TestClient, body: dict[str, Any], param: str) -> None:
    answer = client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["param"].split(".")[0] == param.split(".", maxsplit=1)[0]
    assert "\n" not in error["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b'{"model": NaN', b"\xff\xfe"])
def test_damaged_json_is_one_line(client: TestClient, body: bytes) -> None:
    answer = client.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert "\n" not in answer.json()["error"]["message"]


def test_a_prompt_that_does_not_fit_is_refused(client: TestClient) -> None:
    answer = client.post("/v1/completions", json={"model": "default", "prompt": "a" * 300})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "context_length_exceeded"


def test_the_official_client_is_told_what_is_wrong(live: Address, official: Any, lab: Lab) -> None:
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key="wg-wrong", max_retries=0) as stranger:
        with pytest.raises(openai.AuthenticationError, match="key is missing or wrong"):
            stranger.models.list()
        with pytest.raises(openai.AuthenticationError):
            stranger.completions.create(model="default", prompt="th")
    with pytest.raises(openai.BadRequestError, match="temperature"):
        official.completions.create(model="default", prompt="th", temperature=-1)
    # more than there is room for: as many as there is room for
    answer = official.completions.create(model="default", prompt="th", max_tokens=10**9, temperature=0)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.total_tokens == lab.thinker.context


def test_a_client_that_leaves_frees_its_slot(official: Any, lab: Lab) -> None:
    stream = official.chat.completions.create(model="default", messages=ASKED, max_tokens=220, stream=True)
    next(iter(stream))
    stream.close()
    end = time.monotonic() + 5
    while lab.thinker.active and time.monotonic() < end:
        time.sleep(0.01)
    assert lab.thinker.active == 0
    made = lab.thinker.tokens
    time.sleep(0.1)
    assert lab.thinker.tokens == made


def test_health_needs_no_key(client: TestClient) -> None:
    answer = client.get("/healthz", headers={"authorization": ""})
    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"
    assert set(answer.json()) == {"status", "active", "waiting", "slots"}


def test_openapi_names_every_route_and_the_page_needs_nothing(client: TestClient, lab: Lab) -> None:
    whole = client.get("/openapi.json", headers={"authorization": ""}).json()
    assert whole["openapi"].startswith("3.1")
    served = {
        (route.path.replace(":path", ""), method.lower())
        for route in client.app.app.routes  # type: ignore[attr-defined]
        if hasattr(route, "methods") and route.path.startswith(("/v1", "/api", "/healthz"))
        for method in route.methods - {"HEAD"}
    }
    assert {(path, method) for path, methods in whole["paths"].items() for method in methods} == served
    references = {word for word in json.dumps(whole).split('"') if word.startswith("#/components/schemas/")}
    assert {word.rpartition("/")[2] for word in references} <= set(whole["components"]["schemas"])
    page = client.get("/docs").text
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert all(path in page for path in ("/v1/chat/completions", "/api/predict"))
