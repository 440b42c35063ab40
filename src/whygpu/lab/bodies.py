"""Requests in, answers out: sizes bounded, JSON checked, errors in one form."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from whygpu.engine import UserError
from whygpu.lab.errors import Refused, TooLarge
from whygpu.lab.limits import BODY

__all__ = ["answered", "body", "parsed", "while_listening"]

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


class UnsupportedType(Refused):
    """Not JSON."""

    status = 415


async def body(request: Request, most: int) -> bytes:
    """The bytes of a request.

    Raises
    ------
    TooLarge
        As soon as more than ``most`` have come.
    """
    declared = request.headers.get("content-length", "0")
    parts, size = [], 0
    if declared.isdigit() and int(declared) > most:
        raise TooLarge(f"the request has {int(declared):,} bytes; {most:,} are the most")
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise TooLarge(f"the request has more than {most:,} bytes, the most that are taken")
        parts.append(part)
    return b"".join(parts)


async def parsed(request: Request, kind: type[M]) -> M:
    """The JSON of a request as ``kind``.

    Raises
    ------
    Refused
        For another content type, damaged JSON, or a field that is unknown or impossible (named).
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise UnsupportedType("only JSON is taken; send Content-Type: application/json")
    raw = await body(request, BODY)
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the request is no JSON: {error}"[:200]) from error
    if not isinstance(values, dict):
        raise Refused("the request must be a JSON object: {...}")
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Refused(f"{place}: {first['msg']}"[:300], place or None) from error


def answered(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """A route whose errors become JSON: ours with their status, bad input as 400."""

    async def route(request: Request) -> Response:
        try:
            return await handler(request)
        except UserError as error:
            return failed(error)

    route.__name__, route.__doc__ = handler.__name__, handler.__doc__
    return route


def failed(error: UserError) -> Response:
    """An error as OpenAI's clients read it."""
    headers = {"retry-after": "1"} if getattr(error, "status", 400) in (429, 503) else None
    return JSONResponse({"error": described(error)}, getattr(error, "status", 400), headers)


def described(error: UserError) -> dict[str, Any]:
    """Its message, type, field and code."""
    return {
        "message": str(error),
        "type": getattr(error, "kind", "invalid_request_error"),
        "param": getattr(error, "param", None),
        "code": getattr(error, "code", None),
    }


async def while_listening(request: Request, work: Awaitable[T]) -> T | None:
    """Wait for ``work``, but cancel it as soon as the client has gone; None then."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return await task if task.done() else None
    finally:
        for each in (task, gone):
            if not each.done():
                each.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await each


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def events(items: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    """Server-sent events, each a JSON object, with OpenAI's end mark. An error is the last event."""
    try:
        async for item in items:
            yield b"data: " + json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
    except UserError as error:
        yield b"data: " + json.dumps({"error": described(error)}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"
