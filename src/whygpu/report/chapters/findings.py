"""What agrees with the article and what does not, each with the figures of both sides."""

from dataclasses import dataclass

from markupsafe import Markup

from whygpu.report.book import Book
from whygpu.report.chapters.trials import largest_speedup, trials
from whygpu.report.view import Value
from whygpu.story import numbers

__all__ = ["Finding", "findings"]

AGREES = 2.0
"""Two figures agree within this factor: other processors, other libraries, the same order of size."""
NEARLY_ALL = 0.9
"""Products are nearly all of a layer from this share of its time on."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence and its verdict."""

    agrees: bool
    text: Markup


def findings(book: Book) -> list[Finding]:
    """One finding a claim, in the order of the experiments."""
    return [speedup(book), nearly_all(book), scores(book), operations(book), times(book)]


def near(here: float, there: float) -> bool:
    """Within the factor ``AGREES`` of each other."""
    return max(here, there) <= AGREES * min(here, there)


def finding(book: Book, name: str, agrees: bool, **values: object) -> Finding:
    """The sentence ``report.finding.<name>.agrees`` or ``.differs``."""
    verdict = "agrees" if agrees else "differs"
    return Finding(agrees, book.say(f"report.finding.{name}.{verdict}", **values))


def article_value(book: Book, text: str) -> Value:
    """A figure that the article prints."""
    return Value(text, book.published("report.how.article"))


def speedup(book: Book) -> Finding:
    """Experiment 1: how many times faster BLAS is than plain Python."""
    size = largest_speedup(book)
    here = Value(book.times(size.speedup), book.derived("report.how.speedup", n=size.side))
    there = size.article_speedup or 0.0
    return finding(
        book,
        "speedup",
        near(size.speedup, there),
        n=f"{size.side:,}",
        here=here,
        there=article_value(book, book.times(there)),
    )


def nearly_all(book: Book) -> Finding:
    """Experiment 2: whether products are nearly all of a layer."""
    layer = trials(book)[1].one_head
    here = Value(numbers.percent(layer.product_time_share), book.measured("report.how.layer_share"))
    return finding(book, "layer", layer.product_time_share >= NEARLY_ALL, here=here)


def scores(book: Book) -> Finding:
    """Experiment 2: whether the scores take so much longer than attention x V."""
    two = trials(book)[1]
    steps = {step.name: step.seconds for step in two.one_head.steps}
    ratio = steps["scores"] / steps["attention x V"]
    here = Value(book.times(ratio), book.derived("report.how.ratio_of_medians"))
    there = article_value(book, book.times(two.article_gap))
    return finding(book, "scores", near(ratio, two.article_gap), here=here, there=there)


def operations(book: Book) -> Finding:
    """Experiment 3: the ratio of operations; arithmetic, not measurement."""
    three, theirs = trials(book)[2], book.article["experiment_3"]
    exact = three.exact_operations_ratio
    here = Value(numbers.count(exact), book.derived("report.how.exact", n=three.matmul.side))
    there = article_value(book, numbers.count(theirs["operations_ratio"]))
    return finding(book, "operations", round(exact) == theirs["operations_ratio"], here=here, there=there)


def times(book: Book) -> Finding:
    """Experiment 3: the ratio of times."""
    three, theirs = trials(book)[2], book.article["experiment_3"]
    here = Value(book.times(three.time_ratio), book.derived("report.how.ratio_of_medians"))
    there = article_value(book, book.times(theirs["time_ratio"]))
    return finding(book, "times", near(three.time_ratio, theirs["time_ratio"]), here=here, there=there)
