"""What the ledger is told of a fused kernel."""

from __future__ import annotations

from whygpu import engine

__all__ = ["account"]


def account(
    products: list[tuple[str, str, int, int, int, int, int]],
    others: list[tuple[str, int, int]],
    seconds: float,
) -> None:
    """Tell the ledger what a fused kernel contains; its time is divided in proportion to FLOP.

    ``products`` are (name, dtype, batch, m, n, k, bytes a row of the result), ``others`` (name, FLOP, bytes).
    Edge functions live in registers from the triangle's set-up to the depth test: they move no bytes.
    """
    flop = [2 * batch * m * n * k for _, _, batch, m, n, k, _ in products] + [work for _, work, _ in others]
    second = seconds / max(1, sum(flop))
    for (name, dtype, batch, m, n, k, row), work in zip(products, flop, strict=False):
        engine.report(
            name, batch=batch, m=m, n=n, k=k, dtype=dtype, size=row * batch * m, seconds=work * second
        )
    for name, work, size in others:
        engine.report_other(name, flop=work, size=size, seconds=work * second)
