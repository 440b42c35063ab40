"""The file that is read, and the files that it names beside it."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path
from urllib.parse import unquote

from whygpu.draw.load.budget import Budget
from whygpu.engine import UserError

__all__ = ["Source", "shown"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def shown(text: object, most: int = 60) -> str:
    """``text`` quoted, on one line and cut short, for an error message."""
    quoted = repr(text)
    return quoted if len(quoted) <= most else f"{quoted[: most - 4]}...{quoted[-1]}"


class Source:
    """A scene file's bytes, and everything else it may read: files in its own folder or below it.

    Raises
    ------
    UserError
        Where there is no such file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name if path.name.isprintable() else shown(path.name)
        self.budget = Budget(self.name)
        self.data = self._bytes(path, self.name)

    def fail(self, where: str, reason: str) -> UserError:
        """The error for ``where`` (a JSON path or a line) in this file."""
        return UserError(f"{self.name}: {where}: {reason}" if where else f"{self.name}: {reason}")

    def beside(self, uri: str, where: str, percent: bool = True) -> bytes:
        """The bytes of a file that this one names, relative to its folder; ``percent``-encoded as in a URI.

        Raises
        ------
        UserError
            For a URI that leaves the folder, has a scheme, or names no file.
        """
        name = unquote(uri) if percent else uri.replace("\\", "/")
        if _SCHEME.match(name) or name.startswith(("/", "\\")):
            raise self.fail(where, f"{shown(uri)} is no relative path; name a file in the scene's own folder")
        if "\0" in name or not name or ".." in re.split(r"[/\\]", name):
            raise self.fail(where, f"{shown(uri)} leaves the scene's folder; name a file inside it")
        folder = self.path.parent.resolve()
        try:
            target = (folder / name).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise self.fail(where, f"{shown(uri)} is no path ({error})") from error
        if not target.is_relative_to(folder):
            raise self.fail(where, f"{shown(uri)} leads out of the scene's folder; put the file inside it")
        return self._bytes(target, f"{self.name}: {where}: {shown(uri)}")

    def uri(self, uri: str, where: str) -> bytes:
        """What a glTF URI stands for: the bytes in a data URI, or those of a file beside this one."""
        if uri[:5].lower() != "data:":
            return self.beside(uri, where)
        head, comma, body = uri.partition(",")
        if not comma or not head.lower().endswith(";base64"):
            raise self.fail(where, "a data URI must be data:TYPE;base64,DATA")
        self.budget.take(len(body), where)
        try:
            return base64.b64decode(unquote(body) if "%" in body else body, validate=True)
        except (binascii.Error, ValueError) as error:
            raise self.fail(where, f"the data URI is not base64 ({error})") from error

    def _bytes(self, path: Path, what: str) -> bytes:
        try:
            if path.is_dir() or (path.exists() and not path.is_file()):
                raise UserError(f"{what}: this is no ordinary file; name one")
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise UserError(f"{what}: there is no such file") from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"{what}: it cannot be read ({reason})") from error
        except MemoryError as error:
            raise UserError(f"{what}: it is larger than this machine's memory") from error
        self.budget.read(len(data))
        return data
