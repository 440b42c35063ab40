"""A conversation that goes on: its turns, and the cache of what was said, so that only new words cost."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from whygpu.think.chat import Message
from whygpu.think.generate import as_chat, kept, prompt_ids, rules_for
from whygpu.think.generation import Generation, Statistics
from whygpu.think.model import Model
from whygpu.think.prefix import PrefixCache
from whygpu.think.sampling import Sampler

__all__ = ["Chat"]


class Chat:
    """Ask, iterate over the answer, ask again; what the prompts begin with alike is not computed again.

    Parameters
    ----------
    model
        Who answers.
    system
        The system message; needs a chat template.
    chat
        As ``generate`` has it. Without a template the conversation is one raw text that both continue; an
        answer and the next question have a line break between them.
    how
        ``max_tokens``, ``temperature`` and the other keywords of ``generate``. With ``slide`` a
        conversation that does not fit any more loses its oldest turns until it fills half the context at
        most; the system message stays. The seed counts for the whole conversation.

    Raises
    ------
    UserError
        For values that ``generate`` refuses.
    """

    def __init__(
        self, model: Model, *, system: str | None = None, chat: bool | None = None, **how: Any
    ) -> None:
        self.model, self.system = model, system
        self.templated = as_chat(model, "", chat, system)
        choosing = {field.name: how.pop(field.name) for field in fields(Sampler) if field.name in how}
        self._new_sampler: Callable[[], Sampler] = lambda: Sampler(**choosing)
        self._sampler = self._new_sampler()
        first = [Message(role="user", content="a")]
        self._ids(first)  # a template that is missing or wrong is known before anybody types
        if how.get("slide"):
            how["keep"] = kept(model, first if self.templated else "a", self.templated, system)
        self.rules = rules_for(model, **how)
        self._memory = PrefixCache(model, self.rules.context)
        self._turns: list[Message] = []
        self._spent: list[Statistics] = []
        self._answer: Generation | None = None  # the last one; not yet among the two above

    def ask(self, words: str) -> Generation:
        """The answer to ``words``: iterate over it. Left early or stopped, what was said is the answer.

        Raises
        ------
        UserError
            Before anything is computed, for words that are empty or do not fit; nothing changes then.
        """
        prompt_ids(self.model, words, False, None)  # nothing to say is refused here, not by the template
        if self._answer is not None:
            self._answer.stop()
            next(self._answer, None)  # notes the end, where it was left early
        turns = [*self.messages, Message(role="user", content=words)]
        ids = self._ids(turns)
        if self.rules.slide and len(ids) >= self.rules.context:
            while len(turns) > 1 and len(ids) > self.rules.context // 2:
                turns = turns[2:]  # a question and its answer
                ids = self._ids(turns)
        answer = Generation(self.model, ids, self._sampler, self.rules, self._memory)
        self._turns, self._spent, self._answer = turns, self.statistics, answer
        return answer

    @property
    def messages(self) -> list[Message]:
        """The turns that the model sees, the last answer as far as it has come; the system message is apart.

        A question that was stopped before the first word of its answer is not among them.
        """
        if self._answer is None:
            return list(self._turns)
        if not self._answer.ids:
            return self._turns[:-1]
        return [*self._turns, Message(role="assistant", content=self._answer.text)]

    @property
    def statistics(self) -> list[Statistics]:
        """Of every answer since the beginning."""
        return [*self._spent, *([self._answer.statistics] if self._answer else [])]

    @property
    def tokens(self) -> int:
        """How many tokens the cache holds."""
        return self._memory.length

    def reset(self) -> None:
        """Begin anew: no turns, an empty cache, the seed's first numbers again."""
        if self._answer is not None:
            self._answer.stop()
        self._turns, self._spent, self._answer = [], [], None
        self._sampler = self._new_sampler()
        self._memory.forget()

    def _ids(self, turns: list[Message]) -> list[int]:
        if self.templated:
            return prompt_ids(self.model, turns, True, self.system)
        text = "".join(turn["content"] + "\n" * (turn["role"] == "assistant") for turn in turns)
        return prompt_ids(self.model, text, False, self.system)
