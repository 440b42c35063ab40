"""The last chapter: how it was measured, what each basis means, what this page does not know, sources."""

from whygpu.engine.basis import Basis
from whygpu.report.book import Book
from whygpu.report.chapters.words import hedged_caption, scope
from whygpu.report.view import Chapter
from whygpu.story import numbers

__all__ = ["sources"]

LIMITS = range(1, 7)
ELSEWHERE, BYTES, SHARES = 2, 4, 5
"""The limits that speak of other machines, of multiplying bytes, of shares in the ledger."""

SOURCES = (
    ("report.source.cuda", "https://docs.nvidia.com/cuda/cuda-c-programming-guide/"),
    ("report.source.nvidia", "https://www.nvidia.com/en-us/on-demand/session/gtcspring21-s31151/"),
    ("report.source.alexnet", "https://papers.nips.cc/paper/4824-imagenet-classification-with-deep-convolutional-neural-networks"),
    ("report.source.roofline", "https://doi.org/10.1145/1498765.1498785"),
    ("report.source.attention", "https://arxiv.org/abs/1706.03762"),
    ("report.source.karpathy", "https://www.youtube.com/watch?v=kCc8FmEb1nY"),
    ("report.source.dettmers", "https://timdettmers.com/2023/01/30/which-gpu-for-deep-learning/"),
    ("report.source.gpt2", "https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf"),
    ("report.source.gpt3", "https://arxiv.org/abs/2005.14165"),
    ("report.source.smollm2", "https://arxiv.org/abs/2502.02737"),
    ("report.source.stream", "https://www.cs.virginia.edu/stream/"),
    ("report.source.pineda", "https://doi.org/10.1145/54852.378457"),
    ("report.source.he", "https://horace.io/brrr_intro.html"),
)  # fmt: skip


def sources(book: Book) -> Chapter:
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
        "run": t(f"report.method.run.{scope(book)}", device=results.device, threads=results.threads),
        "limits": [f"report.limit.{number}" for number in LIMITS if does_apply(book, number)],
        "left_out": list(results.left_out.items()),
        "sources": [(t(key), address) for key, address in SOURCES],
    }
    return Chapter("sources", parts)


def does_apply(book: Book, number: int) -> bool:
    """Whether a limit speaks of something that this run did."""
    if number == ELSEWHERE:
        return bool(book.results.elsewhere)
    if number == SHARES:
        return scope(book) != "none"
    return number != BYTES or scope(book) in ("both", "think")


def step_title(book: Book, name: str) -> str:
    """A step of the main job in the page's language."""
    key = f"report.step.time.{name}"
    title = book.t(key) if book.t.has(key) else name
    return hedged_caption(book, title) if name == "think" else title
