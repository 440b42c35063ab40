"""Who may use the engine now: first come, first served."""

import threading
from collections import deque
from types import TracebackType

__all__ = ["Turns"]


class Turns:
    """A lock that is fair: whoever asked first gets it first.

    The engine's own lock keeps two kernels apart, but whoever has just released it would mostly get it
    again. Drawing, thinking and measuring take turns here: a frame, a decode step, an experiment each.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._taken = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            mine = threading.Event()
            self._waiting.append(mine)
        mine.wait()

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()  # it stays taken: handed on
            else:
                self._taken = False
