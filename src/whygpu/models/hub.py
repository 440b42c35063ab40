"""Models by their Hugging Face id: ``owner/name``, or ``owner/name:Q4_K_M`` of several GGUF files.

The downloads are huggingface-hub's: its cache, token, endpoint and offline variables apply, and an
interrupted one goes on where it stopped. A file counts only when it is whole.
"""

import contextlib
import inspect
import re
import socket
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import Any

from whygpu.engine import Progress, UserError, silent
from whygpu.engine.files import explain_os_error
from whygpu.models.split import SPLIT_NAME

__all__ = ["Unavailable", "fetch_from_hub", "is_hub_id", "reachable"]

REACH_TIMEOUT = 4.0
"""Seconds to wait for a connection to Hugging Face."""
LIST_TIMEOUT = 20.0
"""Seconds to wait for the list of a model's files."""

_ID = re.compile(r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?::(?P<quant>[\w.-]+))?")
_FILE_ENDINGS = (".gguf", ".safetensors", ".json", ".bin")
_QUANT = re.compile(
    r"(?:^|[-._/])(?P<quant>(?:UD-)?I?Q\d\w*|F16|BF16|F32|FP16|MXFP4\w*)(?:-\d{5}-of-\d{5})?\.gguf$", re.I
)
BESIDE = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "model.safetensors.index.json",
)
"""What is fetched with safetensors files."""


class Unavailable(UserError):
    """A model that is known but cannot be had here and now: no network, no cached copy, no public file."""


def is_hub_id(name: object) -> bool:
    """Whether a name has the form of a Hugging Face id (and not that of a file)."""
    text = str(name)
    return _ID.fullmatch(text) is not None and not text.lower().endswith(_FILE_ENDINGS)


def fetch_from_hub(name: str, *, download: bool = True, progress: Progress = silent) -> Path:
    """The GGUF file (of a split one the first part) or the folder of a model, in huggingface-hub's cache.

    Parameters
    ----------
    name
        ``owner/name``, perhaps with ``:`` and the quantisation.
    download
        Whether files may be fetched; else only the cache is asked.

    Raises
    ------
    Unavailable
        Offline and not cached, no such model, no access, or no file that can be used.
    UserError
        Several GGUF files and none named, or a full disk.
    """
    from huggingface_hub import constants

    match = _ID.fullmatch(name)
    if match is None:
        raise UserError(f"{name!r:.80} is no Hugging Face id; owner/name or owner/name:QUANT is")
    repo, quant = match["repo"], match["quant"]
    online = download and not constants.HF_HUB_OFFLINE and reachable(constants.ENDPOINT)
    if not online:
        folder = _cached(repo, Path(constants.HF_HUB_CACHE))
        why = (
            f"no network, or {constants.ENDPOINT} is out of reach" if download else "nothing is fetched here"
        )
        if folder is None:
            raise Unavailable(f"{repo}: not in Hugging Face's cache, and {why}")
        there = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
        try:
            return _entry(folder, choose(repo, there, quant))
        except Unavailable as error:
            raise Unavailable(f"{error} (its cached copy may be incomplete, and {why})") from error
    with _explained(repo):
        sizes = _sizes(repo)
        wanted = choose(repo, list(sizes), quant)
        return _download(repo, wanted, sizes, progress)


def choose(repo: str, there: Sequence[str], quant: str | None) -> list[str]:
    """Which of a model's files are needed; the one to open stands first, or ``config.json``.

    Raises
    ------
    Unavailable
        Where none can be used.
    UserError
        Where several could, and none is named.
    """
    ggufs = [name for name in there if name.lower().endswith(".gguf") and "mmproj" not in name.lower()]
    firsts = sorted(name for name in ggufs if _part(name) == 1)
    if quant is not None:
        firsts = [name for name in firsts if _quant(name) == quant.lower()]
    elif "config.json" in there and any(_is_weights(name) for name in there):
        weights = sorted(name for name in there if _is_weights(name))
        return [name for name in BESIDE if name in there] + weights
    known = ", ".join(sorted({q.upper() for name in ggufs if (q := _quant(name))})) or "none"
    if not firsts and quant is not None:
        raise Unavailable(f"{repo}: has no GGUF file of {quant}; it has: {known}")
    if not firsts:
        raise Unavailable(f"{repo}: has neither GGUF nor safetensors files of a model")
    if len(firsts) > 1:
        raise UserError(f"{repo}: has {len(firsts)} GGUF files; name one as {repo}:QUANT ({known})")
    return [
        firsts[0],
        *sorted(name for name in ggufs if name != firsts[0] and _stem(name) == _stem(firsts[0])),
    ]


