"""Models by Hugging Face id, from a server made here: cache, token, endpoint, offline variables, resuming."""

import hashlib
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whygpu import models
from whygpu.engine import UserError
from whygpu.models.hub import choose, is_hub_id

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = bytes(range(256)) * 8000  # 2 MB
LARGE = WEIGHTS * 12  # more than two of the pieces that huggingface-hub writes
FILES = {
    "me/large": {"large.gguf": LARGE},
    "me/one": {"README.md": b"x", "sub/one.Q8_0.gguf": WEIGHTS},
    "me/folder": {
        "config.json": b'{"model_type": "llama"}',
        "tokenizer.json": b"{}",
        "model-00001-of-00002.safetensors": WEIGHTS,
        "model-00002-of-00002.safetensors": b"1234",
        "model.safetensors.index.json": b"{}",
        "consolidated.safetensors": b"no",
        "pytorch_model.bin": b"no",
    },
}


class Server(http.server.ThreadingHTTPServer):
    """As much of the Hub as a download needs."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str, str | None]] = []
        self.tokens: set[str | None] = set()
        self.break_at: int | None = None
        """Bytes after which the connection of a download is cut, once."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.asked.append((self.command, self.path, self.headers.get("Range")))
        self.server.tokens.add(self.headers.get("Authorization"))
        if match := re.fullmatch(r"/api/models/([^/?]+/[^/?]+)(/revision/main)?(\?.*)?", self.path):
            files = FILES.get(match[1])
            if files is None:
                self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})
                return
            siblings = [{"rfilename": name, "size": len(raw)} for name, raw in files.items()]
            info = {"id": match[1], "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
            self.answer(200, json.dumps(info).encode(), {})
            return
        if match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", self.path):
            self.file(FILES[match[1]][match[2]])
            return
        self.answer(404, b"{}", {"X-Error-Code": "EntryNotFound"})

    def file(self, raw: bytes) -> None:
        etag = hashlib.sha256(raw).hexdigest()
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if found := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            start = int(found[1])
            headers["Content-Range"] = f"bytes {start}-{len(raw) - 1}/{len(raw)}"
            self.answer(206, raw[start:], headers)
            return
        cut, self.server.break_at = (
            self.server.break_at,
            None if self.command == "GET" else self.server.break_at,
        )
        self.answer(200, raw, headers, cut if self.command == "GET" else None)

    def answer(self, code: int, raw: bytes, headers: dict[str, str], cut: int | None = None) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(raw))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(raw[:cut])
        if cut is not None:
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(2)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


CODE = """
import json, sys
from whygpu import models
from whygpu.engine import UserError
steps = []
def note(key, fraction=None, /, **values): steps.append((key, fraction, values["model"]))
try:
    print(json.dumps({"path": str(models.locate(sys.argv[1], progress=note)), "steps": steps}))
except UserError as error:
    print(json.dumps({"error": str(error), "kind": type(error).__name__}))
"""


