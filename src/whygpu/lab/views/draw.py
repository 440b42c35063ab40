"""Draw: frames of the engine over a WebSocket, and single ones for programs.

The page sends what it wants to see; only the latest wish is drawn. Two frames may be on their way: the page
acknowledges each, so that a slow one is never sent more than it can show.
"""

import asyncio
import contextlib
import json
import struct
from typing import Annotated, Any

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from whygpu import engine
from whygpu.engine import UserError
from whygpu.lab.bodies import body, parsed
from whygpu.lab.frames import FrameRequest, Vertex, frame, picked
from whygpu.lab.guard import PROTOCOL
from whygpu.lab.limits import UPLOAD
from whygpu.lab.state import Lab

__all__ = ["Wish", "draw_socket", "draw_still", "listed", "upload"]

WINDOW = 2
"""Frames on their way."""
TYPES = {"jpeg": "image/jpeg", "webp": "image/webp", "png": "image/png"}


PixelPlace = Annotated[int, Field(ge=-64, le=4096)]


class Wish(BaseModel):
    """A message of the page."""

    model_config = ConfigDict(extra="forbid")

    ack: int | None = None
    show: FrameRequest | None = None
    pick: tuple[PixelPlace, PixelPlace] | None = Field(None, description="A pixel: follow the vertex there.")
    seq: int = 0


class _Easel:
    """One page's wishes and what is on its way to it."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.wish: FrameRequest | None = None
        self.seq = self.drawn = self.acked = self.sent = 0
        self.pick: tuple[int, int] | None = None
        self.vertex: Vertex | None = None
        self.of = ""
        self.last: Any = None
        self.shown: FrameRequest | None = None
        self.news = asyncio.Event()

    def hear(self, text: str) -> None:
        """A message of the page."""
        said = Wish.model_validate_json(text)
        if said.ack is not None:
            self.acked = max(self.acked, said.ack)
        if said.show is not None:
            self.wish, self.seq = said.show, said.seq
        if said.pick is not None:
            self.pick = said.pick
            self.seq = max(self.seq, self.drawn + 1)
        self.news.set()

    @property
    def due(self) -> bool:
        """Whether there is something new, and room on the way."""
        return self.wish is not None and self.seq != self.drawn and self.sent - self.acked < WINDOW

    def draw(self) -> bytes:
        """The latest wish as a message: length of the head, the head as JSON, the picture."""
        wish, seq = self.wish, self.seq
        assert wish is not None
        scene = self.lab.scenes.scene(wish.scene)
        if wish.scene != self.of:
            self.of, self.vertex, self.last = wish.scene, None, None
        with self.lab.turns, engine.using(self.lab.backend), engine.ledger() as ledger:
            if self.pick is not None and self.last is not None and self.shown is not None:
                self.vertex = picked(scene, self.shown, self.last.ids, *self.pick)
                self.pick = None
            told, picture, self.last = frame(scene, wish, self.lab.backend, self.vertex, self.last)
            self.shown = wish
        self.lab.live.hear(ledger)
        total = ledger.totals("draw")
        self.drawn, self.sent = seq, self.sent + 1
        head = json.dumps(
            {
                **told,
                "seq": seq,
                "frame": self.sent,
                "type": TYPES[wish.format],
                "flop": total.flop,
                "products": total.products,
            }
        ).encode()
        return struct.pack("!I", len(head)) + head + picture


async def draw_socket(socket: WebSocket) -> None:
    """Draw for one page until it leaves."""
    await socket.accept(subprotocol=PROTOCOL)
    easel = _Easel(socket.app.state.lab)
    sending = asyncio.create_task(_send(socket, easel))
    try:
        while True:
            easel.hear(await socket.receive_text())
    except ValidationError as error:
        await _close(socket, str(error.errors(include_url=False)[0]["msg"]))
    except (WebSocketDisconnect, KeyError, RuntimeError):
        pass
    finally:
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await sending


async def _send(socket: WebSocket, easel: _Easel) -> None:
    while True:
        await easel.news.wait()
        easel.news.clear()
        while easel.due:
            seq = easel.seq
            try:
                message = await anyio.to_thread.run_sync(easel.draw)
            except UserError as error:
                easel.drawn = seq
                await socket.send_text(json.dumps({"error": str(error), "seq": seq}))
            else:
                await socket.send_bytes(message)


async def _close(socket: WebSocket, why: str) -> None:
    with contextlib.suppress(RuntimeError):
        await socket.close(1007, why[:120])


async def draw_still(request: Request) -> Response:
    """One frame as a picture; what is told of it stands in the header ``whygpu-frame``."""
    asked = await parsed(request, FrameRequest)
    lab: Lab = request.app.state.lab

    def work() -> tuple[dict[str, Any], bytes]:
        scene = lab.scenes.scene(asked.scene)
        with lab.turns, engine.using(lab.backend), engine.ledger() as ledger:
            told, picture, _ = frame(scene, asked, lab.backend)
        lab.live.hear(ledger)
        return told, picture

    told, picture = await anyio.to_thread.run_sync(work)
    told = {key: told[key] for key in ("triangles", "vertices", "pixels_lit", "path", "ms")}
    return Response(picture, media_type=TYPES[asked.format], headers={"whygpu-frame": json.dumps(told)})


async def listed(request: Request) -> Response:
    """Which scenes there are."""
    found = await anyio.to_thread.run_sync(request.app.state.lab.scenes.listed)
    return JSONResponse(found)


async def upload(request: Request) -> Response:
    """Bring a scene: the file as the body, its name in ``?name=``."""
    name = request.query_params.get("name", "")
    data = await body(request, UPLOAD)
    place = await anyio.to_thread.run_sync(request.app.state.lab.scenes.upload, name, data)
    return JSONResponse({"id": place, "name": name[:80]})
