"""The K/V cache: what each layer remembers of the tokens so far, so that decoding computes one token only."""

from math import prod
from typing import Any, Protocol

from whygpu import engine
from whygpu.engine import UserError
from whygpu.models import Architecture, Rope
from whygpu.think.layers import causal_mask, rope_table

__all__ = ["Cache", "Remembers"]

FIRST_ROOM = 1024
"""Tokens for which memory is taken at first, if the capacity is not less; doubled when they are used up."""


class Remembers(Protocol):
    """What an answer needs of a cache, however it stores keys and values."""

    capacity: int
    """The most tokens that it may hold."""
    length: int
    """Tokens that it holds."""

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""


class Places:
    """Where the ``length`` new tokens of a pass stand: after ``past`` others."""

    def __init__(self, past: int, length: int, capacity: int) -> None:
        self.past, self.length, self.capacity = past, length, capacity

    def rows(self, positions: Any) -> Any:
        """Their rows of a table of learned positions: (context, d) -> (T, d)."""
        return positions[self.past : self.past + self.length, :]

    def turn(self, rope: Rope) -> tuple[Any, Any]:
        """Cosines and sines of their rotary angles, as ``rope_table`` gives them."""
        return rope_table(rope, self.past, self.length, long=rope.is_long(self.capacity))

    def mask(self, window: int | None) -> Any:
        """What hides later tokens and those beyond the window, as ``causal_mask`` gives it."""
        seen = self.past + self.length
        if window is not None:
            seen = min(seen, window - 1 + self.length)
        return causal_mask(self.length, self.past, seen, window)


class Cache:
    """Keys and values of all layers; adding a token copies that token alone.

    Memory grows with the conversation, by doubling, up to ``capacity`` tokens.

    Parameters
    ----------
    architecture
        Says how many layers there are.
    capacity
        The most tokens a sequence may have.
    batch
        Sequences side by side, all of the same length.
    dtype
        What they are held in.
    room
        Take the memory of so many tokens (``capacity`` or more) at first: the arrays then never change their
        shape, which a compiled decode step needs. 0: as they come.
    """

    def __init__(
        self,
        architecture: Architecture,
        capacity: int,
        batch: int = 1,
        *,
        dtype: str = "float32",
        room: int = 0,
    ) -> None:
        self.capacity = capacity
        self.length = 0
        """Tokens of each sequence so far."""
        self.batch = batch
        self.dtype = dtype
        self.room = room
        self.keys: list[Any] = [None] * architecture.layers
        """By layer (B, kv_heads, room, head_dim); None before the first token."""
        self.values: list[Any] = [None] * architecture.layers
        self.steps: dict[Any, Any] = {}
        """Compiled decode steps that work in these very arrays (``static``)."""

    def reserve(self, tokens: int) -> None:
        """Check that ``tokens`` more fit."""
        if self.length + tokens > self.capacity:
            raise UserError(
                f"the context is full: {self.length} + {tokens} tokens do not fit into {self.capacity}"
            )

    def places(self, tokens: int) -> Places:
        """Where the next ``tokens`` will stand."""
        return Places(self.length, tokens, self.capacity)

    def append(self, layer: int, keys: Any, values: Any, window: int | None = None) -> tuple[Any, Any]:
        """Add ``(B, kv_heads, T, head_dim)`` to a layer; returns views of what the new tokens may see.

        Those are ``(B, kv_heads, S, head_dim)``, S = length + T or, with a window, the last of these. Layers
        may differ in heads and dimensions.
        """
        start, end, put = self.length, self.length + keys.shape[2], engine.current().put
        with engine.other("cache", size=2 * 4 * (prod(keys.shape) + prod(values.shape))):  # read and written
            for held, new in ((self.keys, keys), (self.values, values)):
                held[layer] = put(self._with_room(held[layer], new, end), self._held(new), start)
        first = 0 if window is None else max(0, end - (window - 1 + keys.shape[2]))
        return self.keys[layer][:, :, first:end, :], self.values[layer][:, :, first:end, :]

    def advance(self, tokens: int) -> None:
        """All layers have added ``tokens``."""
        self.length += tokens

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.length = min(self.length, length)

    def _held(self, new: Any) -> Any:
        xp = engine.current().xp
        return new if self.dtype == "float32" else xp.astype(new, getattr(xp, self.dtype))

    def _with_room(self, held: Any, new: Any, needed: int) -> Any:
        """``held`` (B, kv_heads, room, head_dim), or a larger copy where ``needed`` tokens do not fit."""
        room = 0 if held is None else held.shape[2]
        if needed <= room:
            return held
        batch, heads, _, dimensions = new.shape
        room = self.room or min(self.capacity, max(needed, 2 * room, FIRST_ROOM))
        backend = engine.current()
        # what a compiled step's cache does not hold yet is multiplied by weights of 0, so it must be numbers
        make = backend.xp.zeros if self.room else backend.xp.empty
        shape = (batch, heads, room, dimensions)
        grown = make(shape, dtype=getattr(backend.xp, self.dtype), device=backend.device)
        return grown if held is None else backend.put(grown, held[:, :, : self.length, :], 0)
