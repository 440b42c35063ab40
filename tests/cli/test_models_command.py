"""``whygpu models``: what is known, what is here, and taking it away."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from rich.cells import cell_len

from whygpu import models
from whygpu.cli.main import main


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of whygpu, and a Hugging Face cache with a model and a data set in it."""
    hub = tmp_path / "hub"
    monkeypatch.setenv("WHYGPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(hub))
    for folder, name in (("models--some--llama", "model.safetensors"), ("models--some--vocab", "vocab.txt"),
                         ("datasets--some--text", "a.gguf")):  # fmt: skip
        snapshot = hub / folder / "snapshots" / ("0" * 40)
        snapshot.mkdir(parents=True)
        (hub / folder / "refs").mkdir()
        (hub / folder / "refs" / "main").write_text("0" * 40)
        (snapshot / name).write_bytes(b"x" * 1000)
    return tmp_path / "cache"


def put(cache: Path, name: str = "smollm2-135m") -> Path:
    folder = cache / "models" / name
    folder.mkdir(parents=True)
    (folder / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"x" * 2_000_000)
    (folder / ".fetch-rest").mkdir()
    (folder / ".fetch-rest" / "half").write_bytes(b"x" * 500_000)
    return folder


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["models", *arguments])
    return int(ended.value.code or 0)


def test_list(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = put(cache)
    assert run("list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed["catalogue"]] == models.names()
    entries = {entry["name"]: entry for entry in listed["catalogue"]}
    assert entries["smollm2-135m"]["parameters"] == 134_515_008
    assert entries["smollm2-135m"]["file"]["bytes"] == 98_362_432
    assert entries["smollm2-135m"]["stored"] is True
    assert (entries["gpt2-small"]["file"], entries["gpt2-small"]["stored"]) == (None, False)
    expected = {
        "name": "smollm2-135m",
        "path": str(folder),
        "bytes": 2_500_000,
        "whole": True,
        "cache": "whygpu",
    }
    assert listed["stored"][0] == expected
    assert [(m["name"], m["bytes"], m["cache"]) for m in listed["stored"][1:]] == [
        ("some/llama", 1000, "huggingface")
    ]


@pytest.mark.parametrize(("language", "words"), [("en", ("here", "On this disk")), ("zh", ("已有", "磁盘"))])
def test_tables(
    cache: Path, capsys: pytest.CaptureFixture[str], language: str, words: tuple[str, ...]
) -> None:
    put(cache)
    assert run("list", "--lang", language) == 0
    out = capsys.readouterr().out
    assert max(cell_len(line.rstrip()) for line in out.splitlines()) <= 100
    for word in (*words, "2.50 MB", "some/llama"):
        assert word in out


def test_a_broken_download_is_not_here_but_can_be_removed(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = put(cache)
    next(folder.glob("*.gguf")).rename(folder / ".SmolLM2.part.gguf")
    assert run("list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert not any(entry["stored"] for entry in listed["catalogue"])
    assert listed["stored"][0]["whole"] is False
    assert run("list") == 0
    assert "broken off" in capsys.readouterr().out
    assert run("remove", "smollm2-135m") == 0
    assert not folder.exists()


def test_remove_names_what_it_removed(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = put(cache)
    assert run("remove", "SmolLM2-135M") == 0
    out = capsys.readouterr().out
    assert str(folder) in out
    assert "2.50 MB" in out
    assert not folder.exists()
    assert list((cache / "models").iterdir()) == []
    assert run("remove", "some/llama") == 0
    assert "some/llama" in capsys.readouterr().out
    assert not list(cache.parent.glob("hub/models--some--llama"))
    assert list(cache.parent.glob("hub/models--some--vocab"))  # what is no model stays


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("smolm2-135m", "did you mean smollm2-135m?"),
        ("gpt2-small", "is not on this disk"),
        ("../../etc", "is not on this disk"),
        ("..", "is not on this disk"),
        ("", "is not on this disk"),
        ("some/vocab", "is not on this disk"),
    ],
)
def test_remove_refuses_what_is_not_here(
    cache: Path, capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    folder = put(cache)
    assert run("remove", name) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert len(out.err.strip().splitlines()) == 1
    assert words in out.err
    assert folder.exists()


def test_path_and_pull_of_what_cannot_be_had(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("path") == 2
    assert "whygpu models pull smollm2-135m" in capsys.readouterr().err
    assert run("pull", "gpt2-small") == 2
    assert "only its shapes are known" in capsys.readouterr().err
    assert run("pull", "smolm2-135m") == 2
    assert "smollm2-135m" in capsys.readouterr().err
    assert not (cache / "models").exists()


def test_a_full_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        monkeypatch.setenv("WHYGPU_CACHE", str(tmp_path))
        assert run("pull") == 2
        assert "the disk is full" in capsys.readouterr().err
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    finally:
        subprocess.run(["umount", tmp_path], check=True)
