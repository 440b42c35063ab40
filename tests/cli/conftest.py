"""A language model that is small enough for a command to load and run within a second."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF file: llama, random weights, 300 tokens, a context of 256, a chat template."""
    source = Path(__file__).parents[1] / "think" / "tiny_models.py"
    spec = importlib.util.spec_from_file_location("tiny_models_for_commands", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    module.llama(path)
    return path


@pytest.fixture(scope="session")
def endless(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without a token that ends an answer."""
    path = tmp_path_factory.mktemp("endless") / "endless.gguf"
    path.write_bytes(tiny.read_bytes().replace(b"<|im_end|>", b"<|im_and|>"))
    return path
