"""The chapters in the order of the story. Each gives its view, or None where it has nothing to tell."""

from collections.abc import Callable

from whygpu.report.book import Book
from whygpu.report.chapters.bandwidth import bandwidth
from whygpu.report.chapters.chain import chain
from whygpu.report.chapters.drawing import drawing
from whygpu.report.chapters.experiments import experiments
from whygpu.report.chapters.glossary import glossary
from whygpu.report.chapters.judged import judged
from whygpu.report.chapters.needs import needs
from whygpu.report.chapters.question import question
from whygpu.report.chapters.same import same
from whygpu.report.chapters.sources import sources
from whygpu.report.chapters.story import cuda, ecosystem, history, model, processors
from whygpu.report.chapters.token import token
from whygpu.report.view import Chapter

__all__ = ["CHAPTERS"]

CHAPTERS: tuple[Callable[[Book], Chapter | None], ...] = (
    question,
    drawing,
    processors,
    cuda,
    model,
    token,
    same,
    history,
    experiments,
    ecosystem,
    bandwidth,
    needs,
    judged,
    chain,
    sources,
    glossary,
)
