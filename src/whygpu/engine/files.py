"""Files appear whole or not at all."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from whygpu.engine.errors import UserError

__all__ = ["check_folder", "explain_os_error", "write_together", "write_whole"]


@contextlib.contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it is renamed to ``path``, else it is removed.

    Raises
    ------
    UserError
        When the folder cannot be written or the disk is full.
    """
    path = Path(path)
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes private files; a result is an ordinary one
        temporary.replace(path)
    except OSError as error:
        raise explain_os_error(error, path) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_together(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a set of files that belong together: all of them are there, or the folder is as it was before.

    Raises
    ------
    UserError
        Where one of them cannot be written; the line names it.
    """
    for name in files:
        if (folder / name).is_dir():
            raise UserError(f"{folder / name}: a folder stands where the file is to be written; move it away")
    with contextlib.ExitStack() as stack:
        for (
            name,
            data,
        ) in files.items():  # renamed in reverse order when the stack unwinds, after all are written
            stack.enter_context(write_whole(folder / name)).write_bytes(data)


def check_folder(path: Path) -> None:
    """Make sure, before long work, that files can be written into ``path`` (which may not exist yet).

    Raises
    ------
    UserError
        Where they cannot.
    """
    path = Path(path)
    existing = next((place for place in (path, *path.absolute().parents) if place.exists()), Path("/"))
    try:
        with tempfile.TemporaryFile(dir=existing):
            return
    except OSError as error:
        raise explain_os_error(error, path) from error


def explain_os_error(error: OSError, path: Path) -> UserError:
    """Turn an operating system's error about ``path`` into a line for a person."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserError(f"{path}: the disk is full; free some space or write elsewhere")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return UserError(f"{path}: cannot be written here; name a folder that you may write to")
    if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
        return UserError(f"{path}: a file stands where a folder is needed, or the other way round")
    return UserError(f"{path}: {error.strerror or error}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
