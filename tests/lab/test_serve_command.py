"""``whygpu serve`` as a process: its key works, and SIGTERM ends it while it answers."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from whygpu import think

Run = Any


@pytest.fixture
def served(tiny_model: think.Model) -> Iterator[tuple[Any, dict[str, Any]]]:
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "whygpu",
        "serve",
        "--port",
        "0",
        "--json",
        "--slots",
        "2",
    ]
    environment = {key: value for key, value in os.environ.items() if key != "WHYGPU_KEY"}
    process = subprocess.Popen(
        [*command, "--model", str(tiny_model.path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    lines = ""
    for line in process.stdout:
        lines += line
        if line == "}\n":
            break
    try:
        yield process, json.loads(lines or process.stderr.read())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def test_the_printed_key_works_and_sigterm_ends_it(served: tuple[Any, dict[str, Any]]) -> None:
    process, facts = served
    assert facts["base_url"].startswith("http://127.0.0.1:")
    assert len(facts["api_key"]) > 40
    with openai.OpenAI(base_url=facts["base_url"], api_key=facts["api_key"], max_retries=0) as client:
        stream = client.completions.create(
            model="default", prompt="th", max_tokens=200, temperature=0, stream=True
        )
        next(iter(stream))
        process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        with pytest.raises((openai.APIError, StopIteration)):  # finished, or told that it ends
            while True:
                next(iter(stream))
    assert process.wait(5) == 0 or process.returncode == -signal.SIGTERM
    assert time.monotonic() - started < 2
    assert process.stderr.read() == ""


def test_a_taken_port_is_one_line(
    whygpu: Run, served: tuple[Any, dict[str, Any]], tiny_model: think.Model
) -> None:
    port = served[1]["base_url"].split(":")[2].split("/")[0]
    run = whygpu("serve", "--port", port, "--model", str(tiny_model.path))
    assert run.returncode == 2
    assert len(run.stderr.strip().splitlines()) == 1
    assert "--port 0" in run.stderr


def test_a_port_is_taken_as_soon_as_it_is_bound() -> None:
    from whygpu.engine import UserError
    from whygpu.lab.server import bind

    with bind("127.0.0.1", 0) as first, pytest.raises(UserError, match="choose another port"):
        bind("127.0.0.1", first.getsockname()[1])


@pytest.mark.parametrize(
    "arguments",
    [("serve", "--host", "0.0.0.0"), ("lab", "--files", "/nowhere", "--no-browser", "--port", "0")],
)
def test_what_cannot_be_is_one_line(
    whygpu: Run, tiny_model: think.Model, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    run = whygpu(*arguments, "--model", str(tiny_model.path), WHYGPU_KEY="")
    assert run.returncode == 2
    assert len(run.stderr.strip().splitlines()) == 1
