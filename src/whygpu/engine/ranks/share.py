"""How work is cut into ranks' shares."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from whygpu.engine.ranks.alone import here

__all__ = ["bounds", "share"]

T = TypeVar("T")
R = TypeVar("R")


def bounds(count: int, rank: int, size: int) -> tuple[int, int]:
    """Rank ``rank``'s share of ``count`` things in a row: the first and one past the last.

    Shares differ by one at most, the larger ones first.
    """
    each, more = divmod(count, size)
    start = rank * each + min(rank, more)
    return start, start + each + (rank < more)


def share(items: Sequence[T], work: Callable[[T], R]) -> Iterator[R]:
    """Work on every item, each on one rank, and yield all results in order on rank 0.

    Rank r takes items r, r + size, ...; after each round the results are gathered, so that no more than
    ``size`` are ever held. On the other ranks the iterator yields nothing, but must be run through. Alone
    it is ``map(work, items)``.

    Example: ``for frame in ranks.share(cameras, lambda camera: draw.render(scene, camera=camera)): ...``
    """
    ranks = here()
    for start in range(0, len(items), ranks.size):
        mine = start + ranks.rank
        done = [work(items[mine])] if mine < len(items) else []
        for results in ranks.objects(done):
            yield from results
