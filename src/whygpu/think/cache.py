"""The K/V cache: what each layer remembers of the tokens so far, so that decoding computes one token only."""

from math import prod
from typing import Any

from whygpu import engine
from whygpu.engine import UserError
from whygpu.models import Architecture

__all__ = ["Cache"]


class Cache:
    """Keys and values of all layers, allocated once; adding a token copies that token alone.

    Parameters
    ----------
    architecture
        Says how many layers, K/V heads and dimensions.
    capacity
        The most tokens a sequence may have.
    batch
        Sequences side by side, all of the same length.
    """

    def __init__(self, architecture: Architecture, capacity: int, batch: int = 1) -> None:
        backend = engine.current()
        shape = (batch, architecture.kv_heads, capacity, architecture.head_dim)
        self.capacity = capacity
        self.length = 0
        """Tokens of each sequence so far."""
        self._keys = [_empty(backend, shape) for _ in range(architecture.layers)]
        self._values = [_empty(backend, shape) for _ in range(architecture.layers)]

    def reserve(self, tokens: int) -> None:
        """Check that ``tokens`` more fit."""
        if self.length + tokens > self.capacity:
            raise UserError(
                f"the context is full: {self.length} + {tokens} tokens do not fit into {self.capacity}"
            )

    def append(self, layer: int, keys: Any, values: Any) -> tuple[Any, Any]:
        """Add ``(B, kv_heads, T, head_dim)`` to a layer; returns views of all it knows now.

        Those are ``(B, kv_heads, length + T, head_dim)``.
        """
        start, end = self.length, self.length + keys.shape[2]
        with engine.other("cache", size=4 * 4 * prod(keys.shape)):  # keys and values, read and written
            self._keys[layer][:, :, start:end, :] = keys
            self._values[layer][:, :, start:end, :] = values
        return self._keys[layer][:, :, :end, :], self._values[layer][:, :, :end, :]

    def advance(self, tokens: int) -> None:
        """All layers have added ``tokens``."""
        self.length += tokens

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.length = min(self.length, length)


def _empty(backend: engine.Backend, shape: tuple[int, ...]) -> Any:
    return backend.xp.empty(shape, dtype=backend.xp.float32, device=backend.device)
