"""Step 5: the ledger of drawing and thinking, read side by side."""

from whygpu.engine import Ledger
from whygpu.story.results import LedgerResult, LedgerShare, Shape

__all__ = ["account"]

WORKLOADS = ("draw", "think")


def account(ledger: Ledger, *, frames: int, tokens: int, invented: bool) -> LedgerResult:
    """Sum the ledger up: by workload, stage and name, the largest shapes, and the share of products."""
    shapes = [
        Shape(
            workload=workload,
            name=product.name,
            batch=product.batch,
            m=product.m,
            n=product.n,
            k=product.k,
            dtype=product.dtype,
            count=entry.count,
            flop=product.flop,
            seconds=entry.seconds,
        )
        for workload in WORKLOADS
        for product, entry in ledger.largest(workload)
    ]
    totals = _shares(ledger, ("workload",))
    heard = {row.workload for row in totals}
    return LedgerResult(
        frames=frames,
        tokens=tokens,
        invented=invented,
        totals=totals,
        stages=_shares(ledger, ("workload", "stage")),
        rows=_shares(ledger, ("workload", "stage", "name")),
        largest=shapes,
        product_time_share={w: _product_share(totals, w, "seconds") for w in WORKLOADS if w in heard},
        product_flop_share={w: _product_share(totals, w, "flop") for w in WORKLOADS if w in heard},
    )


def _shares(ledger: Ledger, by: tuple[str, ...]) -> list[LedgerShare]:
    """The ledger's rows, each with its share of the time of its own workload."""
    rows = [row for row in ledger.rows(by) if row.workload in WORKLOADS]
    whole = {w: sum(row.seconds for row in rows if row.workload == w) or 1.0 for w in WORKLOADS}
    rows.sort(key=lambda row: (WORKLOADS.index(row.workload), not row.is_product, -row.seconds))
    return [LedgerShare.of(row, row.seconds / whole[row.workload], workload=row.workload) for row in rows]


def _product_share(totals: list[LedgerShare], workload: str, what: str) -> float:
    amounts = [(row.is_product, getattr(row, what)) for row in totals if row.workload == workload]
    whole = sum(amount for _, amount in amounts)
    return sum(amount for product, amount in amounts if product) / whole if whole else 0.0
