"""Past runs, in a SQLite file in the user's data folder."""

import json
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from whygpu.engine import UserError
from whygpu.lab.limits import RUNS_SHOWN

__all__ = ["History", "default_file"]

TABLE = (
    "CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY, taken_at TEXT NOT NULL, what TEXT NOT NULL, "
    "quick INTEGER NOT NULL, seconds REAL NOT NULL, machine TEXT NOT NULL, result TEXT NOT NULL)"
)


def default_file() -> Path:
    """Where it lies unless somebody says otherwise."""
    import platformdirs

    return Path(platformdirs.user_data_dir("whygpu", appauthor=False)) / "lab.sqlite3"


SELECT = "SELECT id, taken_at, what, quick, seconds, machine, result FROM runs ORDER BY id DESC LIMIT ?"
INSERT = "INSERT INTO runs (taken_at, what, quick, seconds, machine, result) VALUES (?,?,?,?,?,?)"


class History:
    """Runs of the experiments. Where no file can be written they are kept in memory until the lab ends."""

    def __init__(self, file: Path) -> None:
        self._lock = threading.Lock()
        self.file: Path | None = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._base = self._open(str(file))
        except (OSError, sqlite3.Error):
            self.file, self._base = None, self._open(":memory:")

    @staticmethod
    def _open(place: str) -> sqlite3.Connection:
        base = sqlite3.connect(place, check_same_thread=False, timeout=5)
        try:
            base.execute(TABLE)
            base.commit()
        except sqlite3.Error:
            base.close()
            raise
        return base

    def add(self, what: str, quick: bool, seconds: float, machine: str, result: dict[str, Any]) -> int:
        """Keep a run; its number."""
        taken = datetime.now(UTC).isoformat(timespec="seconds")
        row = (taken, what, int(quick), seconds, machine, json.dumps(result, allow_nan=False))
        with self._lock, closing(self._base.cursor()) as cursor:
            cursor.execute(INSERT, row)
            self._base.commit()
            return int(cursor.lastrowid or 0)

    def listed(self) -> list[dict[str, Any]]:
        """The runs, newest first, each with its headline figures."""
        with self._lock, closing(self._base.cursor()) as cursor:
            cursor.execute(
                SELECT,
                (RUNS_SHOWN,),
            )
            rows = cursor.fetchall()
        return [
            {
                "id": number,
                "taken_at": taken,
                "what": what,
                "quick": bool(quick),
                "seconds": seconds,
                "machine": machine,
                "result": json.loads(result),
            }
            for number, taken, what, quick, seconds, machine, result in rows
        ]

    def remove(self, number: int) -> None:
        """Forget a run.

        Raises
        ------
        UserError
            Where there is none of that number.
        """
        with self._lock, closing(self._base.cursor()) as cursor:
            cursor.execute("DELETE FROM runs WHERE id = ?", (number,))
            self._base.commit()
            if not cursor.rowcount:
                raise UserError(f"run {number} is not there; it may be gone already")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._base.close()
