"""The routes, put together."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from time import time
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from whygpu.lab.bodies import answered
from whygpu.lab.door import completions, others
from whygpu.lab.guard import Guard
from whygpu.lab.host import Host
from whygpu.lab.openapi import Operation, openapi_routes

__all__ = ["door_app", "hosts_of"]


def hosts_of(port: int, *names: str) -> frozenset[str]:
    """What ``Host`` may say: this machine's own names and ``names``, with the port (80 may be left out)."""
    known = {"127.0.0.1", "localhost", "[::1]", *(f"[{name}]" if ":" in name else name for name in names)}
    with_port = {f"{name}:{port}".lower() for name in known}
    return frozenset(with_port | ({name.lower() for name in known} if port == 80 else set()))


def door_app(
    host: Host,
    *,
    key: str,
    hosts: frozenset[str],
    more: Sequence[BaseRoute] = (),
    pages: Callable[[str], bool] = lambda path: False,
    operations: tuple[Operation, ...] = (),
    state: dict[str, Any] | None = None,
    closing: Callable[[], None] = lambda: None,
) -> Guard:
    """The OpenAI door, with ``more`` routes beside it.

    ``pages``: the paths that need no key; ``operations``: what /openapi.json tells of the routes; ``state``:
    what those find in ``app.state``; ``closing`` is called when the program ends.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        closing()
        await anyio.to_thread.run_sync(host.close)

    routes: list[BaseRoute] = [
        Route("/healthz", _health),
        Route("/v1/models", answered(others.models)),
        Route("/v1/models/{name:path}", answered(others.model)),
        Route("/v1/completions", answered(completions.complete), methods=["POST"]),
        Route("/v1/chat/completions", answered(completions.chat), methods=["POST"]),
        Route("/v1/embeddings", answered(others.embeddings), methods=["POST"]),
        *openapi_routes(operations),
        *more,
    ]
    app = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={404: _nowhere, 405: _wrong, 500: _broken}
    )
    app.state.host, app.state.started = host, int(time())
    for name, value in (state or {}).items():
        setattr(app.state, name, value)
    return Guard(
        app, hosts=hosts, key=key, pages=lambda path: path in ("/docs", "/openapi.json") or pages(path)
    )


async def _health(request: Request) -> Response:
    """Whether it is there, and how busy."""
    host: Host = request.app.state.host
    return JSONResponse({"status": "ok", **host.busy})


def _error(message: str, status: int, kind: str = "invalid_request_error") -> Response:
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)


async def _nowhere(request: Request, error: Exception) -> Response:
    return _error(f"there is nothing at {request.url.path[:100]}; /openapi.json lists what there is", 404)


async def _wrong(request: Request, error: Exception) -> Response:
    return _error(f"{request.method} is not possible at {request.url.path[:100]}", 405)


async def _broken(request: Request, error: Exception) -> Response:
    return _error(f"the program has a fault: {type(error).__name__}", 500, "server_error")
