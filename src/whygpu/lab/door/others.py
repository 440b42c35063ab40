"""``/v1/models`` and ``/v1/embeddings``."""

import asyncio
import base64
import contextlib
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from whygpu import think
from whygpu.lab.bodies import parsed, while_listening
from whygpu.lab.door.schema import EmbeddingRequest
from whygpu.lab.errors import Busy, Refused
from whygpu.lab.host import Host
from whygpu.lab.limits import EMBEDDINGS
from whygpu.lab.shelf import Entry
from whygpu.lab.thinker import Thinker

__all__ = ["embeddings", "model", "models"]


def _told(host: Host, entry: Entry, started: int) -> dict[str, Any]:
    loaded = entry.id == host.entry.id
    told = {
        "id": entry.id,
        "object": "model",
        "created": started,
        "owned_by": "whygpu",
        "loaded": loaded,
    }
    if loaded:
        with contextlib.suppress(Busy):  # just being changed
            thinker = host.thinker
            told |= {"context_window": thinker.context, "invented": thinker.model.invented}
    return told


async def models(request: Request) -> Response:
    """The models that can answer: the one that is loaded first; a request that names another loads it."""
    host: Host = request.app.state.host
    entries = await anyio.to_thread.run_sync(host.shelf.entries)
    ordered = sorted(entries, key=lambda entry: entry.id != host.entry.id)
    data = [_told(host, entry, request.app.state.started) for entry in ordered]
    return JSONResponse({"object": "list", "data": data})


async def model(request: Request) -> Response:
    """One model by its name."""
    host: Host = request.app.state.host
    entry = await anyio.to_thread.run_sync(host.find, request.path_params["name"])
    return JSONResponse(_told(host, entry, request.app.state.started))


async def embeddings(request: Request) -> Response:
    """Texts as vectors of length 1."""
    asked = await parsed(request, EmbeddingRequest)
    thinker: Thinker = await request.app.state.host.get(asked.model)
    texts = _texts(thinker, asked)
    width = thinker.model.architecture.d_model
    if asked.dimensions not in (None, width):
        raise Refused(f"dimensions: {asked.dimensions} is not possible; this model has {width}", "dimensions")
    found = await while_listening(request, _embedded(thinker, texts))
    if found is None:
        return Response(status_code=499)
    data = [
        {
            "object": "embedding",
            "index": i,
            "embedding": vector.tolist()
            if asked.encoding_format == "float"
            else base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii"),
        }
        for i, vector in enumerate(found)
    ]
    count = sum(len(thinker.model.tokenizer.encode(text)) for text in texts)
    return JSONResponse(
        {
            "object": "list",
            "data": data,
            "model": thinker.model.architecture.name,
            "usage": {"prompt_tokens": count, "total_tokens": count},
        }
    )


async def _embedded(thinker: Thinker, texts: list[str]) -> list[Any]:
    """One text a turn, so that answers go on between them; the rest is dropped with the client."""
    found = []
    for text in texts:
        future = thinker.do(lambda text=text: think.embed(thinker.model, text))  # type: ignore[misc]
        found.append(await asyncio.wrap_future(future))
    return found


def _texts(thinker: Thinker, asked: EmbeddingRequest) -> list[str]:
    given: Any = asked.input
    if isinstance(given, str) or (given and isinstance(given[0], int)):
        given = [given]
    if not given or len(given) > EMBEDDINGS:
        raise Refused(f"input: {len(given)} texts; send 1 to {EMBEDDINGS}", "input")
    decode, size = thinker.model.tokenizer.decode, len(thinker.model.tokenizer)
    for ids in given:
        if not isinstance(ids, str) and any(not 0 <= token < size for token in ids):
            raise Refused(f"input: token ids lie between 0 and {size - 1}", "input")
    return [text if isinstance(text, str) else decode(text) for text in given]
