"""The thread that owns the model: several answers side by side, joining and leaving between steps.

Continuous batching (Yu et al. 2022, Orca): each turn pushes a piece of the waiting prompts through, then one
token of every answer as the rows of one matrix, so that the weights are read once for all of them. Answers
are admitted in the order in which they came; each is a slot's, whose cache may still hold what two prompts
begin with.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from time import perf_counter
from typing import Any, TypeVar

from whygpu import engine, think
from whygpu.engine import Ledger, UserError
from whygpu.lab.answer import Answer
from whygpu.lab.errors import Busy, Gone
from whygpu.lab.sequence import Sequence
from whygpu.lab.turns import Turns
from whygpu.models import kv_bytes_per_token
from whygpu.think.fast.state import CHUNK
from whygpu.think.prefix import PrefixCache

__all__ = ["Thinker"]

CONTEXT = 4096
"""Tokens of a slot unless somebody asks for another number; fewer where the model has fewer."""
PIECE, PIECES = CHUNK, 2
"""Tokens of a prompt that go through at once, and such pieces between two decode steps."""
HALF = 2
"""Bytes of a number in the fast path's cache."""

T = TypeVar("T")


class Thinker:
    """Ask, then iterate over the ``Answer``; ``close`` it in the end.

    Parameters
    ----------
    model
        Who answers; nobody else may use its fast path meanwhile.
    slots
        The most answers at a time. Fewer where their caches would not fit into ``memory`` bytes.
    context
        The most tokens of one, prompt and answer together.
    queue
        The most that wait; who comes then is told to come back (``Busy``).
    turns
        Shared with whoever else uses the engine.
    heard
        Called with the ledger of each turn, in this thread; None: nobody counts.
    """

    def __init__(
        self,
        model: think.Model,
        *,
        slots: int = 16,
        context: int | None = None,
        queue: int = 64,
        memory: float | None = None,
        turns: Turns | None = None,
        heard: Callable[[Ledger], None] | None = None,
    ) -> None:
        self.model, self.queue, self.heard = model, queue, heard
        self.turns = turns or Turns()
        own = model.architecture.context
        self.context = min(own, CONTEXT) if context is None else context
        if not 16 <= self.context <= own:
            raise UserError(
                f"context: {self.context} is not possible; {model.architecture.name} has room for 16 to {own}"
            )
        each = kv_bytes_per_token(model.architecture, HALF if model.packed else 2 * HALF) * self.context
        self.slots = max(1, min(slots, CHUNK, int(memory // each) if memory else slots))
        self.cache_bytes = each * self.slots
        """The most that all caches together take."""
        self._free = [PrefixCache(model, self.context) for _ in range(self.slots)]
        self._batch = think.Batch(model, self.slots)
        self._change = threading.Condition()
        self._waiting: deque[tuple[Sequence, Answer]] = deque()
        self._tasks: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._reading: list[tuple[Sequence, Answer]] = []
        self._saying: list[tuple[Sequence, Answer]] = []
        self._draining = self._closed = self._doing = False
        self._refuse_waiting = True
        self._why = "the program is about to end; ask it again when it is back"
        self.steps = self.tokens = 0
        """Decode steps so far, and tokens that they made."""
        self._thread = threading.Thread(target=self._run, name="whygpu-thinker", daemon=True)
        self._thread.start()

    @property
    def active(self) -> int:
        """Answers in a slot now."""
        return self.slots - len(self._free)

    @property
    def waiting(self) -> int:
        """Answers without a slot yet."""
        return len(self._waiting)

    def ask(self, sequence: Sequence) -> Answer:
        """Queue an answer; call it from the event loop that will iterate over it.

        Raises
        ------
        Busy
            Where too many wait already, or the program is about to end.
        """
        answer = Answer(asyncio.get_running_loop())
        with self._change:
            if self._draining:
                raise Busy(self._why)
            if len(self._waiting) >= self.queue:
                raise Busy(f"{len(self._waiting)} questions wait already; ask again a little later")
            self._waiting.append((sequence, answer))
            self._change.notify()
        return answer

    def do(self, work: Callable[[], T]) -> "Future[T]":
        """Run something else that needs the model, between two steps.

        Raises
        ------
        Busy
            As ``ask``.
        """
        future: Future[T] = Future()
        with self._change:
            if self._draining:
                raise Busy(self._why)
            if len(self._tasks) >= self.queue:
                raise Busy("too much waits already; ask again a little later")
            self._tasks.append((work, future))
            self._change.notify()
        return future

    def warm(self) -> None:
        """Compile what is not compiled yet and touch the weights, so that nobody waits for it later."""

        def once() -> None:
            token = self.model.architecture.vocab // 2
            pair = [think.new_cache(self.model, 32) for _ in range(min(2, self.slots))]
            for cache in pair:
                think.prefill(self.model, [token], cache)
            self._batch.decode([token] * len(pair), pair)

        self.do(once).result()

    @property
    def working(self) -> bool:
        """Whether anything is in progress, or waits."""
        return bool(self.active or self._waiting or self._tasks or self._doing)

    def drain(self, why: str | None = None) -> None:
        """Take nothing new: who waits is told so, answers go on. Signal handlers may call it.

        ``why``: another model comes; who waits already is still answered.
        """
        if why is not None:
            self._why = why
        self._refuse_waiting = why is None
        self._draining = True

    def close(self, patience: float = 1.0) -> None:
        """Let answers in progress end, ``patience`` seconds at most, then end them; stop the thread."""
        self._draining = True
        end = perf_counter() + patience
        with self._change:
            self._change.notify()
            while self.active and perf_counter() < end:
                self._change.wait(0.05)
            self._closed = True
            self._change.notify()
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        with engine.using(self.model.backend):
            while self._next():
                with ExitStack() as stack:
                    ledger = stack.enter_context(engine.ledger()) if self.heard else None
                    for work in (self._read, self._say):
                        if self._reading or self._saying:
                            with self.turns:
                                work()
                    self._task()
                if ledger is not None and self.heard is not None:
                    self.heard(ledger)
        for _, answer in [*self._reading, *self._saying, *self._waiting]:
            answer.fail(Gone("the model or the program ended before the answer did"))
        Answer.flush()
        while self._tasks:
            future = self._tasks.popleft()[1]
            if future.set_running_or_notify_cancel():
                future.set_exception(Gone("the model or the program ended before that was done"))

    def _next(self) -> bool:
        """Wait for something to do and admit who fits; False: the end."""
        with self._change:
            while not (self._closed or self._waiting or self._tasks or self._reading or self._saying):
                self._change.wait(0.5)
            if self._draining and self._refuse_waiting:
                while self._waiting:
                    self._waiting.popleft()[1].fail(Gone("the program is about to end; ask it again later"))
            while self._waiting and self._free:
                sequence, answer = self._waiting.popleft()
                if not answer.cancelled:
                    sequence.slot = max(self._free, key=lambda slot: slot.known(sequence.ids))
                    self._free.remove(sequence.slot)
                    sequence.reused = sequence.slot.known(sequence.ids)
                    self._reading.append((sequence, answer))
            return not self._closed

    def _read(self) -> None:
        """Push pieces of prompts through, each prompt in its turn; its last piece gives the first token."""
        for _ in range(min(PIECES, len(self._reading))):
            sequence, answer = self._reading.pop(0)
            if self._left(sequence, answer):
                continue
            slot = sequence.slot
            assert slot is not None
            try:
                end = max(slot.known(sequence.ids), 0) + PIECE
                scores = slot.prefill(sequence.ids[:end])
                if end < len(sequence.ids):
                    self._reading.append((sequence, answer))
                else:
                    self._hear(sequence, answer, scores)
            except Exception as error:
                self._fail(sequence, answer, error)
        Answer.flush()

    def _say(self) -> None:
        """One token of every answer."""
        rows = [pair for pair in self._saying if not self._left(*pair)]
        self._saying = []
        if not rows:
            return
        try:
            caches = [sequence.slot.extend(sequence.ids[-1]) for sequence, _ in rows if sequence.slot]
            scores = self._batch.decode([sequence.ids[-1] for sequence, _ in rows], caches)
        except Exception as error:
            for pair in rows:
                self._fail(*pair, error)
            return
        self.steps += 1
        for (sequence, answer), row in zip(rows, scores, strict=True):
            try:
                self._hear(sequence, answer, row)
            except Exception as error:
                self._fail(sequence, answer, error)
        Answer.flush()

    def _hear(self, sequence: Sequence, answer: Answer, scores: Any) -> None:
        with engine.scope("think", "decode"), engine.other("sampling", size=4 * len(scores)):
            step = sequence.hear(scores)
        self.tokens += 1
        answer.give(step)
        if step.finish is None:
            self._saying.append((sequence, answer))
        else:
            self._release(sequence)

    def _left(self, sequence: Sequence, answer: Answer) -> bool:
        """Whether nobody listens any more; its slot is free then."""
        if answer.cancelled:
            self._release(sequence)
        return answer.cancelled

    def _fail(self, sequence: Sequence, answer: Answer, error: Exception) -> None:
        answer.fail(error)
        Answer.flush()
        self._release(sequence)

    def _release(self, sequence: Sequence) -> None:
        if sequence.slot is not None:
            self._free.append(sequence.slot)
            sequence.slot = None

    def _task(self) -> None:
        """One other thing."""
        with self._change:
            if not self._tasks:
                return
            work, future = self._tasks.popleft()
            self._doing = True
        try:
            self._do(work, future)
        finally:
            self._doing = False

    def _do(self, work: Callable[[], Any], future: "Future[Any]") -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            with self.turns:
                future.set_result(work())
        except Exception as error:
            future.set_exception(error)
