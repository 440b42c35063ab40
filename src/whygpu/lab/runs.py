"""The experiments and the roofline, run here on a button: one at a time, with progress, to be cancelled."""

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

from whygpu import measure
from whygpu.engine import Progress, UserError
from whygpu.lab.errors import Busy
from whygpu.lab.history import History
from whygpu.lab.turns import Turns

__all__ = ["WHAT", "Runs"]

WHAT = ("experiment_1", "experiment_2", "experiment_3", "roofline")


class _Cancelled(Exception):
    """Somebody pressed the button."""


class Runs:
    """The run in progress, and the history of those that ended.

    A run has the engine for itself, step by step: drawing and thinking wait meanwhile, else its times would
    be theirs.
    """

    def __init__(self, history: History, turns: Turns) -> None:
        self.history, self.turns = history, turns
        self._lock = threading.Lock()
        self._state: dict[str, Any] = {"state": "idle"}
        self._cancel = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def state(self) -> dict[str, Any]:
        """``idle``, ``running``, ``done``, ``cancelled`` or ``failed``, with what there is to say of it."""
        with self._lock:
            return dict(self._state)

    def start(self, what: str, quick: bool) -> None:
        """Begin.

        Raises
        ------
        Busy
            Where another runs.
        """
        with self._lock:
            if self._state["state"] == "running":
                raise Busy(f"{self._state['what']} runs already; wait for it or cancel it")
            self._cancel.clear()
            self._state = {"state": "running", "what": what, "quick": quick, "fraction": 0.0, "step": ""}
        self._thread = threading.Thread(target=self._run, args=(what, quick), name="whygpu-run", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End it at its next step."""
        self._cancel.set()

    def close(self) -> None:
        """End, and wait a moment."""
        self.cancel()
        if self._thread is not None:
            self._thread.join(timeout=0.5)

    def _progress(self, key: str, fraction: float | None = None, /, **values: object) -> None:
        if self._cancel.is_set():
            raise _Cancelled
        with self._lock:
            self._state |= {"fraction": fraction, "step": str(values.get("step", "")), "key": key}

    def _run(self, what: str, quick: bool) -> None:
        started = perf_counter()
        try:
            with self.turns:
                self._progress("lab.verify.waiting", 0.0)
                result = _measured(what, quick, self._progress)
            host = measure.this_host()
            seconds = perf_counter() - started
            number = self.history.add(what, quick, seconds, f"{host.cpu}, {host.threads} threads", result)
            ended: dict[str, Any] = {"state": "done", "what": what, "id": number, "seconds": seconds}
        except _Cancelled:
            ended = {"state": "cancelled", "what": what}
        except Exception as error:  # a person waits for it
            told = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            ended = {"state": "failed", "what": what, "message": told}
        with self._lock:
            self._state = ended


def _measured(what: str, quick: bool, progress: Progress) -> dict[str, Any]:
    if what == "roofline":
        return measure.roofline(force=True, quick=quick, progress=progress).as_dict()
    from whygpu.measure.experiment_1 import experiment_1
    from whygpu.measure.experiment_2 import experiment_2
    from whygpu.measure.experiment_3 import experiment_3

    known: dict[str, Callable[..., Any]] = {
        "experiment_1": experiment_1,
        "experiment_2": experiment_2,
        "experiment_3": experiment_3,
    }
    result: dict[str, Any] = known[what](quick=quick, progress=progress).as_dict()
    return result
