"""Headers of models on another machine, over a real HTTP server of this one."""

import json
import re
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import gguf_bytes
import pytest

from whygpu.engine import UserError
from whygpu.models.outline_source import outline_source
from whygpu.models.remote import FIRST

LENGTH = 8 << 30


def _number(key: str, value: int) -> bytes:
    return gguf_bytes.entry(key, 4, struct.pack("<I", value))


def _llama() -> bytes:
    """The head of a two-layer Llama whose words alone take three megabytes, as large vocabularies do."""
    words = b"".join(gguf_bytes.text("w" * 92) for _ in range(32000))
    entries = [
        gguf_bytes.entry("general.architecture", 8, gguf_bytes.text("llama")),
        *(
            _number(f"llama.{key}", value)
            for key, value in {
                "block_count": 2,
                "embedding_length": 256,
                "feed_forward_length": 512,
                "attention.head_count": 4,
                "attention.head_count_kv": 2,
                "context_length": 4096,
            }.items()
        ),
        gguf_bytes.entry("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 32000) + words),
    ]
    tensor = gguf_bytes.tensor("token_embd.weight", (256, 32000), 8)
    return gguf_bytes.header(b"".join(entries), len(entries), tensor, 1)


CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 512,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": True,
}


def _safetensors() -> tuple[bytes, int]:
    size = 512 * 64 * 2
    head = json.dumps({"w": {"dtype": "BF16", "shape": [512, 64], "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(head)) + head, 8 + len(head) + size


class Handler(BaseHTTPRequestHandler):
    """Files that are mostly holes; ``/plain`` knows no ranges, ``/silent`` does not say the whole length."""

    sent = 0

    def log_message(self, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        if name == "config.json":
            body = json.dumps(CONFIG).encode()
            self._answer(200, body, {})
            return
        body, length = (_llama(), LENGTH) if name.endswith(".gguf") else _safetensors()
        asked = re.fullmatch(r"bytes=0-(\d+)", self.headers.get("Range", ""))
        if asked is None or self.path.startswith("/plain"):
            self.send_response(200)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self._endless(length)
            return
        part = min(int(asked.group(1)) + 1, length)
        span = f"bytes 0-{part - 1}/" + ("*" if self.path.startswith("/silent") else str(length))
        self._answer(206, (body + bytes(max(0, part - len(body))))[:part], {"Content-Range": span})

    def _endless(self, length: int) -> None:
        try:
            while Handler.sent < length:
                Handler.sent += self.wfile.write(bytes(1 << 16))
        except OSError:
            pass  # the client hung up, as it should

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{web.server_address[1]}"
        web.shutdown()
        thread.join()


def test_a_gguf_by_its_first_bytes(server: str) -> None:
    found = outline_source(f"{server}/models/tiny-Q8_0.gguf")
    assert (found.outline.layers, found.outline.d_model, found.outline.vocab) == (2, 256, 32000)
    assert found.quant == "Q8_0"
    assert len(_llama()) > FIRST  # so the first request was not enough


def test_safetensors_beside_their_config(server: str) -> None:
    found = outline_source(f"{server}/models/model.safetensors")
    assert (found.outline.layers, found.outline.d_model, found.outline.vocab) == (2, 64, 512)
    assert found.bits == 16


def test_a_server_without_ranges_sends_little(server: str) -> None:
    Handler.sent = 0
    with pytest.raises(UserError, match="does not answer range requests"):
        outline_source(f"{server}/plain/tiny.gguf")
    assert Handler.sent < 64 << 20  # of eight gigabytes: what was under way when the client hung up


def test_a_server_that_hides_the_length(server: str) -> None:
    with pytest.raises(UserError, match="does not say how long"):
        outline_source(f"{server}/silent/tiny.gguf")


def test_nobody_there() -> None:
    with pytest.raises(UserError, match="cannot be read"):
        outline_source("http://127.0.0.1:9/tiny.gguf")
    with pytest.raises(UserError, match="only GGUF and safetensors"):
        outline_source("http://127.0.0.1:9/tiny.bin")
