"""A decode step whose shapes never change, so that a framework can compile it into one piece.

The readable step looks at the keys that there are; this one looks at the whole room of the cache and hides
what is not there yet. Its token and its position are arrays on the device, and so is the next token: many
steps can run without asking the host. It is ``transformer.forward`` all the same: only the cache is another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from whygpu import engine
from whygpu.engine import ranks
from whygpu.models import Rope
from whygpu.think.cache import Cache
from whygpu.think.layers import rope_table
from whygpu.think.model import Block, Model, Weights
from whygpu.think.transformer import forward

if TYPE_CHECKING:
    from whygpu.models import Architecture

__all__ = ["decode_greedily", "static_step", "steps_are_compiled"]

Step = Callable[..., tuple[Any, list[Any], list[Any]]]


def steps_are_compiled(model: Model, cache: Any) -> bool:
    """Whether a decode step of this model goes through a compiled one: where that helps and nobody listens.

    A mixture of experts asks the host which experts to take, and ranks talk to each other in between.
    """
    return (
        engine.current().compiles
        and not engine.listening()
        and isinstance(cache, Cache)
        and cache.room > 0
        and cache.length > 0
        and not model.architecture.experts
        and ranks.here().size == 1
    )


def static_step(model: Model, token: Any, cache: Cache) -> Any:
    """One token through the compiled step: (1, 1) integers -> (1, vocab) scores, both on the device."""
    cache.reserve(1)
    backend = engine.current()
    step, arrays = _compiled(model, cache)
    position = backend.asarray(cache.length, dtype="int64")  # ()
    scores, cache.keys, cache.values = step(
        arrays, token, position, keys=list(cache.keys), values=list(cache.values)
    )
    cache.advance(1)
    return scores


def decode_greedily(model: Model, token: int, cache: Cache, count: int) -> list[int]:
    """``count`` greedy tokens after ``token``; the host sees them when the last one is there.

    Raises
    ------
    UserError
        Where they do not fit into the cache.
    """
    cache.reserve(count)
    backend = engine.current()
    xp = backend.xp
    here = backend.asarray([[token]], dtype="int64")  # (1, 1)
    said = []
    with engine.scope("think", "decode"):
        for _ in range(count):
            compiled = steps_are_compiled(model, cache)
            scores = static_step(model, here, cache) if compiled else forward(model, here, cache)
            here = xp.reshape(xp.argmax(scores, axis=-1), (1, 1))
            said.append(here)
        return [int(i) for i in backend.to_numpy(xp.concat(said, axis=1))[0]]


class _StaticPlaces:
    """One new token at ``position``, an array; the tables are those of all positions."""

    def __init__(self, position: Any, room: int, tables: dict[Rope, tuple[Any, Any]]) -> None:
        self.position, self.room, self.tables = position, room, tables

    def rows(self, positions: Any) -> Any:
        xp = engine.current().xp
        return xp.take(positions, xp.reshape(self.position, (1,)), axis=0)

    def turn(self, rope: Rope) -> tuple[Any, Any]:
        xp = engine.current().xp
        place = xp.reshape(self.position, (1,))
        cosine, sine = self.tables[rope]
        return xp.take(cosine, place, axis=0), xp.take(sine, place, axis=0)

    def mask(self, window: int | None) -> Any:
        backend = engine.current()
        xp = backend.xp
        keys = xp.arange(self.room, dtype=xp.int64, device=backend.device)
        hidden = keys > self.position
        if window is not None:
            hidden = hidden | (keys <= self.position - window)
        nothing = xp.zeros(self.room, dtype=xp.float32, device=backend.device)
        return xp.where(hidden, nothing - float("inf"), nothing)[None, :]  # (1, room)


class _StaticCache(Cache):
    """The cache inside the step: what it is told to hold, all of it visible."""

    def __init__(self, a: Architecture, places: _StaticPlaces, keys: list[Any], values: list[Any]) -> None:
        super().__init__(a, places.room, room=places.room)
        self.here = places
        self.keys, self.values = keys, values

    def places(self, tokens: int) -> Any:
        return self.here

    def append(self, layer: int, keys: Any, values: Any, window: int | None = None) -> tuple[Any, Any]:
        backend = engine.current()
        for held, new in ((self.keys, keys), (self.values, values)):
            new = backend.xp.astype(new, held[layer].dtype, copy=False)  # noqa: PLW2901
            held[layer] = backend.put(held[layer], new, self.here.position)
        return self.keys[layer], self.values[layer]


def _compiled(model: Model, like: Cache) -> tuple[Step, list[Any]]:
    """The step for caches of that room, and the weights that it takes."""
    a, backend, room = model.architecture, engine.current(), like.room
    turning = sorted({b.rope for b in a.blocks if b.rope is not None}, key=repr)
    long = tuple(rope.is_long(like.capacity) for rope in turning)
    steps = like.steps if backend.binds else model.steps
    if (room, long) in steps:
        found: tuple[Step, list[Any]] = steps[room, long]
        return found
    arrays, rebuilt = _flat(model.weights)
    tables = [rope_table(rope, 0, room, long=is_long) for rope, is_long in zip(turning, long, strict=True)]
    weights = len(arrays)
    arrays += [array for pair in tables for array in pair]

    def step(arrays: list[Any], token: Any, position: Any, *, keys: list[Any], values: list[Any]) -> Any:
        pairs = zip(arrays[weights::2], arrays[weights + 1 :: 2], strict=True)
        places = _StaticPlaces(position, room, dict(zip(turning, pairs, strict=True)))
        cache = _StaticCache(a, places, list(keys), list(values))
        scores = forward(model.with_weights(rebuilt(arrays[:weights])), token, cache)
        return scores, cache.keys, cache.values

    made = backend.compiled(step), arrays
    steps[room, long] = made
    return made


def _flat(weights: Weights) -> tuple[list[Any], Callable[[list[Any]], Weights]]:
    """The arrays of the weights in a row, and how weights are made of them again."""
    arrays: list[Any] = []
    places: dict[int, int] = {}

    def note(value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, tuple)):
            return lambda given: value
        if id(value) not in places:  # a tied head is the embedding
            places[id(value)] = len(arrays)
            arrays.append(value)
        place = places[id(value)]
        return lambda given: given[place]

    blocks = [{f.name: note(getattr(block, f.name)) for f in fields(Block)} for block in weights.blocks]
    top = {f.name: note(getattr(weights, f.name)) for f in fields(Weights) if f.name != "blocks"}

    def rebuilt(given: list[Any]) -> Weights:
        made = tuple(Block(**{name: take(given) for name, take in block.items()}) for block in blocks)
        return Weights(blocks=made, **{name: take(given) for name, take in top.items()})

    return arrays, rebuilt
