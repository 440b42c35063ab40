"""A hostile page in the same browser can neither read nor drive the lab."""

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from whygpu.engine import UserError
from whygpu.lab.options import listen

KEY = "key-of-these-tests"
ROUTES = (
    "/api/facts",
    "/v1/models",
    "/api/runs",
    "/api/scenes",
    "/api/claims?lang=en",
    "/api/timeline?lang=en",
)


@pytest.mark.parametrize("route", ROUTES)
def test_without_the_key_nothing_is_told(client: TestClient, route: str) -> None:
    for header in ("", "Bearer ", "Bearer wrong", f"Basic {KEY}", KEY):
        answer = client.get(route, headers={"authorization": header})
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "invalid_api_key"
    assert client.get(route).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},  # DNS rebinding: the name was made to point here
        {"host": "127.0.0.1.evil.example"},
        {"host": "127.0.0.1:9999"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:3000"},  # another program's page on this machine
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_page_is_refused_even_with_the_key(client: TestClient, headers: dict[str, str]) -> None:
    for answer in (
        client.get("/api/facts", headers=headers),
        client.post("/v1/completions", headers=headers, json={"model": "default", "prompt": "a"}),
        client.post("/api/runs", headers=headers, json={"what": "roofline"}),
    ):
        assert answer.status_code in (403, 421)
        assert "access-control-allow-origin" not in answer.headers
    for path in ("/ws/draw", "/ws/think", "/ws/live"):
        with (
            pytest.raises(WebSocketDisconnect) as refused,
            client.websocket_connect(f"ws://127.0.0.1{path}", subprotocols=["whygpu", KEY], headers=headers),
        ):
            pass
        assert refused.value.code == 1008


@pytest.mark.parametrize(
    "protocols", [None, ["whygpu"], ["whygpu", "wrong"], ["other", KEY], [KEY, "whygpu"]]
)
def test_a_websocket_needs_the_key(client: TestClient, protocols: list[str] | None) -> None:
    for path in ("/ws/draw", "/ws/think", "/ws/live"):
        with (
            pytest.raises(WebSocketDisconnect),
            client.websocket_connect(f"ws://127.0.0.1{path}", subprotocols=protocols),
        ):
            pass


def test_its_own_page_is_let_in(client: TestClient) -> None:
    headers = {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"}
    for path in ("/ws/draw", "/ws/think", "/ws/live"):
        with client.websocket_connect(f"ws://127.0.0.1{path}", subprotocols=["whygpu", KEY], headers=headers):
            pass
    assert client.get("/api/facts", headers=headers).status_code == 200
    assert client.get("/", headers={"authorization": ""}).status_code == 200
    # a link from elsewhere opens the page, which holds no secret
    assert (
        client.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code
        == 200
    )
    assert client.get("/static/app.js", headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_headers_of_every_answer(client: TestClient) -> None:
    for path in ("/", "/static/app.js", "/api/facts", "/healthz", "/nowhere", "/docs"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy
        assert "*" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert not [name for name in headers if name.startswith("access-control")]
        assert "set-cookie" not in headers  # nothing that a browser would add by itself


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/cancel",
        "/api/runs/forget",
        "/api/draw",
        "/v1/completions",
        "/v1/embeddings",
        "/api/exhibits/cube",
    ],
)
def test_only_post_changes_anything(client: TestClient, path: str) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert client.request(method, path).status_code == 405


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_form_of_another_page_cannot_ask(client: TestClient, kind: str) -> None:
    """What a form may send without a preflight is no JSON."""
    body = b'{"model": "default", "prompt": "a"}'
    answer = client.post("/v1/completions", content=body, headers={"content-type": kind})
    assert answer.status_code == 415


@pytest.mark.parametrize(
    "name", ["../secret.obj", "way-out.obj", "/etc/passwd", "..%2fsecret.obj", "./../secret.obj"]
)
def test_files_stay_within_their_root(client: TestClient, name: str) -> None:
    answer = client.post("/api/draw", json={"scene": f"file:scenes/{name}"})
    assert answer.status_code == 404
    for scene in (f"/tmp/{name}", "secret.obj", "file:other/triangle.obj", "upload:../x"):
        assert client.post("/api/draw", json={"scene": scene}).status_code == 404
    assert client.post("/api/draw", json={"scene": "file:scenes/triangle.obj"}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/guard.py", "/static/index.py", "/static/"]
)
def test_only_the_pages_are_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_too_much_is_refused_with_the_limit(client: TestClient) -> None:
    big = client.post("/v1/completions", json={"model": "default", "prompt": "a" * (1 << 20)})
    assert big.status_code == 413
    assert "1,048,576" in big.json()["error"]["message"]
    assert client.post("/api/draw", json={"width": 5000}).status_code == 400
    assert client.post("/v1/embeddings", json={"model": "default", "input": ["a"] * 65}).status_code == 400
    deep = client.post(
        "/v1/completions", content=b"[" * 100_000, headers={"content-type": "application/json"}
    )
    assert deep.status_code == 400


def test_another_host_needs_a_key_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHYGPU_KEY", raising=False)
    with pytest.raises(UserError, match="choose a key first"):
        listen("0.0.0.0", 0)
    monkeypatch.setenv("WHYGPU_KEY", "short")
    with pytest.raises(UserError, match="16 to 256"):
        listen("0.0.0.0", 0)
