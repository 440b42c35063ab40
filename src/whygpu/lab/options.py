"""What ``whygpu serve`` and ``whygpu lab`` have in common: the model, the address, the key."""

import os
import re
import socket
from dataclasses import dataclass

from whygpu import think
from whygpu.engine import Progress, UserError
from whygpu.lab.app import hosts_of
from whygpu.lab.guard import new_key
from whygpu.lab.server import bind

__all__ = ["KEY_VARIABLE", "Address", "listen", "memory_for_caches"]

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
