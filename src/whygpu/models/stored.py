"""Which models lie on this disk: in whygpu's cache, and in Hugging Face's, which other programs share."""

import contextlib
import difflib
import shutil
import tempfile
from dataclasses import dataclass
from os import environ
from pathlib import Path
from typing import Any

from whygpu.engine import UserError, cache_dir
from whygpu.engine.files import explain_os_error
from whygpu.models.catalogue import model_file, names

__all__ = ["Stored", "remove", "stored"]

WEIGHTS = (".gguf", ".safetensors")
"""Endings of the files that make a repository of Hugging Face's cache a model that could be loaded."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A model on this disk."""

    name: str
    """As ``--model`` takes it: a catalogue name or a Hugging Face id."""
    path: Path
    """Its folder."""
    size: int
    """Bytes on the disk, unfinished downloads included."""
    whole: bool
    """False where a download was broken off and nothing that could be loaded is here; it may be removed."""
    shared: bool
    """Whether it lies in Hugging Face's cache, where other programs find it too."""


def stored() -> list[Stored]:
    """Every model that is here, those of whygpu's own cache first, each by name."""
    return [*_own(), *_hugging_face()]


def remove(name: str) -> Stored:
    """Delete a model's folder from the cache that holds it; returns what was there.

    Raises
    ------
    UserError
        For a name that is not stored (the line names near ones), or a folder that may not be deleted.
    """
    here = stored()
    found = next((model for model in here if model.name.lower() == name.lower()), None)
    if found is None:
        raise UserError(_not_here(name, [model.name for model in here]))
    try:
        # first out of the way in one step, so that nobody can meet half a model
        grave = Path(tempfile.mkdtemp(prefix=".removed-", dir=found.path.parent))
        found.path.replace(grave / found.path.name)
    except OSError as error:
        raise explain_os_error(error, found.path) from error
    shutil.rmtree(grave, ignore_errors=True)
    return found


def _not_here(name: str, here: list[str]) -> str:
    if name.lower() in names():
        return f"{name}: is not on this disk; nothing was removed"
    if not here:
        return f"model {name[:80]!r} is not on this disk; no model is"
    near = difflib.get_close_matches(name.lower(), here, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"here: {', '.join(here)}"
    return f"model {name[:80]!r} is not on this disk; {hint}"


def _own() -> list[Stored]:
    folder = cache_dir() / "models"
    try:
        places = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return []
    sizes = [(place, _size(place)) for place in places]
    return [Stored(place.name, place, size, _is_whole(place), shared=False) for place, size in sizes if size]


def _is_whole(folder: Path) -> bool:
    """Whether the file is there under its own name: it gets that last, when it was checked."""
    source = model_file(folder.name) if folder.name in names() else None
    if source is not None:
        return (folder / source.name).is_file()
    return any(path.suffix.lower() in WEIGHTS and path.name[0] != "." for path in folder.iterdir())


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # a download may move files while we look
            total += 0 if path.is_dir() or path.is_symlink() else path.stat().st_size
    return total


def _hugging_face() -> list[Stored]:
    """Repositories with weights in Hugging Face's cache, by that library's own account of it."""
    if not _hub_folder().is_dir():
        return []  # without loading the library
    from huggingface_hub import scan_cache_dir

    try:
        repositories = scan_cache_dir(_hub_folder()).repos
    except (OSError, ValueError):
        return []
    found = [repo for repo in repositories if repo.repo_type == "model" and _has_weights(repo)]
    models = [
        Stored(repo.repo_id, Path(repo.repo_path), repo.size_on_disk, whole=True, shared=True)
        for repo in found
    ]
    return sorted(models, key=lambda model: model.name)


def _has_weights(repository: Any) -> bool:
    files = (file.file_name for revision in repository.revisions for file in revision.files)
    return any(name.lower().endswith(WEIGHTS) for name in files)


def _hub_folder() -> Path:
    """Where that library keeps its cache, by its documented variables."""
    if chosen := environ.get("HF_HUB_CACHE") or environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(chosen).expanduser()
    if home := environ.get("HF_HOME"):
        return Path(home).expanduser() / "hub"
    base = environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "huggingface" / "hub"
