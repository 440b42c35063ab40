"""Think: a conversation token by token with the candidates of each, from any of which one may branch."""

import asyncio
import contextlib
import json
import math
from time import perf_counter
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from whygpu import think
from whygpu.engine import UserError
from whygpu.lab.answer import Answer
from whygpu.lab.guard import PROTOCOL
from whygpu.lab.inside import look
from whygpu.lab.limits import TURNS
from whygpu.lab.sequence import Odd, Sequence
from whygpu.lab.state import Lab
from whygpu.lab.thinker import Thinker
from whygpu.models import matmuls
from whygpu.think.generate import prompt_ids, rules_for
from whygpu.think.passes import bytes_read

__all__ = ["think_socket"]


class Turn(BaseModel):
    """What was said before."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant"]
    content: str = Field(max_length=40_000)


class Ask(BaseModel):
    """A message of the page."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["ask", "branch", "stop", "inside"]
    text: str = Field("", max_length=20_000)
    turns: list[Turn] = Field([], max_length=TURNS, description="The conversation before this question.")
    model: str = Field("default", max_length=400)
    chat: bool = True
    max_tokens: int = Field(64, ge=1, le=1024)
    temperature: float = Field(0.0, ge=0, le=5)
    seed: int = Field(0, ge=0, lt=1 << 63)
    candidates: int = Field(8, ge=0, le=20)
    at: int = Field(0, ge=0, description="branch: which token of the answer is another")
    token: int = Field(0, ge=0, description="branch: that other token")
    layer: int = Field(0, ge=0)
    position: int | None = Field(None, ge=0, description="inside: which token; none: the last")


