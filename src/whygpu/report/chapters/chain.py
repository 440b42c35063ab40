"""The chain from the picture to the language model: each link with the figure that bears it."""

from dataclasses import dataclass

from markupsafe import Markup

from whygpu.engine.basis import Basis
from whygpu.report.book import Book
from whygpu.report.chapters.drawing import main_scene
from whygpu.report.chapters.guesses import guess, whole_percent
from whygpu.report.chapters.shares import flop_share
from whygpu.report.view import Chapter, Guess, Value
from whygpu.story import numbers

__all__ = ["chain"]


@dataclass(frozen=True, slots=True)
class Link:
    """One step of the argument."""

    name: str
    text: str
    figure: Markup | None
    """None where this run did not measure it."""


def chain(book: Book) -> Chapter:
    """The view of the chapter."""
    found = {
        "vertices": vertices(book),
        "products": products(book),
        "parallel": parallel(book),
        "llm": thinking(book),
        "gpu": gpu(book),
    }
    links = [
        Link(
            name, book.t(f"report.chain.{name}"), book.say(f"report.chain.{name}.figure", **f) if f else None
        )
        for name, f in found.items()
    ]
    return Chapter("chain", {"links": links}, guess=whole(book))


def whole(book: Book) -> Guess | None:
    """The share of products in all arithmetic of the run."""
    ledger = book.results.ledger
    if ledger is None or not ledger.totals:
        return None
    flop = sum(row.flop for row in ledger.totals)
    share = sum(row.flop for row in ledger.totals if row.is_product) / flop if flop else 0.0
    value = Value(numbers.percent(share), book.derived("report.how.flop_share"))
    return guess(book, "chain", share, value, (0.1, 0.3, 0.6, 0.97), whole_percent)


def vertices(book: Book) -> dict[str, object] | None:
    """How many vertices a frame moves, and how many a second."""
    if not book.results.drawings:
        return None
    drawn = main_scene(book.results.drawings)
    return {
        "n": Value(numbers.count(drawn.vertices), book.derived("report.how.scene")),
        "rate": Value(numbers.si(drawn.vertices_per_second, ""), book.derived("report.how.vertex_rate")),
    }


def products(book: Book) -> dict[str, object] | None:
    """What share of the vertex stage's arithmetic is products, and of the whole frame's."""
    ledger = book.results.ledger
    if ledger is None or "draw" not in ledger.product_flop_share:
        return None
    rows = [row for row in ledger.stages if (row.workload, row.stage) == ("draw", "vertex")]
    flop = sum(row.flop for row in rows)
    share = sum(row.flop for row in rows if row.is_product) / flop if flop else None
    stage = "–" if share is None else Value(numbers.percent(share), book.derived("report.how.flop_share"))
    return {"share": stage, "frame": flop_share(book, "draw")}


def parallel(book: Book) -> dict[str, object] | None:
    """How many times a processor's arithmetic a graphics card has."""
    value = book.figure("chips", "fp32")
    if value is None:
        return None
    cpu, gpu = book.exhibits["chips"].data["names"]
    return {"ratio": value, "cores": book.figure("chips", "cores"), "cpu": cpu, "gpu": gpu}


def thinking(book: Book) -> dict[str, object] | None:
    """The share of products in thinking."""
    ledger = book.results.ledger
    if ledger is None or "think" not in ledger.product_flop_share:
        return None
    return {"share": flop_share(book, "think")}


def gpu(book: Book) -> dict[str, object] | None:
    """A token's time to expect here and on a graphics card."""
    bounds = [bound for bound in book.results.elsewhere if bound.machine.kind == "gpu"]
    if not bounds:
        return None
    there = bounds[0]
    here = next((b for b in book.results.elsewhere if b.model == there.model), None)
    if here is None or here is there:
        return None
    tag = book.tag(Basis.FITTED, book.t("report.how.expected"))
    return {
        "model": there.model,
        "machine": there.machine.name,
        "ratio": Value(book.times(here.likely / there.likely), tag),
        "here": Value(numbers.duration(here.likely), tag),
        "there": Value(numbers.duration(there.likely), tag),
    }
