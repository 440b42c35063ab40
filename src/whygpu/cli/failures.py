"""How a command ends badly: one line on stderr and an exit code, never a traceback."""

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import click

from whygpu.engine import ranks
from whygpu.engine.errors import UserError

__all__ = ["one_clear_line"]

BAD_INPUT = 2
INTERRUPTED = 130


@contextlib.contextmanager
def one_clear_line() -> Iterator[None]:
    """Turn what can go wrong into a line and an exit code (2; 130 for Ctrl-C)."""
    try:
        yield
    except UserError as error:
        _stop(str(error))
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.UsageError as error:
        where = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
        _stop(f"{error.format_message().rstrip('.')}{where}")
    except click.ClickException as error:
        _stop(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # once is enough
        sys.unraisablehook = _nothing_more  # objects half made when it came (LLVM's) complain when they go
        # Where it came while Python executed text (a dataclass was made), CPython would end by the signal
        # itself, however it was met; executing text once more makes it forget that.
        exec("")
        print("\nwhygpu: stopped", file=sys.stderr)  # noqa: T201
        sys.exit(INTERRUPTED)
    except MemoryError as error:
        detail = f" ({error})" if str(error) else ""
        _stop(f"out of memory{detail}; try --quick, a smaller --size or a smaller model")
    except BrokenPipeError:
        _forget_output()
        sys.exit(0)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            if error.filename is None:
                _forget_output()
            _stop(f"{error.filename or 'output'}: the disk is full; free some space or write elsewhere")
        if error.errno == errno.ENOMEM or error.errno is None:
            _stop(f"the system refused ({error}); is there too little memory? try --quick or a smaller model")
        _stop(f"{error.filename or 'system'}: {error.strerror or error}")


def _nothing_more(complaint: Any) -> None:
    """What a destructor says after Ctrl-C is nothing that a user can use."""


def _forget_output() -> None:
    """Let what stdout still holds go nowhere, or Python complains once more at exit."""
    with contextlib.suppress(OSError, ValueError):  # there may be no file behind it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(message: str) -> None:
    line = " ".join(message.split())
    if ranks.claim_word():  # of several ranks that fail alike one says it
        rank = f"rank {os.environ['RANK']}: " if ranks.here().size > 1 and line[:5] != "rank " else ""
        print(f"whygpu: {rank}{line}", file=sys.__stderr__ if ranks.launched() else sys.stderr)
    sys.exit(BAD_INPUT)
