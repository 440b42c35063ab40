"""What ``whygpu serve`` and ``whygpu lab`` have in common: the model, the address, the key."""

import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from whygpu import think
from whygpu.engine import Progress, UserError
from whygpu.lab.app import hosts_of
from whygpu.lab.guard import new_key
from whygpu.lab.host import Host
from whygpu.lab.roots import Roots
from whygpu.lab.server import bind
from whygpu.lab.shelf import Shelf
from whygpu.lab.thinker import Thinker

__all__ = ["KEY_VARIABLE", "Address", "hosted", "listen", "load"]

KEY_VARIABLE = "WHYGPU_KEY"
"""The environment variable that may hold the key; an option would stand in the process list."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Address:
    """Where it listens, and what lets one in."""

    listener: socket.socket
    hosts: frozenset[str]
    key: str
    url: str


def listen(host: str, port: int) -> Address:
    """Bind; another host than this machine's own loopback needs a key that its owner chose.

    Raises
    ------
    UserError
        Where the address cannot be had, or the key is missing or weak.
    """
    key = os.environ.get(KEY_VARIABLE, "")
    if host not in LOOPBACK and not key:
        raise UserError(
            f"--host {host}: others can reach that; choose a key first: {KEY_VARIABLE}=... whygpu ..."
        )
    if key and not re.fullmatch(r"[A-Za-z0-9._~-]{16,256}", key):
        raise UserError(f"{KEY_VARIABLE}: it must have 16 to 256 letters, digits, or . _ ~ -")
    listener = bind(host, port)
    bound = listener.getsockname()[1]
    names = (socket.gethostname(), host) if host not in LOOPBACK else (host,)
    shown = "127.0.0.1" if host in ("0.0.0.0", "localhost") else f"[{host}]" if ":" in host else host
    return Address(listener, hosts_of(bound, *names), key or new_key(), f"http://{shown}:{bound}")


def memory_for_caches() -> float:
    """Half of the memory that is free now, in bytes."""
    import psutil

    return float(psutil.virtual_memory().available) / 2


def load(model: str, threads: int | None, device: str, progress: Progress) -> think.Model:
    """The model that answers."""
    from whygpu import engine

    return think.load_or_invent(model, backend=engine.backend(device, threads=threads), progress=progress)


def hosted(
    model: think.Model,
    place: str,
    roots: Roots,
    changed: Callable[[], None] = lambda: None,
    *,
    context: int | None = None,
    **how: Any,
) -> Host:
    """A host that begins with ``model`` and can load what else is here, on the same backend.

    ``context`` is meant for the first; another one that has less gives what it has. ``how`` is the thinkers'.
    """
    backend = model.backend

    def another(wanted: str, progress: Progress) -> think.Model:
        return think.load_or_invent(wanted, backend=backend, progress=progress)

    def employ(other: think.Model) -> Thinker:
        room = None if context is None else min(context, other.architecture.context)
        return Thinker(other, context=room, memory=memory_for_caches(), **how)

    first = Thinker(model, context=context, memory=memory_for_caches(), **how)
    return Host(first, Shelf(model, place, roots), another, employ, changed)
