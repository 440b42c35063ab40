"""The main job: measure, experiment, draw, think, account for both, look elsewhere, show and judge."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Protocol, TypeVar

from whygpu import __version__, draw, engine, measure, models, predict
from whygpu.engine import Backend, Ledger
from whygpu.measure import experiments
from whygpu.measure.machine import Machine
from whygpu.measure.roof import Roofline
from whygpu.story.accounts import account
from whygpu.story.claims import Here, claims, judge
from whygpu.story.claims.schema import document
from whygpu.story.drawing import SIZE, Pictures, draw_scenes
from whygpu.story.exhibits import Numbers
from whygpu.story.results import ExhibitJson, LedgerResult, Results, Thinking
from whygpu.story.showing import exhibits_job, show, use_again
from whygpu.story.thinking import QUESTION, answer, load_model, warm_up

__all__ = ["Options", "Outcome", "Watcher", "run"]

TOKENS, QUICK_TOKENS = 64, 32

T = TypeVar("T")


class Watcher(Protocol):
    """Who looks on while the main job runs."""

    def working(self, key: str, /, **values: object) -> contextlib.AbstractContextManager[None]:
        """A step begins; it ends with the ``with`` block."""

    def progress(self, key: str, fraction: float | None = None, /, **values: object) -> None:
        """The step goes on."""

    def result(self, step: str, value: Any) -> None:
        """A step's result is there."""

    def token(self, text: str) -> None:
        """The model said something."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to run and how."""

    quick: bool = False
    draw: bool = True
    think: bool = True
    device: str = "cpu"
    threads: int | None = None
    model: str | None = None
    force: bool = False
    """Measure the roofline again, whatever is cached."""


@dataclass(slots=True)
class Outcome:
    """The results and the pictures that belong to them."""

    results: Results
    images: dict[str, bytes] = field(default_factory=dict)
    exhibits: dict[str, Numbers] = field(default_factory=dict)
    """What the exhibits show, with what their pictures need."""


@dataclass(slots=True)
class _Work:
    """What was drawn and thought, and the ledger of both."""

    pictures: Pictures = field(default_factory=lambda: Pictures([], {}, {}))
    thinking: Thinking | None = None
    model: Any = None
    ledger: Ledger = field(default_factory=Ledger)


def run(options: Options, watcher: Watcher) -> Outcome:
    """Run all steps in order; each result is told to the watcher as soon as it is there."""
    backend = engine.backend(options.device, threads=options.threads)
    seconds: dict[str, float] = {}
    with _step("machine", seconds, watcher):
        roofline = measure.roofline(
            force=options.force, quick=options.quick, threads=options.threads, progress=watcher.progress
        )
    watcher.result("machine", roofline)
    if options.think and options.model:
        with _step("load", seconds, watcher):  # a model that cannot be had is said before the long work
            models.locate(options.model, progress=watcher.progress)
    first = _experiment(1, experiments.experiment_1, options, seconds, watcher)
    second = _experiment(2, experiments.experiment_2, options, seconds, watcher)
    third = _experiment(3, experiments.experiment_3, options, seconds, watcher)
    work = _draw_and_think(options, backend, roofline, seconds, watcher)
    accounts = _account(options, work, watcher)
    elsewhere = predict.elsewhere(roofline.as_machine(), own=_own(roofline.as_machine(), work.thinking))
    watcher.result("elsewhere", elsewhere)
    shown, left_out = _exhibits(options, backend, roofline, work, seconds, watcher)
    with _step("claims", seconds, watcher):
        here = Here.of(roofline, first, second, third)
        judged = [judge(claim, here) for claim in claims().values()]
    results = Results(
        whygpu=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        quick=options.quick,
        device=backend.name,
        threads=backend.threads,
        roofline=roofline,
        experiment_1=first,
        experiment_2=second,
        experiment_3=third,
        drawings=work.pictures.drawings,
        thinking=work.thinking,
        ledger=accounts,
        exhibits={name: ExhibitJson.model_validate(found.as_dict()) for name, found in shown.items()},
        left_out=left_out,
        claims=document(judged).claims,
        elsewhere=elsewhere,
        seconds=seconds,
    )
    return Outcome(results, work.pictures.images, shown)


