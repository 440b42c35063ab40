"""The last chapter: how it was measured, what each basis means, what this page does not know, sources."""

from whygpu.engine.basis import Basis
from whygpu.report.book import Book
from whygpu.report.view import Chapter
from whygpu.story import numbers

__all__ = ["method"]

SOURCES = (
    ("report.source.roofline", "https://doi.org/10.1145/1498765.1498785"),
    ("report.source.attention", "https://arxiv.org/abs/1706.03762"),
    ("report.source.gpt2", "https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf"),
    ("report.source.gpt3", "https://arxiv.org/abs/2005.14165"),
    ("report.source.smollm2", "https://arxiv.org/abs/2502.02737"),
    ("report.source.stream", "https://www.cs.virginia.edu/stream/"),
    ("report.source.pineda", "https://doi.org/10.1145/54852.378457"),
    ("report.source.he", "https://horace.io/brrr_intro.html"),
)  # fmt: skip


def method(book: Book) -> Chapter:
    """The view of the chapter."""
    t, results = book.t, book.results
    kinds = [kind.name.lower() for kind in Basis]
    legend = [(kind, t(f"report.basis.{kind}"), t(f"report.basis.{kind}.means")) for kind in kinds]
    seconds = [(step_title(book, name), numbers.duration(spent)) for name, spent in results.seconds.items()]
    parts = {
        "legend": legend,
        "seconds": seconds,
        "clock": book.measured("report.how.clock"),
        "quick": results.quick,
        "device": results.device,
        "threads": results.threads,
        "limits": [f"report.limit.{number}" for number in range(1, 7)],
        "sources": [(t(key), address) for key, address in SOURCES],
    }
    return Chapter("method", parts)


def step_title(book: Book, name: str) -> str:
    """A step of the main job in the page's language."""
    key = f"report.step.time.{name}"
    return book.t(key) if book.t.has(key) else name
