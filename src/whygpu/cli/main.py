"""``whygpu``: the command group. Without a command it runs the main job."""

import io
import os
import sys
from typing import Any

# BLAS must not spin against the engine's own threads; it reads this once, when NumPy loads.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import rich_click as click

from whygpu import __version__
from whygpu.cli.bench import bench
from whygpu.cli.claims import claims
from whygpu.cli.doctor import doctor
from whygpu.cli.draw import draw
from whygpu.cli.exhibit import exhibit
from whygpu.cli.failures import one_clear_line
from whygpu.cli.hardware import hardware
from whygpu.cli.lab import lab
from whygpu.cli.models import models
from whygpu.cli.predict import predict
from whygpu.cli.ranks import mute
from whygpu.cli.roofline import roofline
from whygpu.cli.run import run
from whygpu.cli.serve import serve
from whygpu.cli.think import think

__all__ = ["main", "whygpu"]

click.rich_click.TEXT_MARKUP = "rich"
click.rich_click.MAX_WIDTH = 100
click.rich_click.COMMAND_GROUPS = {
    "whygpu": [
        {"name": "The whole story", "commands": ["run"]},
        {"name": "Its parts", "commands": ["roofline", "bench", "draw", "think", "predict", "exhibit"]},
        {"name": "In a browser, and for programs", "commands": ["lab", "serve"]},
        {"name": "What is known", "commands": ["models", "hardware", "claims", "doctor"]},
    ]
}


class MainJobFirst(click.RichGroup):
    """A group whose missing command is ``run``, so that ``whygpu --quick`` works."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put ``run`` before anything that is neither a command nor an option of the group itself.

        A language that is given before a command, as other programs take such options, is handed to it.
        """
        named = 1 if args and args[0].startswith("--lang=") else 2
        if (
            args
            and args[0].split("=")[0] == "--lang"
            and args[named : named + 1]
            and args[named] in self.commands
        ):
            args = [args[named], *_before_dashes(args[named + 1 :], args[:named])]
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h", "--version")):
            looks_like_a_command = bool(args) and not args[0].startswith("-")
            if not looks_like_a_command:
                args = ["run", *args]
        return super().parse_args(ctx, args)


def _before_dashes(arguments: list[str], options: list[str]) -> list[str]:
    """Options after all arguments, but before ``--``, behind which nothing is an option."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*arguments[:end], *options, *arguments[end:]]


@click.group(cls=MainJobFirst, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="whygpu")
def whygpu() -> None:
    """Why does an LLM need a GPU?

    One matrix multiply draws 3D scenes and runs language models. This program does both on
    your machine, counts every product, measures what the machine can do, and explains the rest.

    Without a command it runs the main job: [bold]whygpu --quick[/bold] is a good first try.
    """


KNOWN = (run, roofline, bench, draw, think, predict, exhibit, models, hardware, claims, doctor, lab, serve)
for command in KNOWN:
    whygpu.add_command(command)


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; every failure is one clear line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="replace"
            )  # a terminal that cannot show a character shows a question mark
    mute()
    with one_clear_line():
        whygpu.main(args=arguments, prog_name="whygpu", standalone_mode=False)
        sys.stdout.flush()  # here, where a full disk or a reader that left is met with one line
    sys.exit(0)
