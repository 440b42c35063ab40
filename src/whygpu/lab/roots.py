"""The folders that were named (``--files``): nothing else of this disk can be opened from a page."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from whygpu.engine import UserError
from whygpu.lab.limits import LISTED, LOOKED_AT

__all__ = ["Roots"]


class Roots:
    """Folders by short names; what lies in them is ``NAME/PATH``.

    Raises ``UserError`` for one that is no folder.
    """

    def __init__(self, folders: Sequence[str] = ()) -> None:
        self._roots: dict[str, Path] = {}
        for folder in folders:
            path = Path(folder).expanduser()
            if not path.is_dir():
                raise UserError(f"--files {folder}: that is no folder; name one whose files may be opened")
            name = path.resolve().name or "files"
            self._roots[name if name not in self._roots else f"{name}-{len(self._roots)}"] = path.resolve()

    def found(self, wanted: Callable[[Path], bool]) -> list[tuple[str, Path]]:
        """``NAME/PATH`` and the path of what is wanted, in order; the first ``LISTED`` of each root."""
        found: list[tuple[str, Path]] = []
        for name, root in self._roots.items():
            own = [path for path in _walk(root) if wanted(path) and self._within(root, path)]
            found += [(f"{name}/{path.relative_to(root).as_posix()}", path) for path in sorted(own)[:LISTED]]
        return found

    def place(self, name: str) -> Path | None:
        """The path that ``NAME/PATH`` means; None where it is outside, or not there."""
        root, _, rest = name.partition("/")
        if root not in self._roots or "\0" in rest:
            return None
        path = self._roots[root] / rest
        return path.resolve() if self._within(self._roots[root], path) and path.exists() else None

    @staticmethod
    def _within(root: Path, path: Path) -> bool:
        """Links are followed first: one that leads out is outside."""
        return path.resolve().is_relative_to(root)


def _walk(root: Path) -> Iterator[Path]:
    """Files and folders below it, hidden ones left out; links to folders are not entered."""
    seen = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted([*folders, *files]):
            seen += 1
            if seen > LOOKED_AT:
                return
            if not name.startswith("."):
                yield Path(folder, name)
