"""The header of a GGUF or safetensors file elsewhere, by HTTP range requests; the weights stay there."""

import contextlib
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from whygpu.engine import UserError

__all__ = ["remote_header"]

FIRST = 1 << 20
LARGEST = 64 << 20
"""Bytes of a header, at most."""
CONFIG = 8 << 20
"""Bytes of a config.json, at most."""
LONGEST = 1 << 42
"""Bytes that a model file may be long: the stand-in has a hole of that length."""
TIMEOUT = 20.0


@contextlib.contextmanager
def remote_header(address: str) -> Iterator[Path]:
    """A local sparse stand-in of the file: its first bytes real, its length right, the rest a hole.

    Beside a safetensors file lies the ``config.json`` of the same place: its header names no architecture.

    Raises
    ------
    UserError
        Where the server cannot be reached, does not answer range requests, or has no ``config.json`` there.
    """
    from whygpu.models.gguf import read_gguf
    from whygpu.models.safetensors import read_safetensors

    plain = address.partition("?")[0]
    name = plain.rpartition("/")[2]
    readers: dict[str, Callable[[Path], object]] = {"gguf": read_gguf, "safetensors": read_safetensors}
    read = readers.get(name.rpartition(".")[2].lower())
    if read is None:
        raise UserError(
            f"{address[:100]}: only GGUF and safetensors files are read from elsewhere;"
            " give a config.json's path or an id"
        )
    with tempfile.TemporaryDirectory() as folder:
        path, size = Path(folder) / name, FIRST
        if read is read_safetensors:
            config = plain[: -len(name)] + "config.json"
            (Path(folder) / "config.json").write_bytes(_whole(config, CONFIG))
        while True:
            head, total = _range(address, size)
            _stand_in(path, head, total, address)
            try:
                read(path)
            except UserError:
                if size >= min(total, LARGEST):
                    raise
                size *= 4
                continue
            yield path
            return


def _stand_in(path: Path, head: bytes, total: int, address: str) -> None:
    try:
        with path.open("wb") as file:
            file.write(head)
            file.truncate(total)
    except OSError as error:
        raise UserError(f"{address[:100]}: no room for its header ({error.strerror or error})") from error


def _range(address: str, size: int) -> tuple[bytes, int]:
    """The first bytes, and how long the whole file is."""
    request = urllib.request.Request(address, headers={"Range": f"bytes=0-{size - 1}"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            if answer.status != 206:
                raise UserError(f"{address[:100]}: the server does not answer range requests")
            total = answer.headers.get("Content-Range", "").rsplit("/", 1)[-1].strip()
            head = answer.read(size)
    except (urllib.error.URLError, TimeoutError, ValueError, OSError) as error:
        raise UserError(f"{address[:100]}: cannot be read ({getattr(error, 'reason', error)})") from error
    if not (total.isascii() and total.isdigit()) or not len(head) <= int(total) <= LONGEST:
        raise UserError(f"{address[:100]}: the server does not say how long the file is")
    return head, int(total)


def _whole(address: str, most: int) -> bytes:
    """A small file."""
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
            found: bytes = answer.read(most + 1)
    except (urllib.error.URLError, TimeoutError, ValueError, OSError) as error:
        raise UserError(
            f"{address[:100]}: cannot be read ({getattr(error, 'reason', error)}); it is needed"
        ) from error
    if len(found) > most:
        raise UserError(f"{address[:100]}: larger than {most >> 20} MiB; a config.json is needed")
    return found
