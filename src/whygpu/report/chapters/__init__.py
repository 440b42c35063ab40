"""The chapters in the order of the story. Each gives its view, or None where it has nothing to tell."""

from collections.abc import Callable

from whygpu.report.book import Book
from whygpu.report.chapters.drawing import drawing
from whygpu.report.chapters.elsewhere import elsewhere
from whygpu.report.chapters.experiments import experiments
from whygpu.report.chapters.machine import machine
from whygpu.report.chapters.method import method
from whygpu.report.chapters.question import question
from whygpu.report.chapters.same import same
from whygpu.report.chapters.thinking import thinking
from whygpu.report.view import Chapter

__all__ = ["CHAPTERS"]

CHAPTERS: tuple[Callable[[Book], Chapter | None], ...] = (
    question,
    machine,
    experiments,
    drawing,
    thinking,
    same,
    elsewhere,
    method,
)
