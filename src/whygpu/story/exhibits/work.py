"""What drawing and thinking do here, once, in order: the streams of products and their measured rates."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from whygpu import draw, engine, think
from whygpu.engine import Ledger
from whygpu.engine.ledger import LISTENERS, Product
from whygpu.story.exhibits.base import Job
from whygpu.story.exhibits.canvas import Picture
from whygpu.story.exhibits.fonts import shown

__all__ = ["Event", "Stage", "Work", "work"]

SCENE, SIZE = "character", (1280, 720)
PROMPT = "Why does a language model need the chip that draws a game? Because both of them multiply matrices."
TOKENS = 12


@dataclass(frozen=True, slots=True)
class Event:
    """``count`` equal products, as they were reported."""

    stage: str
    name: str
    count: int
    batch: int
    m: int
    n: int
    k: int


@dataclass(frozen=True, slots=True)
class Stage:
    """The products of one stage: FLOP and bytes from the ledger, seconds measured without it."""

    flop: int
    bytes: int
    seconds: float

    @property
    def intensity(self) -> float | None:
        """FLOP a byte; None where everything stays in registers."""
        return self.flop / self.bytes if self.bytes else None

    @property
    def flops(self) -> float:
        """FLOP/s."""
        return self.flop / self.seconds


@dataclass(frozen=True, slots=True)
class Work:
    """One frame and a few tokens."""

    drawn: list[Event]
    thought: list[Event]
    stages: dict[str, Stage]
    """``vertex``, ``raster``, ``shade``, ``prefill``, ``decode`` (one token)."""
    frame_seconds: float
    token_seconds: float
    vertices: int
    pixels: int
    picture: Picture
    text: str
    model: str
    invented: bool
    prompt_tokens: int


class _Stream(Ledger):
    """A ledger that also keeps the order of what it hears."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []

    def add_product(self, product: Product, seconds: float, count: int = 1) -> None:
        """Count, and note the event."""
        super().add_product(product, seconds, count)
        p = product
        self.events.append(Event(p.scope.stage, p.name, count, p.batch, p.m, p.n, p.k))

    def see(self, seen: Any, seconds: float) -> None:
        """Count, and note the event."""
        super().see(seen, seconds)
        scope, name, a, b, _ = seen
        self.events.append(Event(scope.stage, name, 1, 1, a[-2], b[-1], a[-1]))


def work(job: Job) -> Work:
    """Measured once a job, by the best path that there is."""
    found: Work | None = job.shared.get("work")
    if found is None:
        found = job.shared["work"] = _work(job)
    return found


def _work(job: Job) -> Work:
    known = job.known
    scene = draw.load(SCENE) if known is None else known.scene
    frames = [draw.render(scene, SIZE, progress=job.progress) for _ in range(5 if known is None else 1)]
    seconds = {
        stage: known.stages[stage] if known else min(frame.statistics.seconds[stage] for frame in frames)
        for stage in ("vertex", "raster", "shade")
    }
    drawing = _Stream()
    _listen(drawing, lambda: draw.render(scene, SIZE))
    stages = {stage: _stage(drawing, stage, seconds[stage]) for stage in seconds}
    model = job.model
    with engine.using(model.backend):
        ids = model.tokenizer.encode(PROMPT)
        think.prefill(model, ids, think.new_cache(model, len(ids)))
        prefill, decode, text = _time_thinking(model, ids)
        if known is not None:
            decode = known.token_seconds
        thinking, cache = _Stream(), think.new_cache(model, len(ids) + 1)
        before = _Stream()
        _listen(before, lambda: think.prefill(model, ids, cache))
        _listen(thinking, lambda: think.decode_one_token(model, ids[-1], cache))
    stages["prefill"] = _stage(before, "prefill", prefill)
    stages["decode"] = _stage(thinking, "decode", decode)
    return Work(
        drawn=drawing.events,
        thought=_by_name(thinking.events),
        stages=stages,
        frame_seconds=sum(seconds.values()) if known is None else known.frame_seconds,
        token_seconds=decode,
        vertices=scene.vertices,
        pixels=frames[0].statistics.pixels_lit,
        picture=Picture(frames[0].rgba),
        text=shown(text),
        model=model.architecture.name,
        invented=model.invented,
        prompt_tokens=len(ids),
    )


def _listen(listener: Ledger, call: Any) -> None:
    token = LISTENERS.set((*LISTENERS.get(), listener))
    try:
        call()
    finally:
        LISTENERS.reset(token)


def _stage(ledger: Ledger, stage: str, seconds: float) -> Stage:
    row = next(row for row in ledger.rows(("stage",)) if row.stage == stage and row.is_product)
    return Stage(row.flop, row.bytes, seconds)


def _time_thinking(model: Any, ids: list[int]) -> tuple[float, float, str]:
    """Least seconds of a prefill, of a decoded token, and the words that came."""
    prefills = []
    for _ in range(3):
        cache = think.new_cache(model, len(ids) + TOKENS + 1)
        started = perf_counter()
        scores = think.prefill(model, ids, cache)
        prefills.append(perf_counter() - started)
    steps, out = [], []
    for _ in range(TOKENS):
        out.append(int(scores.argmax()))
        started = perf_counter()
        scores = think.decode_one_token(model, out[-1], cache)
        steps.append(perf_counter() - started)
    return min(prefills), min(steps), model.tokenizer.decode(out)


def _by_name(events: list[Event]) -> list[Event]:
    """One event a name: layers that are alike are counted together, in the order of the first."""
    found: dict[str, Event] = {}
    for event in events:
        known = found.get(event.name)
        if known is None:
            found[event.name] = event
        else:
            found[event.name] = Event(
                known.stage, known.name, known.count + event.count, known.batch, known.m, known.n, known.k
            )
    return list(found.values())
