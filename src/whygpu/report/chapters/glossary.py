"""The words of the field, in both languages."""

from whygpu.report.book import Book
from whygpu.report.view import Chapter
from whygpu.story.text import LANGUAGES, texts

__all__ = ["TERMS", "glossary"]

TERMS = (
    "matmul", "flop", "bandwidth", "vram", "intensity", "roofline", "ridge", "vertex", "raster", "shade",
    "frame", "cuda", "simt", "simd", "tensor_core", "token", "embedding", "attention", "mlp", "weight",
    "quant", "prefill", "decode", "kv", "batch", "mbu", "blas", "launch",
)  # fmt: skip


def glossary(book: Book) -> Chapter:
    """A term in both languages, explained in both; the page's language first."""
    order = [book.t.language, *(each for each in LANGUAGES if each != book.t.language)]
    entries = [
        [
            (each, texts(each)(f"report.glossary.{term}"), texts(each)(f"report.glossary.{term}.means"))
            for each in order
        ]
        for term in TERMS
    ]
    return Chapter("glossary", {"entries": entries})
