"""``whygpu think --interactive``: through a pipe, and at a terminal with Ctrl-C and Ctrl-D."""

import contextlib
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SAMPLED = ("--temperature", "1.5", "--seed", "4", "-n", "12")


def talk(model: Path, said: str | bytes, *options: str) -> "subprocess.CompletedProcess[str]":
    """A whole conversation through a pipe."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-m",
            "whygpu",
            "think",
            "-i",
            "--model",
            str(model),
            *SAMPLED,
            *options,
        ],
        input=said.encode() if isinstance(said, str) else said,
        capture_output=True,
        timeout=120,
        env={**os.environ, "LANG": "C.UTF-8"},
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_conversation_through_a_pipe(endless: Path) -> None:
    out = talk(endless, "hello\n\nand you?\n/stats\n/quit\nnot asked\n")
    assert out.returncode == 0, out.stderr
    lines = re.findall(r"(\d+) tokens in(?: \((\d+) cached\))?, (\d+) out", out.stderr)
    assert len(lines) == 2  # an empty line is no question, and what follows /quit is not read
    (first, none, said), (second, reused, _) = lines
    assert (none, said) == ("", "12")
    # the template: [user]hello[assistant], then the answer and [user]and you?[assistant]
    assert int(first) == len("[user]hello[assistant]")
    assert int(first) <= int(reused) < int(second)
    assert "prompt tokens reused from the cache" in out.stderr
    assert ">" not in out.stderr.split("\n", 1)[0]  # nobody is there to be prompted
    alone = talk(endless, "hello")  # the last line needs no line break
    assert out.stdout.startswith(alone.stdout)


def test_commands(endless: Path) -> None:
    out = talk(endless, "/help\n/stats\n/wrong\n/rest\nhello\n/reset\nhello\n")
    assert out.returncode == 0, out.stderr
    for name in ("/help", "/reset", "/stats", "/quit", "Ctrl-C", "Ctrl-D"):
        assert name in out.stderr
    assert "Nothing has been said yet." in out.stderr
    assert "/wrong is no command; known: /help, /reset, /stats, /quit" in out.stderr
    assert "did you mean /reset?" in out.stderr
    assert "cached" not in out.stderr  # nothing is reused after /reset
    half = len(out.stdout) // 2
    assert out.stdout[:half] == out.stdout[half:]  # and the same seed says the same


def test_chinese(endless: Path) -> None:
    out = talk(endless, "/help\n你好\n/stats\n", "--lang", "zh")
    assert out.returncode == 0, out.stderr
    for words in ("列出这些命令", "入 ", "这段对话", "从缓存复用"):
        assert words in out.stderr


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("x" * 300 + "\n", "has room for 255"),
        (b"hello \xff\n", "not UTF-8"),
        ("x" * (1 << 20) + "\n", "a line of more than"),
    ],
    ids=["too long", "not UTF-8", "endless"],
)
def test_a_pipe_that_asks_badly_ends_in_one_line(endless: Path, said: str | bytes, words: str) -> None:
    out = talk(endless, said)
    assert (out.returncode, out.stdout) == (2, "")
    assert len(out.stderr.strip().splitlines()) == 1
    assert words in out.stderr


def test_a_first_question_and_a_ledger(endless: Path) -> None:
    out = talk(endless, "", "hello", "--ledger")
    assert out.returncode == 0, out.stderr
    assert "tokens in" in out.stderr
    assert "Decode: one token at a time" in out.stdout


class Terminal:
    """A process at a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        import pty

        self.end, other = pty.openpty()
        take = "import fcntl, termios, os, sys; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        take += "os.execv(sys.argv[1], sys.argv[1:])"
        command = [sys.executable, "-c", take, sys.executable, "-m", "whygpu", *arguments]
        environment = {**os.environ, "LANG": "C.UTF-8", "TERM": "xterm", "COLUMNS": "100", "LINES": "50"}
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=environment, start_new_session=True
        )
        os.close(other)
        self.seen = ""

    def type(self, keys: str) -> None:
        if keys == "\x03":
            time.sleep(0.5)  # between its prompt and its waiting, Python's readline notices no signal
        os.write(self.end, keys.encode())

    def wait_for(self, words: str, seconds: float = 40) -> str:
        """Read until ``words`` appear; returns what came up to them."""
        give_up = time.monotonic() + seconds
        while words not in self.seen:
            if not select.select([self.end], [], [], max(0, give_up - time.monotonic()))[0]:
                raise AssertionError(f"{words!r} did not appear: {self.seen!r}")
            try:
                self.seen += os.read(self.end, 4096).decode(errors="replace")
            except OSError as gone:  # the process has ended
                raise AssertionError(f"{words!r} never appeared: {self.seen!r}") from gone
        before, _, self.seen = self.seen.partition(words)
        return before

    def code(self) -> int:
        """Read what is left and wait for the end."""
        with contextlib.suppress(OSError):
            while rest := os.read(self.end, 4096):
                self.seen += rest.decode(errors="replace")
        return self.process.wait(timeout=30)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.end)


@pytest.fixture
def terminal(endless: Path) -> Iterator[Terminal]:
    options = ("--temperature", "1.5", "-n", "100000000", "--slide", "--context", "99")
    here = Terminal("think", "-i", "--model", str(endless), *options)
    yield here
    here.close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
class TestAtATerminal:
    def test_ctrl_c_stops_an_answer_and_ctrl_d_ends(self, terminal: Terminal) -> None:
        terminal.wait_for("/help lists the commands")
        terminal.wait_for("> ")
        terminal.type("hello\n")
        terminal.wait_for("hello")
        time.sleep(1.5)
        terminal.type("\x03")
        terminal.wait_for("Stopped.")
        terminal.wait_for("tok/s")
        terminal.wait_for("> ")
        terminal.type("/stats\n")
        terminal.wait_for("This conversation")
        terminal.wait_for("> ")
        terminal.type("\x04")
        assert terminal.code() == 0
        assert "Traceback" not in terminal.seen

    def test_ctrl_c_twice_ends(self, terminal: Terminal) -> None:
        terminal.wait_for("> ")
        terminal.type("\x03")
        terminal.wait_for("Ctrl-C once more")
        terminal.wait_for("> ")
        terminal.type("\x03")
        assert terminal.code() == 130
        assert "whygpu: stopped" in terminal.seen
        assert "Traceback" not in terminal.seen

    def test_a_question_that_does_not_fit_is_said_and_the_talk_goes_on(self, terminal: Terminal) -> None:
        terminal.wait_for("> ")
        terminal.type("x" * 120 + "\n")
        terminal.wait_for("whygpu: the prompt has")
        terminal.wait_for("> ")
        terminal.type("/quit\n")
        assert terminal.code() == 0
