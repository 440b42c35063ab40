"""What is asked for once: facts, predictions, the roofline, the ledger, runs, claims, history, exhibits."""

import asyncio
import json
from typing import Any, Literal

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from whygpu import measure, predict
from whygpu.engine import UserError
from whygpu.lab.bodies import parsed
from whygpu.lab.errors import Unknown
from whygpu.lab.guard import PROTOCOL
from whygpu.lab.runs import WHAT
from whygpu.lab.state import Lab
from whygpu.models.lookup import outline_names
from whygpu.story import exhibits
from whygpu.story.text import LANGUAGES, Texts, texts

__all__ = [
    "ForgetRequest",
    "PredictRequest",
    "RaceRequest",
    "RoofRequest",
    "RunRequest",
    "cancel",
    "claims",
    "exhibit",
    "facts",
    "forget",
    "live",
    "predicted",
    "roofline",
    "runs",
    "start",
    "timeline",
]

PERIOD = 0.5
"""Seconds between two messages of the ledger."""
QUANTS = ("F16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0", "Q3_K_M", "Q2_K")
HERE = "this machine"


class PredictRequest(BaseModel):
    """``POST /api/predict``: up to six machines side by side."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field("llama-3.1-8b", max_length=100)
    machines: list[str] = Field(["GeForce RTX 4090"], min_length=1, max_length=6)
    quant: str = Field("Q4_K_M", max_length=20)
    prompt_tokens: int = Field(512, ge=1, le=10**6)
    reply: int = Field(256, ge=1, le=10**6)
    context: int | None = Field(None, ge=1, le=10**8)
    batch: int = Field(1, ge=1, le=4096)
    count: int = Field(1, ge=1, le=64)
    kv: Literal["f16", "q8", "q4"] = "f16"


class RoofRequest(BaseModel):
    """``POST /api/roofline``: measured now, or kept from before."""

    model_config = ConfigDict(extra="forbid")

    force: bool = False
    quick: bool = True


class RunRequest(BaseModel):
    """``POST /api/runs``: an experiment, or the roofline."""

    model_config = ConfigDict(extra="forbid")

    what: Literal["experiment_1", "experiment_2", "experiment_3", "roofline"]
    quick: bool = True


class ForgetRequest(BaseModel):
    """``POST /api/runs/forget``: a run of the history."""

    model_config = ConfigDict(extra="forbid")

    id: int


class RaceRequest(BaseModel):
    """``POST /api/exhibits/NAME``: find its numbers out again."""

    model_config = ConfigDict(extra="forbid")

    lang: Literal["en", "zh"] = "en"
    again: bool = False


def _lab(request: Request) -> Lab:
    lab: Lab = request.app.state.lab
    return lab


def _language(request: Request) -> Texts:
    asked = request.query_params.get("lang", "en")
    if asked not in LANGUAGES:
        raise Unknown(f"language {asked[:20]!r} is unknown; known: {', '.join(LANGUAGES)}")
    return texts(asked)


async def facts(request: Request) -> Response:
    """What the pages must know first."""
    lab = _lab(request)
    await lab.host.get()  # while another model is being loaded, wait

    def work() -> dict[str, Any]:
        host = measure.this_host()
        _roofs(lab, measure.kept_roofline())  # so that shares of the bandwidth can be told
        return {
            "machine": {"cpu": host.cpu, "threads": lab.backend.threads, "memory": host.usable_memory},
            "model": lab.told(),
            "scenes": lab.scenes.listed(),
            "models": list(outline_names()),
            "machines": [HERE, *predict.hardware_names()],
            "quants": list(QUANTS),
            "exhibits": list(exhibits.NAMES),
            "runs": list(WHAT),
        }

    return JSONResponse(await anyio.to_thread.run_sync(work))


async def predicted(request: Request) -> Response:
    """What any machine would do."""
    asked = await parsed(request, PredictRequest)
    lab = _lab(request)
    return JSONResponse(await anyio.to_thread.run_sync(_predict, asked, lab))


def _predict(asked: PredictRequest, lab: Lab) -> dict[str, Any]:
    rows = []
    for name in asked.machines:
        try:
            machine: Any = _here(lab) if name == HERE else name
            found = predict.inference(
                asked.model,
                machine,
                quant=asked.quant,
                context=asked.context,
                prompt_tokens=asked.prompt_tokens,
                reply=asked.reply,
                batch=asked.batch,
                count=asked.count,
                kv=asked.kv,
            )
            rows.append({"asked": name, **_finite(found.as_dict())})
        except UserError as error:
            rows.append({"asked": name, "error": str(error)})
    return {"request": asked.model_dump(), "machines": rows}


def _finite(value: Any) -> Any:
    """JSON has no infinity: None stands for it."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


def _here(lab: Lab) -> Any:
    kept = lab.shared.get("roofline") or measure.kept_roofline()
    if kept is None:
        raise UserError("this machine's roofline is not measured yet; measure it in Verify")
    return kept.as_machine()