def _is_weights(name: str) -> bool:
    return re.fullmatch(r"model(-\d{5}-of-\d{5})?\.safetensors", name) is not None


def _quant(name: str) -> str:
    """The quantisation that a file's name says, in small letters, or nothing."""
    match = _QUANT.search(name)
    return match["quant"].lower() if match else ""


def _part(name: str) -> int:
    match = SPLIT_NAME.fullmatch(name)
    return int(match["number"]) if match else 1


def _stem(name: str) -> str:
    match = SPLIT_NAME.fullmatch(name)
    return match["stem"] if match else name


def _entry(folder: Path, wanted: Sequence[str]) -> Path:
    """What is to be opened."""
    return folder / wanted[0] if wanted[0].lower().endswith(".gguf") else folder


def _cached(repo: str, cache: Path) -> Path | None:
    """The newest snapshot of a model in the cache (huggingface-hub's documented layout), or None."""
    home = cache / f"models--{repo.replace('/', '--')}"
    try:
        commit = (home / "refs" / "main").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    folder = home / "snapshots" / commit
    return folder if re.fullmatch(r"[0-9a-f]{4,64}", commit) and folder.is_dir() else None


def _sizes(repo: str) -> dict[str, int]:
    """Bytes of every file of a model."""
    from huggingface_hub import HfApi

    info = HfApi().model_info(repo, files_metadata=True, timeout=LIST_TIMEOUT)
    return {file.rfilename: int(file.size or 0) for file in info.siblings or ()}


def _download(repo: str, wanted: Sequence[str], sizes: dict[str, int], progress: Progress) -> Path:
    """Fetch each file that is not in the cache yet."""
    from huggingface_hub import hf_hub_download

    whole = sum(sizes[name] for name in wanted) or 1
    done, first = 0, Path()
    has_meter = "tqdm_class" in inspect.signature(hf_hub_download).parameters
    for name in wanted:

        def tell(here: int, before: int = done) -> None:
            progress("fetch.model", min((before + here) / whole, 1.0), model=repo, place="Hugging Face")

        tell(0)
        how: dict[str, Any] = {"tqdm_class": _meter(tell)} if has_meter else {}
        path = Path(hf_hub_download(repo, name, **how))
        done += sizes[name]
        first = first if first.name else path
    progress("fetch.model", 1.0, model=repo, place="Hugging Face")
    folder = first.parents[wanted[0].count("/")]
    return _entry(folder, wanted)


def _meter(tell: Any) -> Any:
    """A progress bar that draws nothing and passes on what it is told."""
    from huggingface_hub import utils

    quiet: Any = utils.tqdm  # type: ignore[attr-defined]

    class Meter(quiet):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})
            self.here = int(kwargs.get("initial") or 0)

        def update(self, n: float | None = 1) -> bool | None:
            self.here += int(n or 0)
            tell(self.here)
            return None

    return Meter


@contextlib.contextmanager
def _explained(repo: str) -> Iterator[None]:
    """One line for whatever huggingface-hub and the transport under it raise."""
    from huggingface_hub import constants, errors

    try:
        yield
    except UserError:
        raise
    except errors.GatedRepoError as error:
        raise Unavailable(
            f"{repo}: its owner wants to be asked first; accept the terms on its page and set HF_TOKEN"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise Unavailable(
            f"{repo}: there is no such model on Hugging Face (and no such folder here), or it needs HF_TOKEN"
        ) from error
    except Exception as error:  # its own errors and the transport's, whichever library that is
        if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):
            raise explain_os_error(error, Path(constants.HF_HUB_CACHE)) from error
        reason = (str(error).strip().splitlines() or [""])[0][:200] or type(error).__name__
        raise Unavailable(f"{repo}: the download failed ({reason}); run it again to go on") from error


def reachable(endpoint: str) -> bool:
    """Whether somebody listens there; behind a proxy only the proxy can tell, so: yes."""
    if urllib.request.getproxies():
        return True
    address = urllib.parse.urlsplit(endpoint)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        with socket.create_connection((address.hostname or "", port), timeout=REACH_TIMEOUT):
            return True
    except OSError:
        return False
