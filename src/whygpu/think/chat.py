"""A conversation as the text that the model was trained on: its own chat template, filled in."""

from collections.abc import Sequence
from typing import TypedDict

from whygpu.engine import UserError
from whygpu.think.model import Model

__all__ = ["Message", "conversation", "prompt_text"]


class Message(TypedDict):
    """One turn: ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


def conversation(prompt: str | Sequence[Message], system: str | None) -> list[Message]:
    """A prompt, or the turns so far, as messages; ``system`` comes before them."""
    turns: list[Message] = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    return [{"role": "system", "content": system}, *turns] if system is not None else turns


def prompt_text(model: Model, messages: Sequence[Message]) -> str:
    """The conversation as text, ending where the model is to answer.

    Raises
    ------
    UserError
        Where the model's template is wrong, refuses the conversation or does not end.
    """
    if model.chat_template is None:
        raise UserError(f"{model.source}: has no chat template; it continues raw text (chat=False, --raw)")
    from whygpu.think.sandbox import render

    named = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
    values = {
        "messages": [dict(message) for message in messages],
        "tools": None,
        "documents": None,
        "add_generation_prompt": True,
        **{variable: model.tokenizer.token(name) for variable, name in named.items()},
    }
    return render(model.chat_template, values, model.source)
