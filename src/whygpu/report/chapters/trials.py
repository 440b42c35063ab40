"""The three experiments in the results, and what other chapters take from them."""

from whygpu.measure.experiment_1 import Experiment1, Size
from whygpu.measure.experiment_2 import Experiment2
from whygpu.measure.experiment_3 import Experiment3
from whygpu.report.book import Book

__all__ = ["largest_speedup", "products", "trials"]

ITEM = 4
"""Bytes of a float32."""


def trials(book: Book) -> tuple[Experiment1, Experiment2, Experiment3]:
    """Experiments 1, 2 and 3."""
    results = book.results
    return results.experiment_1, results.experiment_2, results.experiment_3


def largest_speedup(book: Book) -> Size:
    """NumPy at the largest side that was run."""
    sizes = [size for size in trials(book)[0].sizes if size.library == "numpy"]
    return max(sizes, key=lambda size: size.side)


def products(book: Book) -> list[tuple[str, str, float, float]]:
    """Points of the roofline: (name, detail, FLOP/byte by shape, FLOP/s)."""
    one, _, three = trials(book)
    best = largest_speedup(book)
    loop, t = one.loop, book.t
    each = three.elementwise
    return [
        (t("report.point.loop"), square(loop.side), intensity(loop.side), loop.flop / loop.timing.median),
        (t("report.point.elementwise"), square(each.side), each.intensity, each.gflops * 1e9),
        (t("report.point.blas"), square(best.side), intensity(best.side), best.gflops * 1e9),
    ]


def square(side: int) -> str:
    """``64 × 64``."""
    return f"{side:,} × {side:,}"


def intensity(side: int) -> float:
    """2 n^3 FLOP over three float32 matrices, each moved once."""
    return 2 * side**3 / (3 * ITEM * side**2)
