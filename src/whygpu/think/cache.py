"""The K/V cache: what each layer remembers of the tokens so far, so that decoding computes one token only."""

from math import prod
from typing import Any, Protocol

from whygpu import engine
from whygpu.engine import UserError
from whygpu.models import Architecture

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


class Cache:
    """Keys and values of all layers in float32; adding a token copies that token alone.

    Memory grows with the conversation, by doubling, up to ``capacity`` tokens.

    Parameters
    ----------
    architecture
        Says how many layers there are.
    capacity
        The most tokens a sequence may have.
    batch
        Sequences side by side, all of the same length.
    """

    def __init__(self, architecture: Architecture, capacity: int, batch: int = 1) -> None:
        self.capacity = capacity
        self.length = 0
        """Tokens of each sequence so far."""
        self.batch = batch
        self._keys: list[Any] = [None] * architecture.layers
        self._values: list[Any] = [None] * architecture.layers

    def reserve(self, tokens: int) -> None:
        """Check that ``tokens`` more fit."""
        if self.length + tokens > self.capacity:
            raise UserError(
                f"the context is full: {self.length} + {tokens} tokens do not fit into {self.capacity}"
            )

    def append(self, layer: int, keys: Any, values: Any) -> tuple[Any, Any]:
        """Add ``(B, kv_heads, T, head_dim)`` to a layer; returns views of all it knows now.

        Those are ``(B, kv_heads, length + T, head_dim)``. Layers may differ in heads and dimensions.
        """
        start, end, put = self.length, self.length + keys.shape[2], engine.current().put
        with engine.other("cache", size=2 * 4 * (prod(keys.shape) + prod(values.shape))):  # read and written
            for held, new in ((self._keys, keys), (self._values, values)):
                held[layer] = put(self._with_room(held[layer], new, end), new, start)
        return self._keys[layer][:, :, :end, :], self._values[layer][:, :, :end, :]

    def advance(self, tokens: int) -> None:
        """All layers have added ``tokens``."""
        self.length += tokens

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.length = min(self.length, length)

    def _with_room(self, held: Any, new: Any, needed: int) -> Any:
        """``held`` (B, kv_heads, room, head_dim), or a larger copy where ``needed`` tokens do not fit."""
        room = 0 if held is None else held.shape[2]
        if needed <= room:
            return held
        batch, heads, _, dimensions = new.shape
        room = min(self.capacity, max(needed, 2 * room, FIRST_ROOM))
        backend = engine.current()
        grown = backend.xp.empty(
            (batch, heads, room, dimensions), dtype=backend.xp.float32, device=backend.device
        )
        return grown if held is None else backend.put(grown, held[:, :, : self.length, :], 0)
