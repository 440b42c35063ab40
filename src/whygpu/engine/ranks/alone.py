"""The ranks that this process belongs to: itself alone, or those that torchrun started.

Portable code asks ``ranks.here()`` and calls ``sum`` and ``gather``; alone, both give back what they got.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whygpu.engine.backends import Backend

__all__ = ["COMMUNICATION", "Ranks", "claim_word", "here", "join", "launched", "leave"]

COMMUNICATION = ("all-reduce", "all-gather")
"""How the names of transfers in the ledger begin."""


class Ranks:
    """One process by itself."""

    rank: int = 0
    size: int = 1

    def sum(self, array: Any, name: str) -> Any:
        """The sum of all ranks' arrays, the same on each (all-reduce); ``name`` says of what."""
        return array

    def gather(self, array: Any, rows: Sequence[int], name: str) -> Any:
        """All ranks' arrays end to end along the last axis (all-gather); ``rows`` of each rank."""
        return array

    def objects(self, value: Any) -> list[Any]:
        """What each rank has to say, in their order, on rank 0; nothing elsewhere."""
        return [value]

    def agree(self, what: str, value: str) -> None:
        """Make sure that all ranks were given the same; raises ``UserError`` that names who was not."""

    def close(self) -> None:
        """Let go of the others."""


_here: list[Ranks] = [Ranks()]


def here() -> Ranks:
    """The ranks of this process."""
    return _here[0]


def launched() -> bool:
    """Whether torchrun (or something that sets the same variables) started this process beside others."""
    return "RANK" in os.environ and os.environ.get("WORLD_SIZE", "1") != "1"


def join(backend: Backend) -> Ranks:
    """Meet the other ranks of this job; alone where nothing was launched.

    Raises
    ------
    UserError
        Where they cannot be met, or this backend cannot talk to them.
    """
    if launched() and here().size == 1:
        from whygpu.engine.ranks.group import Group

        _here[0] = Group.meet(backend)
    return here()


def leave() -> None:
    """Part from the others."""
    there, _here[0] = here(), Ranks()
    there.close()


def claim_word() -> bool:
    """Whether this rank may tell people of a failure: one line is enough for all that fail alike."""
    ranks = here()
    if ranks.size > 1:
        return bool(getattr(ranks, "claim", lambda: True)())
    return not launched() or os.environ.get("LOCAL_RANK", "0") == "0"
