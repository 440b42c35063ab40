"""Where each scene's file goes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import rich_click as click

from whygpu.engine.errors import UserError

__all__ = ["STDOUT", "file_names", "targets"]

STDOUT = "-"
STILL, FILM = "png", "webp"


def targets(scenes: Sequence[str], output: str, kind: str | None, moves: bool) -> list[Path]:
    """One path a scene; ``-`` is stdout.

    Parameters
    ----------
    scenes
        Names and files, as they were given.
    output
        ``-``, a file, or a folder (several scenes, a name that ends in /, or what is a folder already).
    kind
        ``--format``: the type of the files in a folder.
    moves
        Whether films are drawn.

    Raises
    ------
    UserError
        Where the files could not be written there; before any work.
    """
    if output == STDOUT:
        if len(scenes) > 1:
            raise UserError(f"-o -: one PNG fits on stdout, not {len(scenes)}; name a folder: -o pictures/")
        return [Path(STDOUT)]
    from whygpu.draw.output import FORMATS, format_of
    from whygpu.engine.files import check_folder

    path = Path(output)
    if len(scenes) > 1 or output.endswith("/") or path.is_dir():
        if path.suffix.lower() in FORMATS and not path.is_dir() and not output.endswith("/"):
            raise UserError(f"{output}: one file for {len(scenes)} scenes; name a folder: -o pictures/")
        chosen = kind or (FILM if moves else STILL)
        suffix = format_of(f"--format {chosen}", f".{chosen.removeprefix('.')}").suffix
        if path.exists() and not path.is_dir():
            raise UserError(f"{output}: a file stands where a folder is needed; name another")
        check_folder(path)
        return [path / name for name in file_names(scenes, suffix)]
    if kind is not None:
        raise click.UsageError("--format is for folders; a file's suffix says its type")
    format_of(path)
    folder = path.parent
    if not folder.exists():
        raise UserError(f"{output}: there is no folder {folder}; make it first (mkdir -p {folder})")
    check_folder(folder)
    return [path]


def file_names(scenes: Sequence[str], suffix: str) -> list[str]:
    """A name a scene, after the scene; equal ones are numbered (also where only capitals differ)."""
    names: list[str] = []
    taken: set[str] = set()
    for scene in scenes:
        plain = Path(scene).stem if "/" in scene or "." in scene else scene
        plain = re.sub(r"[^\w.-]+", "-", plain).strip(".-") or "scene"
        name, number = plain, 1
        while name.lower() in taken:
            number += 1
            name = f"{plain}-{number}"
        taken.add(name.lower())
        names.append(f"{name}{suffix}")
    return names
