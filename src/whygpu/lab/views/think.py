"""Think: an answer token by token with the candidates of each, from any of which one may branch."""

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
from whygpu.lab.sequence import Odd, Sequence
from whygpu.lab.state import Lab
from whygpu.models import matmuls
from whygpu.think.generate import prompt_ids, rules_for
from whygpu.think.passes import bytes_read

__all__ = ["think_socket"]


class Ask(BaseModel):
    """A message of the page."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["ask", "branch", "stop", "inside"]
    text: str = Field("", max_length=20_000)
    chat: bool = True
    max_tokens: int = Field(64, ge=1, le=1024)
    temperature: float = Field(0.0, ge=0, le=5)
    seed: int = Field(0, ge=0, lt=1 << 63)
    candidates: int = Field(8, ge=0, le=20)
    at: int = Field(0, ge=0, description="branch: which token of the answer is another")
    token: int = Field(0, ge=0, description="branch: that other token")
    layer: int = Field(0, ge=0)
    position: int | None = Field(None, ge=0, description="inside: which token; none: the last")


class _Talk:
    """One page's conversation with the model."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket, self.lab = socket, socket.app.state.lab
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
            await self._begin(asked)

    async def stop(self) -> None:
        """End the answer in progress."""
        if self.answer is not None:
            self.answer.cancel()
        if self.speaking is not None and not self.speaking.done():
            self.speaking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.speaking
            await self.tell({"op": "end", "finish": "interrupted"})

    async def _begin(self, asked: Ask) -> None:
        lab: Lab = self.lab
        if asked.op == "ask":
            chat = asked.chat and lab.model.chat_template is not None
            self.prompt, self.said, self.how = prompt_ids(lab.model, asked.text, chat, None), [], asked
        elif self.how is None or asked.at > len(self.said):
            raise UserError("there is no such token to branch from; ask first")
        elif asked.token >= len(lab.model.tokenizer):
            raise UserError(f"token {asked.token} is outside the vocabulary of {len(lab.model.tokenizer)}")
        else:
            self.said = [*self.said[: asked.at], asked.token]
        how = self.how
        ids = [*self.prompt, *self.said]
        room = lab.thinker.context - len(ids)
        if room < 1:
            raise UserError(f"the text has {len(ids)} tokens; {lab.thinker.context} are the most")
        sampler = think.Sampler(how.temperature, seed=how.seed)
        rules = rules_for(lab.model, max_tokens=min(how.max_tokens, room), context=lab.thinker.context)
        sequence = Sequence(lab.model, ids, sampler, rules, how.candidates)
        self.answer = lab.thinker.ask(sequence)
        start = {"op": "start", "at": len(self.said), "prompt_tokens": len(self.prompt), "reading": len(ids)}
        await self.tell(start)
        self.speaking = asyncio.create_task(self._speak(sequence, self.answer))

    async def _speak(self, sequence: Sequence, answer: Answer) -> None:
        began, first, count = perf_counter(), 0.0, 0
        finish = "interrupted"
        try:
            async for step in answer:
                now = perf_counter()
                first = first or now
                count += 1
                if step.finish is not None:
                    finish = step.finish
                if step.token is not None and not step.ends:
                    self.said.append(step.token.id)
                    await self.tell(
                        {
                            "op": "token",
                            "at": len(self.said) - 1,
                            "text": step.text,
                            **_told(step.token),
                            "candidates": [_told(each) for each in step.candidates],
                            **self._speed(sequence, count, first, now),
                        }
                    )
            spent = {"first_seconds": first - began, "reused": sequence.reused, "tokens": count}
            await self.tell(
                {
                    "op": "end",
                    "finish": finish,
                    **spent,
                    **self._speed(sequence, count, first, perf_counter()),
                }
            )
        except UserError as error:
            await self.tell({"op": "error", "message": str(error)})
        finally:
            answer.cancel()

    def _speed(self, sequence: Sequence, count: int, first: float, now: float) -> dict[str, Any]:
        """What decoding does now: tokens a second, share of the measured bandwidth, this token's products."""
        lab: Lab = self.lab
        rate = (count - 1) / (now - first) if count > 1 and now > first else None
        read = bytes_read(lab.model, len(sequence.ids))
        roof = lab.shared.get("bandwidth")
        works = matmuls(lab.model.architecture, tokens=1, past=len(sequence.ids) - 1)
        return {
            "rate": rate,
            "bytes": read,
            "mbu": rate * read / roof if rate and roof else None,
            "products": sum(work.count * work.batch for work in works),
            "flop": sum(work.flop for work in works),
            "beside": lab.thinker.active,
        }

    async def _inside(self, asked: Ask) -> None:
        lab: Lab = self.lab
        future = lab.thinker.do(lambda: look(lab.model, asked.text, asked.layer, asked.position, lab.shared))
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
