"""How much memory reading a file may take."""

from __future__ import annotations

from whygpu.engine import UserError

__all__ = ["FACTOR", "FLOOR", "Budget"]

FLOOR = 512 << 20
"""Bytes that any file may take when it is read ..."""

FACTOR = 64
"""... and bytes more for each byte of the file and of the files that it names."""


class Budget:
    """Counts what is about to be allocated, before it is.

    A file of n bytes may take ``FLOOR + FACTOR n`` bytes in all: enough for every honest one (a texture that
    compresses a thousandfold, a mesh placed a hundred times), too little for one that lies about its counts.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.left = FLOOR

    def read(self, size: int) -> None:
        """Note that ``size`` bytes of a file are there."""
        self.left += FACTOR * size

    def take(self, size: int, where: str) -> None:
        """Ask for ``size`` bytes; ``where`` is what in the file wants them.

        Raises
        ------
        UserError
            Where the file has asked for too much.
        """
        self.left -= size
        if self.left < 0:
            raise UserError(
                f"{self.file}: {where}: {size:,} more bytes would take over {FACTOR} times the file's size"
                f" (and {FLOOR >> 20} MiB); this file claims more than it holds"
            )
