"""How fast ranks talk: all-reduce, all-gather, point-to-point by size; alpha and bandwidth fitted.

The model is Hockney's (1994): a transfer of n bytes takes alpha + n / bandwidth seconds. n is what a rank
sends: all of the array from point to point, 2 (p - 1) / p of it in a ring all-reduce, (p - 1) parts in an
all-gather (Thakur et al. 2005).
"""

import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from whygpu.engine.basis import Basis
from whygpu.engine.cache import cache_dir
from whygpu.engine.errors import UserError
from whygpu.engine.files import write_whole
from whygpu.engine.progress import Progress, silent
from whygpu.engine.ranks import here
from whygpu.measure.host import this_host
from whygpu.measure.machine import Figure

__all__ = ["KINDS", "Link", "Links", "Transfer", "fit", "kept_links", "measure_links"]

KINDS = ("all-reduce", "all-gather", "point-to-point")
SIZES = tuple(4 * 8**power for power in range(8))
"""Bytes of each rank's array: 4 B to 8 MiB."""
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Transfer:
    """One kind of transfer at one size: median and minimum seconds, the slowest rank's."""

    kind: str
    size: int
    """Bytes of the array on each rank."""
    sent: int
    """Bytes that a rank sends."""
    seconds: float
    fastest: float
    repeats: int

    @property
    def bandwidth(self) -> float:
        """Bytes a second that a rank sends, at the median."""
        return self.sent / self.seconds


@dataclass(frozen=True, slots=True)
class Link:
    """What a transfer costs: ``alpha`` seconds and the bytes sent over ``bandwidth`` (alpha-beta model)."""

    kind: str
    alpha: Figure
    """Seconds before the first byte arrives."""
    bandwidth: Figure
    """Bytes a second, one way."""
    error: float
    """Median relative error of the fit over the sizes it was made on."""

    def seconds(self, sent: float) -> float:
        """Of a transfer in which a rank sends ``sent`` bytes."""
        return self.alpha.value + sent / self.bandwidth.value

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "kind": self.kind,
            "alpha": self.alpha.as_dict(),
            "bandwidth": self.bandwidth.as_dict(),
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Links:
    """What was measured between the ranks of one job."""

    ranks: int
    transport: str
    """``gloo`` or ``nccl``."""
    device: str
    taken_at: str
    transfers: tuple[Transfer, ...]
    links: tuple[Link, ...]

    def link(self, kind: str = "all-reduce") -> Link:
        """The fitted link of one kind of transfer.

        Raises
        ------
        UserError
            For a kind that was not measured.
        """
        found = next((link for link in self.links if link.kind == kind), None)
        if found is None:
            raise UserError(
                f"link: {kind!r:.40} was not measured; measured: {', '.join(x.kind for x in self.links)}"
            )
        return found

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "ranks": self.ranks,
            "transport": self.transport,
            "device": self.device,
            "taken_at": self.taken_at,
            "transfers": [
                {**asdict(transfer), "gbs": transfer.bandwidth / 1e9, "basis": str(Basis.MEASURED)}
                for transfer in self.transfers
            ],
            "links": [link.as_dict() for link in self.links],
        }


def measure_links(*, quick: bool = False, progress: Progress = silent) -> Links:
    """Measure how the ranks of this job talk; every rank must call it. Kept for ``predict --link here``.

    Raises
    ------
    UserError
        Where there is one rank alone, or a rank is lost.
    """
    group: Any = here()
    if group.size == 1:
        raise UserError(
            "links need two ranks or more; start with torchrun --nproc-per-node 2 -m whygpu roofline"
        )
    transfers = []
    for number, kind in enumerate(KINDS):
        progress("measure.links", number / len(KINDS), kind=kind)
        for size in SIZES:
            samples = group.timed(kind, size, repeats=10 if quick else 30)
            slowest = sorted(max(each) for each in zip(*group.everyones(samples), strict=True))
            sent = _sent(kind, size, group.size)
            transfers.append(Transfer(kind, size, sent, median(slowest), slowest[0], len(slowest)))
    result = Links(
        ranks=group.size,
        transport=group.transport,
        device=group.backend.name,
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        transfers=tuple(transfers),
        links=tuple(fit(kind, [t for t in transfers if t.kind == kind], group.size) for kind in KINDS),
    )
    if group.rank == 0:
        with contextlib.suppress(UserError):  # a cache that cannot be written is no reason to fail
            save(links_file(), result)
    return result


def _sent(kind: str, size: int, ranks: int) -> int:
    return {"all-reduce": 2 * (ranks - 1) * size // ranks, "all-gather": (ranks - 1) * size}.get(kind, size)


def fit(kind: str, transfers: Sequence[Transfer], ranks: int) -> Link:
    """The alpha and bandwidth with the least squares of relative errors: small sizes count like large ones.

    Fitted on the fastest repeats: what the link does, not what another process did to a core meanwhile.
    """
    # minimise the sum of ((alpha + beta x - y) / y)^2: two linear equations
    rows = [(1 / t.fastest, t.sent / t.fastest) for t in transfers]
    aa, ab, bb = (sum(x[i] * x[j] for x in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a1, b1 = sum(x[0] for x in rows), sum(x[1] for x in rows)
    determinant = aa * bb - ab * ab
    alpha, beta = (a1 * bb - b1 * ab) / determinant, (aa * b1 - ab * a1) / determinant
    largest = max(transfers, key=lambda t: t.sent)
    alpha = alpha if alpha > 0 else min(t.fastest for t in transfers)
    beta = beta if beta > 0 else largest.fastest / largest.sent
    error = median(abs(alpha + beta * t.sent - t.fastest) / t.fastest for t in transfers)
    sizes = f"{len(transfers)} sizes from {transfers[0].size} to {largest.size} B"
    on = f"{kind} between {ranks} ranks, fastest repeats of {sizes}"
    return Link(kind, Figure(alpha, Basis.FITTED, on), Figure(1 / beta, Basis.FITTED, on), error)


def links_file() -> Path:
    """Where the links of this machine are kept."""
    return cache_dir() / "links" / f"{this_host().identity}.json"


def save(path: Path, result: Links) -> None:
    """Keep them. Raises ``UserError`` where the folder cannot be written."""
    with write_whole(path) as temporary:
        temporary.write_text(json.dumps({"format": FORMAT, "links": result.as_dict()}), encoding="utf-8")


def kept_links(path: Path | None = None) -> Links | None:
    """What an earlier job measured on this machine; None: nothing, or the file is damaged."""
    try:
        values = json.loads((path or links_file()).read_text(encoding="utf-8"))
        if values["format"] != FORMAT:
            return None
        return _from_dict(values["links"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError):
        return None


def _from_dict(values: dict[str, Any]) -> Links:
    def figure(of: dict[str, Any]) -> Figure:
        return Figure(float(of["value"]), Basis(of["basis"]), str(of["source"]))

    fields = ("kind", "size", "sent", "seconds", "fastest", "repeats")
    return Links(
        ranks=int(values["ranks"]),
        transport=str(values["transport"]),
        device=str(values["device"]),
        taken_at=str(values["taken_at"]),
        transfers=tuple(Transfer(**{field: t[field] for field in fields}) for t in values["transfers"]),
        links=tuple(
            Link(str(x["kind"]), figure(x["alpha"]), figure(x["bandwidth"]), float(x["error"]))
            for x in values["links"]
        ),
    )
