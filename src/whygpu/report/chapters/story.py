"""The chapters that an exhibit tells: processors, CUDA, the model, history, the ecosystem."""

from whygpu.report.book import Book
from whygpu.report.chapters.bandwidth import host_facts, launch_table
from whygpu.report.chapters.guesses import guess, of_exhibit, times, whole_percent
from whygpu.report.exhibits import shown
from whygpu.report.view import Chapter, Guess, Value
from whygpu.story import numbers

__all__ = ["cuda", "ecosystem", "history", "model", "processors"]

DAY = 86_400.0


def processors(book: Book) -> Chapter:
    """A processor beside a graphics card, and the machine of this page."""
    names = book.exhibits["chips"].data["names"] if "chips" in book.exhibits else ("", "")
    question = of_exhibit(
        book, "processors", "chips", "fp32", (2, 20, 200, 2000), times, cpu=names[0], gpu=names[1]
    )
    parts = {"cpu": book.results.roofline.host.cpu, "host": host_facts(book, book.results.roofline)}
    return Chapter("processors", parts, guess=question, exhibits=shown(book, "chips"))


def cuda(book: Book) -> Chapter:
    """Many threads, one program; what it costs to start one."""
    question = of_exhibit(book, "cuda", "parallel", "ratio", (2, 20, 200, 2000, 20_000), times)
    question = question or launch(book)
    parts = {"launches": launch_table(book, book.results.roofline)}
    return Chapter("cuda", parts, guess=question, exhibits=shown(book, "parallel"))


def launch(book: Book) -> Guess | None:
    """What a product that is too small costs, where the race was left out."""
    found = next((each for each in book.results.roofline.launches if each.name == "matmul"), None)
    if found is None:
        return None
    seconds = found.timing.median
    value = Value(numbers.duration(seconds), book.measured("report.how.median"))
    return guess(book, "launch", seconds, value, (1e-8, 1e-6, 1e-4, 1e-2), round_time)


def round_time(seconds: float) -> str:
    """``1 µs``: a round number, as choices are."""
    scale, unit = next(pair for pair in ((1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")) if seconds >= pair[0])
    return f"{seconds / scale:.0f} {unit}"


def model(book: Book) -> Chapter | None:
    """Embedding, attention, a block, its MLP."""
    exhibits = shown(book, "embedding", "attention", "block", "mlp")
    if not exhibits:
        return None
    question = of_exhibit(book, "model", "block", "rest", (0.02, 0.1, 0.4, 0.8), whole_percent)
    invented = book.results.thinking is not None and book.results.thinking.invented
    return Chapter("model", {"invented": invented}, guess=question, exhibits=exhibits)


def history(book: Book) -> Chapter | None:
    """From CUDA to Blackwell."""
    exhibits = shown(book, "timeline")
    if not exhibits:
        return None
    choices = (DAY, 30 * DAY, 3 * 365 * DAY, 100 * 365 * DAY)
    chip = book.exhibits["timeline"].data["chips"][-1]["name"]
    question = of_exhibit(book, "history", "timeline", "gpt3", choices, lambda s: age(book, s), chip=chip)
    return Chapter("history", {}, guess=question, exhibits=exhibits)


def age(book: Book, seconds: float) -> str:
    """A time in days or years."""
    days = round(seconds / DAY)
    if days < 365:
        return book.t("report.guess.days", n=days) if days > 1 else book.t("report.guess.day")
    return book.t("report.guess.years", n=round(days / 365))


def ecosystem(book: Book) -> Chapter | None:
    """What lies under every product, and who else makes it."""
    exhibits = shown(book, "stack")
    if not exhibits:
        return None
    question = of_exhibit(
        book, "ecosystem", "stack", "found", (1, 5, 15, 28), numbers.count,
        looked=book.figure("stack", "looked"), complete=book.figure("stack", "complete"),
    )  # fmt: skip
    return Chapter("ecosystem", {}, guess=question, exhibits=exhibits)
