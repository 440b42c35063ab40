"""The header of a GGUF file elsewhere, by HTTP range requests; the weights stay there."""

import contextlib
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from whygpu.engine import UserError

__all__ = ["remote_header"]

FIRST = 1 << 20
LARGEST = 64 << 20
TIMEOUT = 20.0


@contextlib.contextmanager
def remote_header(address: str) -> Iterator[Path]:
    """A local sparse stand-in of the file: its first bytes real, its length right, the rest a hole.

    Raises
    ------
    UserError
        Where the server cannot be reached or does not answer range requests.
    """
    from whygpu.models.gguf import read_gguf

    name = address.partition("?")[0].rpartition("/")[2] or "model.gguf"
    if not name.endswith(".gguf"):
        raise UserError(
            f"{address[:100]}: only GGUF files are read from elsewhere; give a config.json's path or an id"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        size = FIRST
        while True:
            head, total = _range(address, size)
            with path.open("wb") as file:
                file.write(head)
                file.truncate(total)
            try:
                read_gguf(path)
            except UserError:
                if size >= min(total, LARGEST):
                    raise
                size *= 4
                continue
            yield path
            return


def _range(address: str, size: int) -> tuple[bytes, int]:
    request = urllib.request.Request(address, headers={"Range": f"bytes=0-{size - 1}"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            if answer.status != 206:
                raise UserError(f"{address[:100]}: the server does not answer range requests")
            total = answer.headers.get("Content-Range", "").rsplit("/", 1)[-1]
            head = answer.read(size)
    except (urllib.error.URLError, TimeoutError, ValueError, OSError) as error:
        raise UserError(f"{address[:100]}: cannot be read ({getattr(error, 'reason', error)})") from error
    if not total.isdigit() or not len(head) <= int(total) <= 2**50:
        raise UserError(f"{address[:100]}: the server does not say how long the file is")
    return head, int(total)