def prompt_of(thinker: Thinker, asked: Ask) -> tuple[list[int], int]:
    """The ids of a conversation, and how many of its oldest turns had to go because it would not fit.

    Where some must go, as many go that half of the context is free: the next questions then begin alike, and
    what they begin with is not computed again.
    """
    model, turns = thinker.model, list(asked.turns)
    chat = asked.chat and model.chat_template is not None
    limit = thinker.context - min(asked.max_tokens, thinker.context // 4)
    while True:
        told: list[think.Message] = [{"role": turn.role, "content": turn.content} for turn in turns]
        if chat:
            ids = prompt_ids(model, [*told, {"role": "user", "content": asked.text}], True, None)
        else:
            text = "".join(turn["content"] + "\n" * (turn["role"] == "assistant") for turn in told)
            ids = prompt_ids(model, text + asked.text, False, None)
        if len(ids) <= limit or not turns:
            return ids, len(asked.turns) - len(turns)
        limit, turns = min(limit, thinker.context // 2), turns[2:]


class _Talk:
    """One page's conversation with the model."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self.lab: Lab = socket.app.state.lab
        self.answer: Answer | None = None
        self.speaking: asyncio.Task[None] | None = None
        self.prompt: list[int] = []
        self.said: list[int] = []
        self.how: Ask | None = None

    async def hear(self, asked: Ask) -> None:
        """Do what the page says."""
        if asked.op == "stop":
            await self.stop()
        elif asked.op == "inside":
            await self._inside(asked)
        else:
            await self.stop()
            if not asked.text.strip() and asked.op == "ask":
                raise UserError("the prompt is empty; give the model something to answer")
            self.speaking = asyncio.create_task(self._answer(asked))

    async def stop(self) -> None:
        """End the answer in progress."""
        if self.answer is not None:
            self.answer.cancel()
        if self.speaking is not None and not self.speaking.done():
            self.speaking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.speaking
            await self.tell({"op": "end", "finish": "interrupted"})

    async def _answer(self, asked: Ask) -> None:
        """Wait for the model where another one is loaded, then answer."""
        try:
            how = asked if asked.op == "ask" else self.how
            thinker = await self.lab.host.get(how.model if how is not None else "default")
            sequence, dropped = self._sequence(thinker, asked)
            self.answer = thinker.ask(sequence)
            await self.tell(
                {
                    "op": "start",
                    "at": len(self.said),
                    "prompt_tokens": len(self.prompt),
                    "reading": sequence.prompt,
                    "dropped": dropped,
                    "model": thinker.model.architecture.name,
                }
            )
            await self._speak(thinker, sequence, self.answer)
        except UserError as error:
            await self.tell({"op": "error", "message": str(error)})

    def _sequence(self, thinker: Thinker, asked: Ask) -> tuple[Sequence, int]:
        model, dropped = thinker.model, 0
        if asked.op == "ask":
            self.prompt, dropped = prompt_of(thinker, asked)
            self.said, self.how = [], asked
        elif self.how is None or asked.at > len(self.said):
            raise UserError("there is no such token to branch from; ask first")
        elif asked.token >= len(model.tokenizer):
            raise UserError(f"token {asked.token} is outside the vocabulary of {len(model.tokenizer)}")
        else:
            self.said = [*self.said[: asked.at], asked.token]
        how, ids = self.how, [*self.prompt, *self.said]
        assert how is not None
        room = thinker.context - len(ids)
        if room < 1:
            raise UserError(f"the text has {len(ids)} tokens; {thinker.context} are the most")
        sampler = think.Sampler(how.temperature, seed=how.seed)
        rules = rules_for(model, max_tokens=min(how.max_tokens, room), context=thinker.context)
        return Sequence(model, ids, sampler, rules, how.candidates), dropped

    async def _speak(self, thinker: Thinker, sequence: Sequence, answer: Answer) -> None:
        began, first, count = perf_counter(), 0.0, 0
        finish = "interrupted"
        try:
            async for step in answer:
                now = perf_counter()
                first = first or now
                count += 1
                finish = step.finish or finish
                if step.token is None or step.ends:
                    continue
                self.said.append(step.token.id)
                await self.tell(
                    {
                        "op": "token",
                        "at": len(self.said) - 1,
                        "text": step.text,
                        "reused": sequence.reused,
                        "first_seconds": first - began,
                        **_told(step.token),
                        "candidates": [_told(each) for each in step.candidates],
                        **self._speed(thinker, sequence, count, first, now),
                    }
                )
            spent = {"first_seconds": first - began, "reused": sequence.reused, "tokens": count}
            speed = self._speed(thinker, sequence, count, first, perf_counter())
            await self.tell({"op": "end", "finish": finish, **spent, **speed})
        finally:
            answer.cancel()

    def _speed(
        self, thinker: Thinker, sequence: Sequence, count: int, first: float, now: float
    ) -> dict[str, Any]:
        """What decoding does now: tokens a second, share of the measured bandwidth, this token's products."""
        model = thinker.model
        rate = (count - 1) / (now - first) if count > 1 and now > first else None
        read = bytes_read(model, len(sequence.ids))
        roof = self.lab.shared.get("bandwidth")
        works = matmuls(model.architecture, tokens=1, past=len(sequence.ids) - 1)
        return {
            "rate": rate,
            "bytes": read,
            "mbu": rate * read / roof if rate and roof else None,
            "products": sum(work.count * work.batch for work in works),
            "flop": sum(work.flop for work in works),
            "beside": thinker.active,
        }

    async def _inside(self, asked: Ask) -> None:
        thinker, shared = await self.lab.host.get(asked.model), self.lab.shared
        future = thinker.do(lambda: look(thinker.model, asked.text, asked.layer, asked.position, shared))
        found: dict[str, Any] = await asyncio.wrap_future(future)
        await self.tell({"op": "inside", **found})

    async def tell(self, message: dict[str, Any]) -> None:
        """Send, if anybody listens."""
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):
            await self.socket.send_text(json.dumps(message, allow_nan=False))


def _told(token: Odd) -> dict[str, Any]:
    return {"id": token.id, "token": token.raw.decode("utf-8", "replace"), "p": math.exp(token.logprob)}


async def think_socket(socket: WebSocket) -> None:
    """Talk with one page until it leaves."""
    await socket.accept(subprotocol=PROTOCOL)
    talk = _Talk(socket)
    try:
        while True:
            try:
                await talk.hear(Ask.model_validate_json(await socket.receive_text()))
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                await talk.tell(
                    {"op": "error", "message": f"{'.'.join(map(str, first['loc']))}: {first['msg']}"}
                )
            except UserError as error:
                await talk.tell({"op": "error", "message": str(error)})
    except (WebSocketDisconnect, KeyError):
        pass
    finally:
        if talk.answer is not None:
            talk.answer.cancel()
        if talk.speaking is not None:
            talk.speaking.cancel()
