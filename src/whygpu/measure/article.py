"""The article's own figures, from ``article.toml``."""

import functools
import tomllib
from importlib import resources
from typing import Any

__all__ = ["article"]


@functools.cache
def article() -> dict[str, Any]:
    """The figures by experiment (``experiment_1`` ...), their machine, basis and source."""
    text = resources.files("whygpu.measure").joinpath("article.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
