"""A lab on a tiny model, asked directly and over a port."""

import importlib.util
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from visit import CHROMIUM, KEY, Visit

from whygpu import engine, think
from whygpu.lab.app import hosts_of
from whygpu.lab.options import Address, listen
from whygpu.lab.rooms import lab_app
from whygpu.lab.server import server
from whygpu.lab.state import Lab


def _write(family: str, path: Path) -> None:
    """A model of random weights as the tests of ``think`` make it, without a token that ends an answer."""
    source = Path(__file__).parents[1] / "think" / "tiny_models.py"
    spec = importlib.util.spec_from_file_location("tiny_models_for_the_lab", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    getattr(module, family)(path)
    # no token ends an answer: lengths are what the tests ask for
    path.write_bytes(path.read_bytes().replace(b"<|im_end|>", b"<|im_and|>"))


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> think.Model:
    """llama, random weights, 300 tokens, a context of 256, a chat template that has no end token in it."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    _write("llama", path)
    return think.load(path, backend=engine.backend("cpu", threads=1))


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that may be opened, beside a file that may not."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "scenes").mkdir()
    triangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    (folder / "scenes" / "triangle.obj").write_text(triangle)
    (folder / "secret.obj").write_text(triangle)
    (folder / "scenes" / "way-out.obj").symlink_to(folder / "secret.obj")
    _write("gpt2", folder / "scenes" / "other.gguf")
    (folder / "scenes" / "broken.gguf").write_bytes(b"GGUF, but no more")
    (folder / "scenes" / "way-out.gguf").symlink_to(folder / "secret.obj")
    return folder / "scenes"


@pytest.fixture(scope="session")
def lab(tiny_model: think.Model, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    history = tmp_path_factory.mktemp("data") / "lab.sqlite3"
    made = Lab(
        tiny_model,
        engine.backend("cpu", threads=2),
        place=str(tiny_model.path),
        roots=[str(files)],
        history=history,
        slots=4,
        queue=8,
    )
    made.warm()
    yield made
    made.host.close(0)
    made.close()


@pytest.fixture(scope="session")
def client(lab: Lab) -> Iterator[TestClient]:
    """A program that knows the key; without the lifespan, since the port's server ends the lab."""
    address = Address(None, hosts_of(80), KEY, "http://127.0.0.1")  # type: ignore[arg-type]
    yield TestClient(
        lab_app(lab, address), base_url="http://127.0.0.1", headers={"authorization": f"Bearer {KEY}"}
    )


@pytest.fixture(scope="session")
def live(lab: Lab, monkeypatch_session: pytest.MonkeyPatch) -> Iterator[Address]:
    """The same behind a real port."""
    monkeypatch_session.setenv("WHYGPU_KEY", KEY)
    address = listen("127.0.0.1", 0)
    running = server(lab_app(lab, address), lab.host.drain)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [address.listener]}, daemon=True)
    thread.start()
    for _ in range(500):
        if running.started:
            break
        time.sleep(0.01)
    yield address
    running.should_exit = True
    thread.join(timeout=10)
    assert not thread.is_alive()


@pytest.fixture(scope="session")
def monkeypatch_session() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's chromium; closed with its module, since Playwright holds the event loop while it runs."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Any, live: Address) -> Iterator[Visit]:
    """Someone who just came in; nothing was asked of another host, and the console stayed clean."""
    with Visit(browser, live) as here:
        yield here
        assert here.elsewhere == []
        assert here.console == []
