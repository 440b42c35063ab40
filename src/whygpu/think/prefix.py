"""A cache that knows which tokens it holds, so that what two prompts begin with is computed once."""

from collections.abc import Callable, Sequence
from typing import Any

from whygpu.think.cache import Remembers
from whygpu.think.model import Model
from whygpu.think.passes import decode_one_token, new_cache, prefill

__all__ = ["PrefixCache", "common"]


class PrefixCache:
    """The K/V cache of one sequence beside the ids of its tokens.

    Parameters
    ----------
    model
        Whose keys and values it holds.
    capacity
        The most tokens.
    """

    def __init__(self, model: Model, capacity: int) -> None:
        self.model, self.capacity = model, capacity
        self._ids: list[int] = []  # what was asked for; only the first ``length`` are in the cache
        self._cache: Remembers | None = None

    @property
    def length(self) -> int:
        """Tokens that are held."""
        return 0 if self._cache is None else self._cache.length

    @property
    def ids(self) -> list[int]:
        """The tokens that are held."""
        return self._ids[: self.length]

    def known(self, ids: Sequence[int]) -> int:
        """How many of the first ``ids`` need not be computed; the last one always must be."""
        return min(common(self.ids, ids), len(ids) - 1)

    def prefill(self, ids: Sequence[int], between: Callable[[], None] = lambda: None) -> Any:
        """Hold exactly ``ids``, computing only those that are new; (vocab,) scores of the token after them.

        Interrupted (``between`` raises), it holds as many of them as were finished.
        """
        known = self.known(ids)
        if self._cache is None:
            self._cache = new_cache(self.model, self.capacity)
        self._cache.rewind(known)
        self._ids = list(ids)
        return prefill(self.model, self._ids[known:], self._cache, between=between)

    def decode(self, token: int) -> Any:
        """Add one token to what is held; (vocab,) scores of the token after it."""
        assert self._cache is not None
        del self._ids[self.length :]
        self._ids.append(token)
        return decode_one_token(self.model, token, self._cache)

    def extend(self, token: int) -> Remembers:
        """The cache, into which a batch is about to push ``token``."""
        assert self._cache is not None
        del self._ids[self.length :]
        self._ids.append(token)
        return self._cache

    def forget(self) -> None:
        """Hold nothing."""
        self._ids, self._cache = [], None


def common(left: Sequence[int], right: Sequence[int]) -> int:
    """How many ids both sequences begin with."""
    for at, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return at
    return min(len(left), len(right))