def _own(here: Machine, thinking: Thinking | None) -> float | None:
    """How this machine errs against the prediction for it, where a model ran here."""
    if thinking is None or thinking.decode_tokens_per_second <= 0:
        return None
    return predict.own_factor(here, thinking.model, 1 / thinking.decode_tokens_per_second)


def _draw_and_think(
    options: Options, backend: Backend, roofline: Roofline, seconds: dict[str, float], watcher: Watcher
) -> _Work:
    work = _Work()
    with engine.using(backend):
        if options.draw:
            with _step("draw", seconds, watcher):
                work.pictures = draw_scenes(backend, quick=options.quick, progress=watcher.progress)
                work.ledger.merge(_listen_to_drawing(work.pictures, backend))
            watcher.result("draw", work.pictures.drawings)
        if options.think:
            work.thinking, heard, work.model = _think(options, backend, roofline, seconds, watcher)
            work.ledger.merge(heard)
            watcher.result("think", work.thinking)
    return work


def _account(options: Options, work: _Work, watcher: Watcher) -> LedgerResult | None:
    if not options.draw and not options.think:
        return None
    thought = work.thinking
    accounts = account(
        work.ledger,
        frames=len(work.pictures.scenes),
        tokens=thought.generated_tokens if thought is not None else 0,
        invented=thought is not None and thought.invented,
    )
    watcher.result("engine", accounts)
    return accounts


def _exhibits(
    options: Options,
    backend: Backend,
    roofline: Roofline,
    work: _Work,
    seconds: dict[str, float],
    watcher: Watcher,
) -> tuple[dict[str, Numbers], dict[str, str]]:
    """Exhibits look into the fast paths of the CPU, whatever device drew and thought."""
    job = exhibits_job(roofline, options.model, watcher.progress)
    if backend.fast:
        use_again(job, work.pictures, work.thinking, work.model)
    cpu = engine.backend("cpu", threads=options.threads)
    with _step("exhibits", seconds, watcher), engine.using(cpu):
        drew, thought = bool(work.pictures.scenes), work.thinking is not None
        return show(job, drew=drew, thought=thought, quick=options.quick)


@contextlib.contextmanager
def _step(name: str, seconds: dict[str, float], watcher: Watcher, **values: object) -> Iterator[None]:
    started = perf_counter()
    with watcher.working(f"step.{name}", **values):
        yield
    seconds["_".join([name, *map(str, values.values())])] = perf_counter() - started


def _experiment(
    number: int, experiment: Callable[..., T], options: Options, seconds: dict[str, float], watcher: Watcher
) -> T:
    limited = engine.backend("cpu", threads=options.threads)
    with _step("experiment", seconds, watcher, number=number), engine.using(limited):
        result = experiment(quick=options.quick, progress=watcher.progress)
    watcher.result(f"experiment_{number}", result)
    return result


def _listen_to_drawing(pictures: Pictures, backend: Backend) -> Ledger:
    """One frame of each scene, by the best path, under a ledger of its own."""
    with engine.ledger() as ledger:
        for scene in pictures.scenes.values():
            draw.render(scene, size=SIZE, backend=backend)
    return ledger


def _think(
    options: Options, backend: Backend, roofline: Roofline, seconds: dict[str, float], watcher: Watcher
) -> tuple[Thinking, Ledger, Any]:
    """Load the model (live line), then let it speak (no live line: the words themselves are one)."""
    with _step("load", seconds, watcher):
        model = load_model(options.model, backend, watcher.progress)
        warm_up(model)
    started = perf_counter()
    with engine.ledger() as ledger:
        thinking = answer(
            model,
            prompt=QUESTION,
            max_tokens=QUICK_TOKENS if options.quick else TOKENS,
            bandwidth=roofline.read_bandwidth,
            load_seconds=seconds["load"],
            tell=watcher.token,
        )
    seconds["think"] = perf_counter() - started
    return thinking, ledger, model
