"""A command that several ranks run together: rank 0 speaks, the others work.

A command that draws many frames shares them in one line; on rank 0 the loop sees all, elsewhere none::

    with among_ranks(backend):
        for frame in ranks.share(cameras, lambda camera: drawing.render(scene, camera=camera)):
            ...
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from whygpu.engine import ranks

__all__ = ["among_ranks", "merged", "mute", "open_backend"]


def mute() -> None:
    """Ranks but the first say nothing, unless they fail; nothing where nothing was launched."""
    if ranks.launched() and os.environ["RANK"] != "0":
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - as long as the process
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def open_backend(device: str, threads: int | None, screen: Any) -> Any:
    """The backend of that name; what ``auto`` chose is said."""
    from whygpu import engine

    backend = engine.backend(device, threads=threads)
    if device == "auto":
        screen.err.print(screen.texts("device.auto", name=backend.name, card=backend.card), style="dim")
    return backend


@contextlib.contextmanager
def among_ranks(backend: Any) -> Iterator[Any]:
    """Meet the other ranks, which must have been given the same arguments; part from them at the end."""
    here = ranks.join(backend)
    try:
        here.agree("the arguments", " ".join(sys.argv[1:]))
        yield here
    finally:
        if sys.exc_info()[0] is None:  # after a failure the process ends, and who waits notices
            ranks.leave()


def merged(ledger: Any) -> Any:
    """On rank 0 what all ranks multiplied and sent; on the others what they did themselves."""
    heard = ranks.here().objects(ledger)
    if len(heard) < 2:
        return ledger
    from whygpu import engine

    whole = engine.Ledger()
    for each in heard:
        whole.merge(each)
    return whole
