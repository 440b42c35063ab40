"""Everything that was multiplied since the lab began: drawing and thinking in one ledger."""

import threading
from time import monotonic
from typing import Any

from whygpu.engine import Ledger

__all__ = ["Live"]

Key = tuple[str, str, str, bool]
MOST = 400
"""Kinds of work that are kept apart; there are about forty."""


class Live:
    """Sums by workload, stage and name; any thread may add to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[Key, list[float]] = {}  # count, FLOP, bytes, seconds
        self.since = monotonic()

    def hear(self, ledger: Ledger) -> None:
        """Add what a ledger heard in one turn."""
        rows = ledger.rows()
        with self._lock:
            for row in rows:
                key = (row.workload, row.stage, row.name, row.is_product)
                if key not in self._sums and len(self._sums) >= MOST:
                    continue
                total = self._sums.setdefault(key, [0, 0, 0, 0.0])
                for place, value in enumerate((row.products, row.flop, row.bytes, row.seconds)):
                    total[place] += value

    def forget(self) -> None:
        """Begin anew."""
        with self._lock:
            self._sums.clear()
            self.since = monotonic()

    def snapshot(self) -> dict[str, Any]:
        """The sums as rows for JSON, largest time first: FLOP, bytes, seconds; measured here."""
        with self._lock:
            sums = {key: list(total) for key, total in self._sums.items()}
        rows: list[dict[str, Any]] = [
            {
                "workload": workload,
                "stage": stage,
                "name": name,
                "is_product": product,
                "products": int(count),
                "flop": int(flop),
                "bytes": int(size),
                "seconds": seconds,
            }
            for (workload, stage, name, product), (count, flop, size, seconds) in sums.items()
        ]
        rows.sort(key=lambda row: -row["seconds"])
        return {"rows": rows, "seconds": monotonic() - self.since, "basis": "measured"}
