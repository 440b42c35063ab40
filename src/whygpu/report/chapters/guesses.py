"""Questions to guess at before the answer: choices are round numbers, the nearest to the truth is right."""

import math
from collections.abc import Callable, Sequence

from whygpu.report.book import Book
from whygpu.report.chapters.shares import flop_share
from whygpu.report.chapters.trials import largest_speedup
from whygpu.report.view import Guess, Value
from whygpu.story import numbers

__all__ = [
    "bytes_of_token",
    "drawing_share",
    "guess",
    "loop",
    "of_exhibit",
    "plain",
    "times",
    "whole_percent",
]

Write = Callable[[float], str]


def guess(
    book: Book,
    name: str,
    truth: float,
    value: Value | None,
    choices: Sequence[float],
    write: Write,
    **more: object,
) -> Guess | None:
    """The question ``report.guess.<name>`` with its answer; None where ``value`` is not known.

    ``choices`` are compared with ``truth`` by their ratio; zero is not among them.
    """
    if value is None:
        return None
    right = min(choices, key=lambda choice: abs(math.log(choice / truth)) if truth > 0 else choice)
    return Guess(
        name,
        book.say(f"report.guess.{name}", **more),
        [(write(choice), choice == right) for choice in choices],
        book.say(f"report.guess.{name}.answer", value=value, **more),
    )


def of_exhibit(
    book: Book, name: str, exhibit: str, key: str, choices: Sequence[float], write: Write, **more: object
) -> Guess | None:
    """The same about a figure of an exhibit."""
    value = book.figure(exhibit, key)
    if value is None:
        return None
    return guess(book, name, book.exhibits[exhibit].figures[key].value, value, choices, write, **more)


def drawing_share(book: Book) -> Guess | None:
    """How much of drawing's arithmetic is matrix multiplication."""
    ledger = book.results.ledger
    if ledger is None or "draw" not in ledger.product_flop_share:
        return None
    choices = (0.05, 0.2, 0.5, 0.95)
    share = ledger.product_flop_share["draw"]
    return guess(book, "same", share, flop_share(book, "draw"), choices, whole_percent)


def loop(book: Book) -> Guess | None:
    """How many times faster than plain Python the library is."""
    size = largest_speedup(book)
    value = Value(book.times(size.speedup), book.derived("report.how.speedup", n=size.side))
    choices = (10, 100, 10_000, 1_000_000)
    return guess(book, "experiments", size.speedup, value, choices, times, n=f"{size.side:,}")


def times(value: float) -> str:
    """``20×``: a round number, as choices are."""
    return f"{value:,.0f}×"


def octets(value: float) -> str:
    """``100 MB``."""
    scale, unit = next(
        (pair for pair in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if value >= pair[0]), (1, "B")
    )
    return f"{value / scale:,g} {unit}"


def plain(value: float) -> str:
    """``0.5``, ``5``."""
    return f"{value:,g}"


def whole_percent(value: float) -> str:
    """``20 %``."""
    return f"{value * 100:.0f} %"


def bytes_of_token(book: Book) -> Guess | None:
    """How much must be read for one token."""
    thought = book.results.thinking
    if thought is None:
        return None
    value = Value(numbers.size(thought.bytes_per_token), book.derived("report.how.bytes_per_token"))
    return guess(book, "token", thought.bytes_per_token, value, (1e3, 1e6, 1e8, 1e10), octets)
