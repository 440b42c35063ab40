"""An answer on its way from the thinker's thread to an event loop."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

from whygpu.lab.sequence import Step

__all__ = ["Answer"]

_outbox = threading.local()


class Answer(AsyncIterator[Step]):
    """Iterate over its steps; ``cancel`` it when nobody listens any more, and its slot is free."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.cancelled = False
        self._loop = loop
        self._arrived: asyncio.Queue[Step | Exception] = asyncio.Queue()
        self._ended = False

    def cancel(self) -> None:
        """Nobody listens any more."""
        self.cancelled = True

    def give(self, step: Step) -> None:
        """From the thinker: leave a step in the outbox, which ``flush`` empties."""
        self._leave(step)

    def fail(self, error: Exception) -> None:
        """From the thinker: there will be no more."""
        self._leave(error)

    def _leave(self, item: Step | Exception) -> None:
        box: dict[Any, list[tuple[Answer, Step | Exception]]] = _outbox.__dict__.setdefault("box", {})
        box.setdefault(self._loop, []).append((self, item))

    @staticmethod
    def flush() -> None:
        """From the thinker: hand everything over, waking each loop once."""
        box = _outbox.__dict__.pop("box", {})
        for loop, items in box.items():
            try:
                loop.call_soon_threadsafe(_hand_over, items)
            except RuntimeError:  # that loop is closed: nobody listens
                for answer, _ in items:
                    answer.cancel()

    def __aiter__(self) -> "Answer":
        return self

    async def __anext__(self) -> Step:
        if self._ended:
            raise StopAsyncIteration
        item = await self._arrived.get()
        if isinstance(item, Exception):
            self._ended = True
            raise item
        self._ended = item.finish is not None
        return item


def _hand_over(items: "list[tuple[Answer, Step | Exception]]") -> None:
    for answer, item in items:
        answer._arrived.put_nowait(item)
