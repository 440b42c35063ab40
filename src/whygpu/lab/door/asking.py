"""From a request to an answer of the thinker, and from its steps to what both kinds of completion tell."""

import secrets
from collections.abc import Sequence as Many
from time import time
from typing import Any

from whygpu import think
from whygpu.lab.answer import Answer
from whygpu.lab.door.schema import ChatRequest, Choosing, CompletionRequest
from whygpu.lab.errors import Refused
from whygpu.lab.sequence import Odd, Sequence
from whygpu.lab.thinker import Thinker
from whygpu.think.generate import prompt_ids, rules_for

__all__ = ["chat_sequence", "completion_sequence", "head", "odd", "start", "usage"]


def chat_sequence(thinker: Thinker, request: ChatRequest) -> Sequence:
    """A conversation as what the thinker takes."""
    turns: list[think.Message] = [
        {"role": "system" if turn.role == "developer" else turn.role, "content": turn.words}
        for turn in request.messages
    ]
    if request.top_logprobs is not None and not request.logprobs:
        raise Refused("top_logprobs: needs logprobs: true", "top_logprobs")
    chat = None if thinker.model.chat_template is not None else False
    prompt = turns if chat is None else "\n".join(turn["content"] for turn in turns)
    ids = prompt_ids(thinker.model, prompt, chat, None)
    odds = (request.top_logprobs or 0) if request.logprobs else None
    return _sequence(thinker, ids, request, request.max_completion_tokens or request.max_tokens, odds)


def completion_sequence(thinker: Thinker, request: CompletionRequest) -> Sequence:
    """A text as what the thinker takes."""
    prompt: Any = request.prompt if request.prompt is not None else ""
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], str):
        if len(prompt) != 1:
            raise Refused(f"prompt: {len(prompt)} texts; send one a request", "prompt")
        prompt = prompt[0]
    ids = prompt_ids(thinker.model, prompt, False, None) if isinstance(prompt, str) else list(prompt)
    return _sequence(thinker, ids, request, request.max_tokens or 16, request.logprobs)


def _sequence(
    thinker: Thinker, ids: Many[int], request: Choosing, most: int | None, odds: int | None
) -> Sequence:
    room = thinker.context - len(ids)
    if room < 1:
        raise Refused(
            f"the prompt has {len(ids)} tokens; a context of {thinker.context} "
            f"has room for {thinker.context - 1}",
            code="context_length_exceeded",
        )
    seed = secrets.randbits(63) if request.seed is None else request.seed % (1 << 63)

    def given(value: float | None, otherwise: float) -> float:
        return otherwise if value is None else value

    sampler = think.Sampler(
        given(request.temperature, 1.0), int(given(request.top_k, 0)), given(request.top_p, 1.0),
        given(request.min_p, 0.0), given(request.repeat_penalty, 1.0), seed,
    )  # fmt: skip
    rules = rules_for(
        thinker.model, max_tokens=min(most or room, room), stop=request.stops, context=thinker.context
    )
    return Sequence(thinker.model, ids, sampler, rules, odds)


def start(thinker: Thinker, sequence: Sequence) -> Answer:
    """Ask; call it from the event loop."""
    return thinker.ask(sequence)


def head(thinker: Thinker, kind: str, prefix: str) -> dict[str, Any]:
    """What every object of an answer begins with."""
    return {
        "id": f"{prefix}-{secrets.token_hex(12)}",
        "object": kind,
        "created": int(time()),
        "model": thinker.model.architecture.name,
        "system_fingerprint": "whygpu",
    }


def usage(sequence: Sequence) -> dict[str, Any]:
    """How many tokens it took."""
    return {
        "prompt_tokens": sequence.prompt,
        "completion_tokens": sequence.generated,
        "total_tokens": sequence.prompt + sequence.generated,
        "prompt_tokens_details": {"cached_tokens": sequence.reused},
    }


def odd(item: Odd) -> dict[str, Any]:
    """A token with its logarithmic probability, as chats tell it."""
    return {"token": item.raw.decode("utf-8", "replace"), "logprob": item.logprob, "bytes": list(item.raw)}
