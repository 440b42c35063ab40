"""Who answers now, and how another model takes its place: one at a time, in the order of asking.

Whoever asks for a model that is here but not loaded waits for it. Answers in progress are finished first
(``PATIENCE`` seconds at most), then the old model's memory is given back, and only then the new one is
loaded: never are two in memory. Where loading fails the old one comes back, and who asked is told why.
"""

import asyncio
import gc
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import Any

import anyio.to_thread

from whygpu import models, think
from whygpu.engine import Progress, UserError
from whygpu.lab.errors import Busy, Gone, Refused
from whygpu.lab.limits import SWITCHES
from whygpu.lab.shelf import Entry, Shelf
from whygpu.lab.thinker import Thinker

__all__ = ["Host"]

PATIENCE = 60.0
"""Seconds that answers of the old model may go on."""
TENURE = 0.5
"""Seconds that a model stays at least, so that whoever waited for it can ask."""
ANY = ("", "default")
"""Names that mean whichever model is loaded."""


@dataclass(frozen=True, slots=True)
class _Wish:
    entry: Entry | None
    future: "Future[Thinker]"


class Host:
    """Gives the thinker of a model; ``close`` it in the end.

    Parameters
    ----------
    thinker
        Who answers first.
    shelf
        Which other models there are.
    load, employ
        From a place to its model, and from a model to its thinker.
    changed
        Called between two models, when the old one must be forgotten everywhere.
    """

    def __init__(
        self,
        thinker: Thinker,
        shelf: Shelf,
        load: Callable[[str, Progress], think.Model],
        employ: Callable[[think.Model], Thinker],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._thinker: Thinker | None = thinker
        self.shelf, self.entry = shelf, shelf.first
        self._load, self._employ, self._changed = load, employ, changed
        self._change = threading.Condition()
        self._wishes: deque[_Wish] = deque()
        self._busy = self._ended = False
        self._since = -TENURE
        self._told: dict[str, Any] = {"state": "ready"}
        self._thread = threading.Thread(target=self._run, name="whygpu-host", daemon=True)
        self._thread.start()

    @property
    def thinker(self) -> Thinker:
        """Who answers now.

        Raises
        ------
        Busy
            While another model is being loaded.
        """
        thinker = self._thinker
        if thinker is None:
            raise Busy("another model is being loaded; ask again in a moment")
        return thinker

    @property
    def state(self) -> dict[str, Any]:
        """``ready``, ``waiting`` (for answers in progress), ``loading`` or ``failed``, and of which model."""
        with self._change:
            return {"model": self.entry.id, **self._told}

    @property
    def busy(self) -> dict[str, int]:
        """Answers in progress, those that wait, slots."""
        thinker = self._thinker
        if thinker is None:
            return {"active": 0, "waiting": 0, "slots": 0}
        return {"active": thinker.active, "waiting": thinker.waiting, "slots": thinker.slots}

    async def get(self, name: str = "default") -> Thinker:
        """The thinker of that model, when it is its turn.

        Raises
        ------
        Unknown
            Where no such model is here.
        UserError
            Where it cannot be loaded; the one before it answers on.
        Busy
            Where too many wait for other models already.
        """
        known = None if name in ANY else self._known(name)
        if known is None and name not in ANY:
            known = await anyio.to_thread.run_sync(self.shelf.find, name)
        with self._change:
            if self._ended:
                raise Gone("the program is about to end; ask it again later")
            now = self._thinker
            if now is not None and not self._busy and not self._wishes and known in (None, self.entry):
                return now
        return await asyncio.shield(asyncio.wrap_future(self.wish(known)))

    def find(self, name: str) -> Entry:
        """The entry of a name; raises ``Unknown`` where no such model is here."""
        return self.entry if name in ANY else self._known(name) or self.shelf.find(name)

    def _known(self, name: str) -> Entry | None:
        """The loaded one, where that is meant: the disk need not be asked."""
        thinker = self._thinker
        own = name == self.entry.id or (thinker is not None and name == thinker.model.source)
        return self.entry if own else None

    def wish(self, entry: Entry | None) -> "Future[Thinker]":
        """Ask for a model without waiting for it; None: whichever is loaded then.

        Raises ``Busy`` where too many wait already.
        """
        future: Future[Thinker] = Future()
        with self._change:
            if self._ended or len(self._wishes) >= SWITCHES:
                raise Busy(f"{len(self._wishes)} requests wait for another model already; ask a little later")
            if entry not in (None, self.entry) and not self._busy:
                self._told = {"state": "waiting", "wanted": entry.id}
            self._wishes.append(_Wish(entry, future))
            self._change.notify()
        return future

    def warm(self) -> None:
        """Compile what is not compiled yet."""
        self.thinker.warm()

    def drain(self) -> None:
        """Take nothing new; signal handlers may call it."""
        self._ended = True
        thinker = self._thinker
        if thinker is not None:
            thinker.drain()

    def close(self, patience: float = 1.0) -> None:
        """End; a model that is just being loaded is not waited for."""
        self._ended = True
        with self._change:
            self._change.notify()
        thinker = self._thinker
        if thinker is not None:
            thinker.close(patience)

    def _run(self) -> None:
        while True:
            with self._change:
                while not (self._wishes or self._ended):
                    self._change.wait(0.5)
                if self._ended:
                    break
                wish = self._wishes.popleft()
                self._busy = True
            try:
                wanted = wish.entry or self.entry
                if wanted.id != self.entry.id or self._thinker is None:
                    self._switch(wanted)
                wish.future.set_result(self.thinker)
            except Exception as error:
                wish.future.set_exception(error)
            self._busy = False
        while self._wishes:
            self._wishes.popleft().future.set_exception(Gone("the program ended before the model was loaded"))

    def _switch(self, entry: Entry) -> None:
        """Check, let answers end, let go, load."""
        self._tell("waiting", entry)
        old = self.entry
        try:
            self._check(entry)
            sleep(max(0.0, self._since + TENURE - monotonic()))
            self._let_go()
            self._tell("loading", entry)
            self._take(entry)
        except Exception as error:
            if self._thinker is None and not self._ended:
                self._take(old)
            why = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            self._tell("failed", entry, message=why)
            if isinstance(error, Refused):
                raise
            raise Refused(why, "model", "model_not_loadable") from error
        self._tell("ready")

    def _check(self, entry: Entry) -> None:
        """Refuse what could not be loaded while the old model is still there."""
        import psutil

        place = models.locate(entry.place, download=False)
        models.open_checkpoint(place)
        free = psutil.virtual_memory().available + self.entry.size
        if entry.size > free:
            raise Refused(
                f"{entry.id}: has {entry.size / 1e9:.1f} GB of weights, {free / 1e9:.1f} GB are free", "model"
            )

    def _let_go(self) -> None:
        thinker = self._thinker
        if thinker is None:
            return
        thinker.drain("another model is being loaded; ask again in a moment")
        end = monotonic() + PATIENCE
        while thinker.working and monotonic() < end and not self._ended:
            self._tell("waiting", answers=thinker.active + thinker.waiting)
            sleep(0.02)
        if self._ended:
            raise Gone("the program is about to end")
        thinker.close(0.0)
        self._thinker = None
        del thinker
        self._changed()
        gc.collect()

    def _take(self, entry: Entry) -> None:
        def progress(key: str, fraction: float | None = None, /, **values: object) -> None:
            self._tell("loading", fraction=fraction)

        place = entry.place if entry == self.shelf.first else str(models.locate(entry.place, download=False))
        model = self._load(place, progress)
        if entry != self.shelf.first:
            model = replace(model, architecture=replace(model.architecture, name=entry.id))
        thinker = self._employ(model)
        thinker.warm()
        with self._change:
            self._thinker, self.entry, self._since = thinker, entry, monotonic()
        if self._ended:
            thinker.close(0.0)

    def _tell(self, state: str, entry: Entry | None = None, **more: Any) -> None:
        with self._change:
            wanted = entry.id if entry is not None else self._told.get("wanted")
            self._told = {"state": state, **({} if state == "ready" else {"wanted": wanted}), **more}