async def roofline(request: Request) -> Response:
    """This machine's roofs; ``measured: false`` where nobody has measured them and ``force`` is not set."""
    asked = await parsed(request, RoofRequest)
    lab = _lab(request)

    def work() -> Any:
        if not asked.force:
            return measure.kept_roofline()
        with lab.turns:
            return measure.roofline(force=True, quick=asked.quick)

    return JSONResponse(_roofs(lab, await anyio.to_thread.run_sync(work)))


def _roofs(lab: Lab, found: Any) -> dict[str, Any]:
    if found is None:
        return {"measured": False}
    lab.shared |= {"roofline": found, "bandwidth": found.read_bandwidth}
    machine = found.as_machine()
    return {
        "measured": True,
        "taken_at": found.taken_at,
        "name": machine.name,
        "bandwidth": machine.bandwidth.as_dict(),
        "flops": {key: figure.as_dict() for key, figure in machine.flops.items()},
    }


async def start(request: Request) -> Response:
    """Begin a run."""
    asked = await parsed(request, RunRequest)
    _lab(request).runs.start(asked.what, asked.quick)
    return JSONResponse(_lab(request).runs.state, 202)


async def cancel(request: Request) -> Response:
    """End the run in progress."""
    _lab(request).runs.cancel()
    return JSONResponse(_lab(request).runs.state)


async def runs(request: Request) -> Response:
    """The run in progress and the history."""
    lab = _lab(request)
    return JSONResponse({"now": lab.runs.state, "runs": await anyio.to_thread.run_sync(lab.history.listed)})


async def forget(request: Request) -> Response:
    """Remove a run of the history."""
    asked = await parsed(request, ForgetRequest)
    _lab(request).history.remove(asked.id)
    return JSONResponse({"removed": asked.id})


async def claims(request: Request) -> Response:
    """The article's figures and their verdicts; nothing is measured for it."""
    t, lab = _language(request), _lab(request)

    def work() -> list[dict[str, Any]]:
        from whygpu.story.claims import Here, judge
        from whygpu.story.claims import claims as known
        from whygpu.story.claims.words import computed_words, given_words, what, why

        if "claims" not in lab.shared:
            here = Here("never")
            lab.shared["claims"] = [judge(claim, here) for claim in known().values()]
        return [
            {
                "id": each.claim.id,
                "chapter": each.claim.chapter,
                "chapter_title": t(f"claims.chapter.{each.claim.chapter}"),
                "what": what(t, each),
                "given": given_words(t, each),
                "computed": computed_words(t, each),
                "why": why(t, each),
                "verdict": str(each.verdict),
                "verdict_title": t(f"claims.verdict.{each.verdict}"),
            }
            for each in lab.shared["claims"]
        ]

    return JSONResponse({"claims": await anyio.to_thread.run_sync(work)})


async def timeline(request: Request) -> Response:
    """The history from CUDA on, with sources."""
    t = _language(request)
    from whygpu.story.exhibits.timeline import history as known

    events = [
        {
            **event,
            "title": t(f"exhibit.timeline.event.{event['key']}"),
            "detail": t(f"exhibit.timeline.detail.{event['key']}"),
        }
        for event in sorted(known()["events"], key=lambda event: event["year"])
    ]
    return JSONResponse({"events": events})


async def exhibit(request: Request) -> Response:
    """An exhibit as a piece of HTML; its numbers are found out once, or again where that is asked for."""
    asked = await parsed(request, RaceRequest)
    lab = _lab(request)
    name = request.path_params["name"]

    def work() -> str:
        from whygpu.story.exhibits.page import fragment

        chosen = exhibits.load(name)
        kept: dict[str, Any] = lab.shared.setdefault("exhibits", {})
        if asked.again or name not in kept:
            job = lab.shared.setdefault("job", exhibits.Job())
            job.__dict__.setdefault("model", lab.model)
            with lab.turns:
                kept[name] = chosen.numbers(job)
        return fragment(chosen, kept[name], asked.lang)

    return HTMLResponse(await anyio.to_thread.run_sync(work))


async def live(socket: WebSocket) -> None:
    """The ledger and the run in progress, twice a second, where something changed. ``forget`` empties it."""
    await socket.accept(subprotocol=PROTOCOL)
    lab: Lab = socket.app.state.lab

    async def listen() -> None:
        while True:
            if await socket.receive_text() == "forget":
                lab.live.forget()

    listening, last = asyncio.create_task(listen()), ""
    try:
        while not listening.done():
            shot = lab.live.snapshot()
            said = json.dumps({"ledger": shot["rows"], "run": lab.runs.state, **lab.host.busy})
            if said != last:
                await socket.send_text(said)
                last = said
            await asyncio.wait({listening}, timeout=PERIOD)
    except (WebSocketDisconnect, RuntimeError):
        pass
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
