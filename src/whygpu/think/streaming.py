"""Text that appears token by token, without half a character and without half a stop string."""

import codecs
from collections.abc import Sequence

__all__ = ["TextStream"]


class TextStream:
    """Collects the bytes of tokens; gives out what is certain.

    A character of several tokens is held back until it is whole. Text that may be the beginning of
    a stop string is held back until it is clear that it is not one.
    """

    def __init__(self, stop: Sequence[str] = ()) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._stop = tuple(stop)
        self._held = ""
        self.stopped = False
        """Whether a stop string has appeared; it and what follows it are never given out."""

    def push(self, piece: bytes) -> str:
        """Add a token's bytes; returns the text that can be shown now, perhaps none."""
        if self.stopped:
            return ""
        text = self._held + self._decoder.decode(piece)
        found = [at for at in (text.find(stop) for stop in self._stop) if at >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        keep = max((_overlap(text, stop) for stop in self._stop), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """What is still held back, now that nothing follows; the bytes of half a character are dropped."""
        text, self._held = self._held, ""
        return text


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of ``text`` that is a beginning of ``stop``."""
    for size in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:size]):
            return size
    return 0
