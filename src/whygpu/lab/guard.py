"""Who may come in: only pages that this program served, and programs that hold the key.

Three checks stand before every route, HTTP and WebSocket alike.

1. ``Host`` names this machine as it was bound. A hostile name that was made to point to 127.0.0.1 (DNS
   rebinding) says its own name there.
2. ``Origin``, where a browser sends one, is this page's own; so is ``Sec-Fetch-Site``. There is no CORS.
3. The key of this run: ``Authorization: Bearer KEY``, or on a WebSocket the second of the subprotocols.
   It is kept in no cookie, so that no browser ever adds it by itself.

The pages themselves hold no secrets and need no key; they cannot be framed elsewhere.
"""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["Guard", "new_key"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = ("/healthz",)
"""Paths that need no key."""
PROTOCOL = "whygpu"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


def new_key() -> str:
    """A key that nobody guesses: 256 bits."""
    return "wg-" + secrets.token_urlsafe(32)


class Guard:
    """An ASGI application around another.

    ``hosts``: what ``Host`` may say, with the port. ``pages``: paths that are served without the key.
    """

    def __init__(self, app: App, *, hosts: frozenset[str], key: str, pages: Callable[[str], bool]) -> None:
        self.app, self.hosts, self.key, self.pages = app, hosts, key, pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it through, or say why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        refused = self._why_not(scope)
        if scope["type"] == "websocket":
            if refused is None:
                await self.app(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": refused[1][:120]})
            return
        if refused is not None:
            await _refuse(*refused, _with_headers(send))
            return
        await self.app(scope, receive, _with_headers(send))

    def _why_not(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "").lower()
        if host not in self.hosts:
            return 421, f"host {host[:60]!r} is not this program; use the address that it printed"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            return 403, f"origin {origin[:60]!r} is not this page; other pages may not use it"
        site = headers.get("sec-fetch-site", "none")
        path = scope["path"]
        public = path in OPEN or (
            scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and self.pages(path)
        )
        if site not in ("none", "same-origin") and not (
            public and headers.get("sec-fetch-mode") == "navigate"
        ):
            return 403, "another page asked for this; other pages may not use it"
        if public or self._knows_the_key(scope, headers):
            return None
        return (
            401,
            "the key is missing or wrong; it is printed when the program starts (Authorization: Bearer KEY)",
        )

    def _knows_the_key(self, scope: Scope, headers: dict[str, str]) -> bool:
        if scope["type"] == "websocket":
            offered = scope.get("subprotocols", [])
            given = offered[1] if len(offered) == 2 and offered[0] == PROTOCOL else ""
        else:
            kind, _, given = headers.get("authorization", "").partition(" ")
            given = given if kind.lower() == "bearer" else ""
        return secrets.compare_digest(given.strip().encode(), self.key.encode())


def _with_headers(send: Send) -> Send:
    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", [])}
            more = [
                (name.encode(), value.encode())
                for name, value in HEADERS.items()
                if name.encode() not in present
            ]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return sent


async def _refuse(status: int, why: str, send: Send) -> None:
    import json

    code = {401: "invalid_api_key"}.get(status)
    error = {"message": why, "type": "invalid_request_error", "param": None, "code": code}
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
