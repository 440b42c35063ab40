"""Which model answers: what can be loaded, and the button that loads it."""

from typing import Any

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from whygpu.lab.bodies import parsed
from whygpu.lab.state import Lab

__all__ = ["ModelRequest", "choose", "models"]


class ModelRequest(BaseModel):
    """``POST /api/models``: load a model that is on this disk."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1, max_length=400, description="As GET /api/models lists it.")


async def models(request: Request) -> Response:
    """What can be loaded, and how far a change is."""
    lab: Lab = request.app.state.lab

    def work() -> dict[str, Any]:
        listed = [
            {"id": entry.id, "bytes": entry.size, "origin": entry.origin}
            for entry in lab.host.shelf.entries()
        ]
        state = lab.host.state
        return {**state, "models": listed, "facts": lab.told() if state["state"] == "ready" else None}

    return JSONResponse(await anyio.to_thread.run_sync(work))


async def choose(request: Request) -> Response:
    """Load another, as soon as the answers in progress have ended."""
    asked = await parsed(request, ModelRequest)
    lab: Lab = request.app.state.lab
    entry = await anyio.to_thread.run_sync(lab.host.find, asked.id)
    lab.host.wish(entry)
    return JSONResponse(lab.host.state, 202)
