"""``/v1/completions`` and ``/v1/chat/completions``, whole or as a stream."""

from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from whygpu.lab.answer import Answer
from whygpu.lab.bodies import events, parsed, while_listening
from whygpu.lab.door.asking import chat_sequence, completion_sequence, head, odd, start, usage
from whygpu.lab.door.schema import ChatRequest, CompletionRequest
from whygpu.lab.sequence import Sequence, Step
from whygpu.lab.thinker import Thinker

__all__ = ["chat", "complete"]

STREAM = {"cache-control": "no-store", "x-accel-buffering": "no"}


async def chat(request: Request) -> Response:
    """Answer a conversation."""
    asked = await parsed(request, ChatRequest)
    thinker: Thinker = await request.app.state.host.get(asked.model)
    return await _respond(request, thinker, chat_sequence(thinker, asked), asked, _Chat())


async def complete(request: Request) -> Response:
    """Continue a text."""
    asked = await parsed(request, CompletionRequest)
    thinker: Thinker = await request.app.state.host.get(asked.model)
    return await _respond(request, thinker, completion_sequence(thinker, asked), asked, _Text())


class _Chat:
    """How a chat tells its steps."""

    prefix, whole, part = "chatcmpl", "chat.completion", "chat.completion.chunk"

    def opening(self) -> dict[str, Any] | None:
        return {
            "index": 0,
            "delta": {"role": "assistant", "content": ""},
            "logprobs": None,
            "finish_reason": None,
        }

    def chunk(self, step: Step) -> dict[str, Any]:
        delta = {"content": step.text} if step.text else {}
        return {"index": 0, "delta": delta, "logprobs": self.odds([step], 0), "finish_reason": step.finish}

    def choice(self, text: str, steps: list[Step]) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "refusal": None}
        return {
            "index": 0,
            "message": message,
            "logprobs": self.odds(steps, 0),
            "finish_reason": steps[-1].finish,
        }

    def odds(self, steps: list[Step], _: int) -> dict[str, Any] | None:
        told = [
            {**odd(step.token), "top_logprobs": [odd(each) for each in step.candidates]}
            for step in steps
            if step.token is not None and not step.ends
        ]
        return {"content": told, "refusal": None} if told else None


class _Text:
    """How a completion tells its steps."""

    prefix, whole, part = "cmpl", "text_completion", "text_completion"

    def opening(self) -> dict[str, Any] | None:
        return None

    def chunk(self, step: Step) -> dict[str, Any]:
        return {"index": 0, "text": step.text, "logprobs": self.odds([step], 0), "finish_reason": step.finish}

    def choice(self, text: str, steps: list[Step]) -> dict[str, Any]:
        return {"index": 0, "text": text, "logprobs": self.odds(steps, 0), "finish_reason": steps[-1].finish}

    def odds(self, steps: list[Step], start: int) -> dict[str, Any] | None:
        told = [step for step in steps if step.token is not None and not step.ends]
        if not told:
            return None
        tokens, offsets = [], []
        for step in told:
            assert step.token is not None
            tokens.append(step.token)
            offsets.append(start)
            start += len(step.token.raw.decode("utf-8", "replace"))
        return {
            "tokens": [token.raw.decode("utf-8", "replace") for token in tokens],
            "token_logprobs": [token.logprob for token in tokens],
            "top_logprobs": [
                {each.raw.decode("utf-8", "replace"): each.logprob for each in step.candidates}
                for step in told
            ],
            "text_offset": offsets,
        }


async def _respond(
    request: Request,
    thinker: Thinker,
    sequence: Sequence,
    asked: ChatRequest | CompletionRequest,
    form: _Chat | _Text,
) -> Response:
    answer = start(thinker, sequence)
    if asked.stream:
        counted = asked.stream_options is not None and asked.stream_options.include_usage
        items = _chunks(thinker, sequence, answer, form, counted)
        return StreamingResponse(events(items), media_type="text/event-stream", headers=STREAM)
    steps = await while_listening(request, _all(answer))
    if steps is None:
        return Response(status_code=499)  # nobody reads it
    text = "".join(step.text for step in steps)
    return JSONResponse(
        {
            **head(thinker, form.whole, form.prefix),
            "choices": [form.choice(text, steps)],
            "usage": usage(sequence),
        }
    )


async def _all(answer: Answer) -> list[Step]:
    try:
        return [step async for step in answer]
    finally:
        answer.cancel()


async def _chunks(
    thinker: Thinker, sequence: Sequence, answer: Answer, form: _Chat | _Text, counted: bool
) -> AsyncIterator[dict[str, Any]]:
    """The stream's objects; left early, the answer stops."""
    same = head(thinker, form.part, form.prefix)
    unused = {"usage": None} if counted else {}
    try:
        opening = form.opening()
        if opening is not None:
            yield {**same, "choices": [opening], **unused}
        async for step in answer:
            if step.text or step.finish or step.token is not None:
                yield {**same, "choices": [form.chunk(step)], **unused}
        if counted:
            yield {**same, "choices": [], "usage": usage(sequence)}
    finally:
        answer.cancel()
