"""The share of matrix products in what a workload computes, and in its time."""

from whygpu.report.book import Book
from whygpu.report.view import Value
from whygpu.story import numbers

__all__ = ["flop_share", "time_share"]


def flop_share(book: Book, workload: str) -> Value:
    """Share of a workload's FLOP that is products."""
    assert book.results.ledger is not None
    share = book.results.ledger.product_flop_share[workload]
    return Value(numbers.percent(share), book.derived("report.how.flop_share"))


def time_share(book: Book, workload: str) -> Value:
    """Share of a workload's time that is products."""
    assert book.results.ledger is not None
    share = book.results.ledger.product_time_share[workload]
    return Value(numbers.percent(share), book.measured("report.how.time_share"))
