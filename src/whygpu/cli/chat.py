"""``whygpu think --interactive``: a conversation in the terminal, or from a pipe, one line a question."""

import contextlib
import difflib
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from whygpu.cli.answer import bandwidth_share
from whygpu.cli.speaking import speak
from whygpu.engine.errors import UserError

__all__ = ["Talk"]

PROMPT = "> "
LONGEST = 1 << 20
"""Characters of one line; more is no question."""
_COMMAND = re.compile(r"/[A-Za-z]*\s*")


class Talk:
    """Reads questions and commands until /quit, Ctrl-D or the second Ctrl-C in a row.

    Parameters
    ----------
    chat
        A ``think.Chat``.
    screen
        Where answers and notes go.
    roof
        Gives the kept roofline of this machine, or None; asked once an answer.
    show
        Whether each step's candidates are shown.
    """

    def __init__(self, chat: Any, screen: Any, roof: Callable[[], Any], *, show: bool = False) -> None:
        self.chat, self.screen, self.texts = chat, screen, screen.texts
        self.roof, self.show = roof, show
        self.by_hand = sys.stdin.isatty()
        self.interrupted = False  # whether Ctrl-C was the last thing that happened
        self.commands: dict[str, Callable[[], None]] = {
            "/help": self._help,
            "/reset": self._reset,
            "/stats": self._stats,
            "/quit": lambda: None,
        }

    def run(self, first: str | None = None) -> None:
        """Talk, beginning with ``first`` where it is given.

        Raises
        ------
        UserError
            For a question from a pipe that cannot be answered; a person is told and may ask another.
        KeyboardInterrupt
            After the second Ctrl-C in a row.
        """
        self._welcome()
        if first is not None:
            self._answer(first)
        while (line := self._read()) is not None:
            words = line.strip()
            if _COMMAND.fullmatch(words):
                if not self._command(words.lower()):
                    return
            elif words:
                self._answer(line)

    def _read(self) -> str | None:
        """The next line, None at the end of input."""
        while True:
            try:
                line = self._line()
            except KeyboardInterrupt:
                if self.interrupted:
                    raise
                self.interrupted = True
                self._note("\n" + self.texts("chat.interrupted"))
                continue
            if line is None and self.by_hand:
                self._note("")  # Ctrl-D leaves the cursor behind the prompt
            if line is not None:
                self.interrupted = False
            return line

    def _line(self) -> str | None:
        if self.by_hand and sys.stdout.isatty():
            try:
                return input(PROMPT)  # with readline: editing and history
            except EOFError:
                return None
        if self.by_hand:
            sys.stderr.write(PROMPT)
            sys.stderr.flush()
        line = sys.stdin.readline(LONGEST)
        if len(line) >= LONGEST:
            raise UserError(f"stdin: a line of more than {LONGEST:,} characters is no question")
        return line.rstrip("\n") if line else None

    def _command(self, name: str) -> bool:
        """Do what a /command says; False: the conversation is over."""
        if name == "/quit":
            return False
        if name in self.commands:
            self.commands[name]()
        else:
            near = difflib.get_close_matches(name, self.commands, n=1, cutoff=0.7)
            if near:
                self._note(self.texts("chat.unknown.near", command=name, near=near[0]))
            else:
                self._note(self.texts("chat.unknown", command=name, known=", ".join(self.commands)))
        return True

    def _answer(self, words: str) -> None:
        try:
            answer = self.chat.ask(words)
        except UserError as error:
            if not self.by_hand:
                raise
            self._note(f"whygpu: {error}")
            if self.chat.messages and words.strip():
                self._note(self.texts("chat.full"))
            return
        with _typing_unseen():
            speak(answer, self.screen, prompt=words, show=self.show)
        self.interrupted = answer.statistics.finish == "interrupted"
        from whygpu.cli.tables.answer import ending_note, speed_line

        note = ending_note(self.texts, answer.statistics, self.chat.rules)
        if note is not None:
            self._note(note)
        self._note(speed_line(self.texts, answer.statistics, bandwidth_share(answer.statistics, self.roof())))
        self._note("")

    def _welcome(self) -> None:
        if not self.by_hand:
            return
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  (gives ``input`` editing and history)
        shape = self.chat.model.architecture
        values = {"model": shape.name, "context": f"{self.chat.rules.context:,}"}
        self._note(self.texts("chat.welcome", **values))
        self._note("")

    def _help(self) -> None:
        for name in self.commands:
            self._note(f"  {name:<8}{self.texts('chat.help.' + name.removeprefix('/'))}")
        self._note(f"  {'Ctrl-C':<8}{self.texts('chat.help.ctrl-c')}")
        self._note(f"  {'Ctrl-D':<8}{self.texts('chat.help.ctrl-d')}")

    def _reset(self) -> None:
        self.chat.reset()
        self._note(self.texts("chat.reset"))

    def _stats(self) -> None:
        from whygpu.cli.tables.answer import chat_table

        if not self.chat.statistics:
            self._note(self.texts("chat.stats.none"))
            return
        share = mean_share(self.chat.statistics, self.roof())
        self.screen.err.print(chat_table(self.texts, self.chat, share))

    def _note(self, what: Any) -> None:
        self.screen.err.print(what, markup=False)


@contextlib.contextmanager
def _typing_unseen() -> Iterator[None]:
    """What is typed during an answer waits for the next prompt instead of appearing amid the words."""
    if not sys.stdin.isatty() or sys.platform == "win32":
        yield
        return
    import termios

    before = termios.tcgetattr(sys.stdin)
    quiet = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def mean_share(answers: list[Any], roof: Any) -> float | None:
    """MBU over several answers, or None where it is not known."""
    seconds = sum(answer.decode_seconds for answer in answers)
    if roof is None or not seconds:
        return None
    read = sum(answer.bytes_read_per_token * answer.decode_steps for answer in answers)
    return float(read / seconds / roof.read_bandwidth)
