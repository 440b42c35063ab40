"""Words that several chapters share: who worked, whether weights were random, in which order stages come."""

from collections.abc import Iterable

from whygpu.report.book import Book

__all__ = ["hedged", "hedged_caption", "in_order", "invented", "scope", "workload_name"]

PIPELINE = ("vertex", "raster", "shade", "prefill", "decode")
"""The order in which the stages of a frame and of an answer run."""


def invented(book: Book) -> bool:
    """Whether the model that thought had random weights."""
    thought, ledger = book.results.thinking, book.results.ledger
    return (thought is not None and thought.invented) or (ledger is not None and ledger.invented)


def workload_name(book: Book, workload: str) -> str:
    """``draw`` or ``think`` in the page's language, with a warning where the weights are random."""
    name = book.t(f"report.workload.{workload}")
    return hedged_caption(book, name) if workload == "think" else name


def hedged(book: Book, sentence: str) -> str:
    """The sentence on a result of thinking, followed by a warning where the weights are random."""
    return book.t("report.invented.sentence", sentence=sentence) if invented(book) else sentence


def hedged_caption(book: Book, caption: str) -> str:
    """The same for words that are no sentence."""
    return book.t("report.invented.caption", caption=caption) if invented(book) else caption


def scope(book: Book) -> str:
    """What the ledger heard: ``both``, ``draw``, ``think`` or ``none``."""
    ledger = book.results.ledger
    heard = set(ledger.product_flop_share) if ledger is not None else set()
    return "both" if {"draw", "think"} <= heard else next(iter(heard & {"draw", "think"}), "none")


def in_order(stages: Iterable[str]) -> list[str]:
    """Every stage once, as the pipeline runs; stages that it does not know come last, as they were given."""
    known = {stage: place for place, stage in enumerate(PIPELINE)}
    return sorted(dict.fromkeys(stages), key=lambda stage: known.get(stage, len(known)))
