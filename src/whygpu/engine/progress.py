"""How long work reports on itself, without knowing who listens."""

from typing import Protocol

__all__ = ["Progress", "silent"]


class Progress(Protocol):
    """Called with a message key of the locale files, how far the step is (0 to 1, or None), and values."""

    def __call__(self, key: str, fraction: float | None = None, /, **values: object) -> None:
        """Take note of one step."""


def silent(key: str, fraction: float | None = None, /, **values: object) -> None:
    """Listen to nothing."""
