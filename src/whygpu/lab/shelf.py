"""Which models can be served without fetching anything: the one of the start, the caches, named folders."""

from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from whygpu import models, think
from whygpu.lab.errors import Unknown
from whygpu.lab.roots import Roots
from whygpu.models.split import SPLIT_NAME

__all__ = ["Entry", "Shelf"]

FRESH = 2.0
"""Seconds that a look at the disk holds."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A model that could be loaded."""

    id: str
    """As requests name it: of the catalogue or Hugging Face, or ``FOLDER/PATH`` of a file."""
    place: str
    """As ``think.load`` takes it."""
    size: int
    """Bytes on the disk; 0 where nobody knows."""
    origin: str
    """``start``, ``cache``, ``huggingface`` or ``files``."""


class Shelf:
    """The models by their ids; the first is the one that the program was started with."""

    def __init__(self, first: think.Model, place: str, roots: Roots) -> None:
        self._roots = roots
        path = first.path
        self._path = None if path is None else path.resolve()
        self.first = Entry(first.architecture.name, place, 0 if path is None else _size(path), "start")
        self._seen, self._at = [self.first], -FRESH

    def entries(self) -> list[Entry]:
        """All of them; ids are unique, and no file is told twice."""
        if monotonic() - self._at > FRESH:
            self._seen, self._at = self._look(), monotonic()
        return self._seen

    def find(self, name: str) -> Entry:
        """The entry of that id; case does not matter.

        Raises
        ------
        Unknown
            The line names those that are here.
        """
        known = self.entries()
        for entry in known:
            if name.lower() in (entry.id.lower(), entry.place.lower()):
                return entry
        here = ", ".join(entry.id for entry in known[:12]) + (", …" if len(known) > 12 else "")
        raise Unknown(f"model {name[:80]!r} is not here; known: {here}, default", "model", "model_not_found")

    def _look(self) -> list[Entry]:
        found = [self.first]
        for model in models.stored():
            own = self._path is not None and self._path.is_relative_to(model.path.resolve())
            if model.whole and not own and model.name != self.first.id:
                origin = "huggingface" if model.shared else "cache"
                found.append(Entry(model.name, model.name, model.size, origin))
        for name, path in self._roots.found(_is_model):
            if path.resolve() != self._path:
                found.append(Entry(name, str(path), _size(path), "files"))
        return found


def _is_model(path: Path) -> bool:
    """A GGUF file (of a split one the first part), or a folder with config.json and safetensors files."""
    if path.suffix.lower() == ".gguf":
        part = SPLIT_NAME.fullmatch(path.name)
        first = part is None or int(part["number"]) == 1
        return first and path.is_file() and "mmproj" not in path.name.lower()
    return (path / "config.json").is_file() and any(path.glob("*.safetensors"))


def _size(path: Path) -> int:
    """Bytes of a file, or of a folder's weights."""
    files = path.glob("*.safetensors") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