def locate(name: str, home: Path, endpoint: str, **environment: str) -> dict[str, Any]:
    """``models.locate`` in a process of its own: huggingface-hub reads its variables when it is imported."""
    plain = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    done = subprocess.run(
        [sys.executable, "-c", CODE, name],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={
            **plain,
            "HF_HOME": str(home),
            "HF_ENDPOINT": endpoint,
            "HF_HUB_DISABLE_XET": "1",
            **environment,
        },
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert "\n" not in found.get("error", "")
    return found


def test_a_file_comes_whole_and_is_kept(server: Server, tmp_path: Path) -> None:
    found = locate("me/one", tmp_path, server.url, HF_TOKEN="hf_secret")
    path = Path(found["path"])
    assert path.name == "one.Q8_0.gguf"
    assert path.read_bytes() == WEIGHTS
    assert tmp_path in path.parents
    assert "Bearer hf_secret" in server.tokens
    fractions = [step[1] for step in found["steps"]]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    server.asked.clear()
    offline = locate("me/one", tmp_path, server.url, HF_HUB_OFFLINE="1")
    assert offline["path"] == str(path)
    assert server.asked == []
    gone = locate("me/one:Q8_0", tmp_path, "http://127.0.0.1:9")  # nobody listens
    assert gone["path"] == str(path)


def test_an_interrupted_download_goes_on(server: Server, tmp_path: Path) -> None:
    server.break_at = 21 << 20
    found = locate("me/large", tmp_path, server.url)
    if "error" in found:  # huggingface-hub gave up: nothing half-done is taken for the file
        assert "run it again to go on" in found["error"]
        assert not list(tmp_path.rglob("*.gguf"))
        found = locate("me/large", tmp_path, server.url)
    assert Path(found["path"]).read_bytes() == LARGE
    ranges = [asked[2] for asked in server.asked if asked[2]]
    assert ranges  # the rest alone was asked for
    assert all(re.fullmatch(r"bytes=[1-9]\d*-.*", wanted) for wanted in ranges)


def test_a_folder(server: Server, tmp_path: Path) -> None:
    found = locate("me/folder", tmp_path, server.url)
    folder = Path(found["path"])
    there = {path.name for path in folder.iterdir()}
    assert there == set(FILES["me/folder"]) - {"consolidated.safetensors", "pytorch_model.bin"}
    (folder / "model-00001-of-00002.safetensors").unlink()
    (folder / "model-00002-of-00002.safetensors").unlink()
    broken = locate("me/folder", tmp_path, server.url, HF_HUB_OFFLINE="1")
    assert broken["kind"] == "Unavailable"
    assert "its cached copy may be incomplete" in broken["error"]


def test_what_cannot_be_had_is_one_line(server: Server, tmp_path: Path) -> None:
    missing = locate("me/none", tmp_path, server.url)
    assert missing["kind"] == "Unavailable"
    assert "me/none: there is no such model on Hugging Face" in missing["error"]
    offline = locate("me/one", tmp_path, server.url, HF_HUB_OFFLINE="1")
    assert offline["error"].startswith("me/one: not in Hugging Face's cache, and no network")
    unreachable = locate("me/one", tmp_path, "http://127.0.0.1:9")
    assert "http://127.0.0.1:9 is out of reach" in unreachable["error"]


def test_ids() -> None:
    assert is_hub_id("Qwen/Qwen3-0.6B")
    assert is_hub_id("bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M")
    for other in (
        "smollm2-135m",
        "a/b/c",
        "./a",
        "/a/b",
        "a/b.gguf",
        "a/b.safetensors",
        "../x/y",
        "a/",
        "-a/b",
    ):
        assert not is_hub_id(other), other


def test_what_is_on_the_disk_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("owner/name")
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert models.locate("owner/name") == folder
    with pytest.raises(UserError, match=r"owner: has no config.json; name a GGUF file, a folder"):
        models.locate("owner")
    with pytest.raises(UserError, match=r"nothing.gguf: there is no such file"):
        models.locate("owner/nothing.gguf")


SPLIT = [f"Q4_K_M/big-Q4_K_M-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
MANY = ["config.json", "m-Q4_K_M.gguf", "m-Q8_0.gguf", "m-IQ4_XS.gguf", "mmproj-m-f16.gguf", "m-f16.gguf"]


def test_which_files_are_needed() -> None:
    assert choose("r", ["a.gguf", "README.md"], None) == ["a.gguf"]
    assert choose("r", SPLIT[::-1], None) == SPLIT
    assert choose("r", [*SPLIT, *MANY], "IQ4_xs") == ["m-IQ4_XS.gguf"]
    assert choose("r", MANY, "f16") == ["m-f16.gguf"]
    assert choose("r", MANY, "q4_k_m") == ["m-Q4_K_M.gguf"]
    with pytest.raises(
        UserError, match=r"r: has 4 GGUF files; name one as r:QUANT \(F16, IQ4_XS, Q4_K_M, Q8_0\)"
    ):
        choose("r", MANY, None)
    with pytest.raises(models.Unavailable, match="r: has no GGUF file of Q4_K; it has: F16, IQ4_XS"):
        choose("r", MANY, "Q4_K")
    with pytest.raises(models.Unavailable, match="neither GGUF nor safetensors"):
        choose("r", ["pytorch_model.bin", "config.json", "consolidated.safetensors"], None)
    whole = ["model.safetensors", "config.json", "tokenizer.json", "vocab.json", "a.gguf"]
    assert choose("r", whole, None) == ["config.json", "tokenizer.json", "model.safetensors"]
