"""Run an application until SIGTERM or Ctrl-C, then end within two seconds."""

import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from whygpu.engine import UserError
from whygpu.lab.limits import CONNECTIONS

__all__ = ["bind", "serve", "server"]

PATIENCE = 1
"""Seconds that answers in progress may go on after the signal."""


class _Server(uvicorn.Server):
    """Tells the host as soon as the signal comes."""

    def __init__(self, config: uvicorn.Config, drain: Callable[[], None]) -> None:
        super().__init__(config)
        self.drain = drain

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """From a signal handler."""
        self.drain()
        super().handle_exit(sig, frame)


def bind(host: str, port: int) -> socket.socket:
    """A socket of that address that listens; port 0: any that is free.

    It listens at once, so that a second program that wants the port is told so now, and not when its model
    has loaded; who connects early waits.

    Raises
    ------
    UserError
        Where it is taken or not this machine's.
    """
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(128)
        except (OSError, OverflowError):
            listener.close()
            raise
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"--host {host} --port {port}: {reason}; choose another port, or --port 0") from error
    return listener


def serve(app: Any, drain: Callable[[], None], listener: socket.socket) -> None:
    """Answer until somebody ends it; ``drain`` is called as soon as the signal comes."""
    server(app, drain).run(sockets=[listener])


def server(app: Any, drain: Callable[[], None]) -> uvicorn.Server:
    """What answers, not yet begun."""
    config = uvicorn.Config(
        app,
        lifespan="on",
        ws_per_message_deflate=False,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=PATIENCE,
        limit_concurrency=CONNECTIONS,
        ws="websockets-sansio",
        ws_max_size=1 << 16,
        ws_ping_interval=20,
        h11_max_incomplete_event_size=1 << 16,
        timeout_keep_alive=30,
    )
    return _Server(config, drain)
