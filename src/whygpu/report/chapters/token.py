"""One token's cost: the question, the model's answer, and what each of its tokens took."""

from whygpu.report.book import Book
from whygpu.report.chapters.guesses import bytes_of_token
from whygpu.report.chapters.words import hedged, hedged_caption
from whygpu.report.exhibits import shown
from whygpu.report.view import Cell, Chapter, Column, Headline, Table, Value
from whygpu.story import numbers
from whygpu.story.results import Thinking

__all__ = ["token"]


def token(book: Book) -> Chapter | None:
    """The view of the chapter; None where nothing was thought."""
    result = book.results.thinking
    if result is None:
        return None
    parts = {
        "invented": result.invented,
        "prompt": result.prompt,
        "text": result.text,
        "model": result.model,
        "ended": hedged(book, book.t(f"report.thinking.ended.{result.ended}"))
        if book.t.has(f"report.thinking.ended.{result.ended}")
        else "",
        "headlines": headlines(book, result),
        "table": steps(book, result),
        "parameters": Value(numbers.si(result.parameters, ""), book.derived("report.how.parameters")),
        "bytes": bytes_per_token(book, result),
    }
    return Chapter("token", parts, guess=bytes_of_token(book), exhibits=shown(book, "batch"))


def decode_rate(book: Book, result: Thinking) -> Value:
    """Tokens a second while decoding."""
    tag = book.measured("report.how.decode", n=max(result.generated_tokens - 1, 0))
    return Value(numbers.significant(result.decode_tokens_per_second), tag)


def bytes_per_token(book: Book, result: Thinking) -> Value:
    """Bytes that one decode step reads."""
    return Value(numbers.size(result.bytes_per_token), book.derived("report.how.bytes_per_token"))


def headlines(book: Book, result: Thinking) -> list[Headline]:
    """Four figures in large type."""
    t = book.t
    prefill = Value(
        numbers.significant(result.prefill_tokens_per_second),
        book.measured("report.how.prefill", n=result.prompt_tokens),
    )
    views = [
        Headline(
            decode_rate(book, result),
            t("report.thinking.decode"),
            hedged(book, t("report.thinking.decode.detail")),
            "think",
        ),
        Headline(
            prefill, t("report.thinking.prefill"), hedged(book, t("report.thinking.prefill.detail")), "think"
        ),
        Headline(
            bytes_per_token(book, result),
            t("report.thinking.bytes"),
            hedged(book, t("report.thinking.bytes.detail")),
            "think",
        ),
    ]
    if result.bandwidth_share is not None:
        share = Value(numbers.percent(result.bandwidth_share), book.derived("report.how.bandwidth_share"))
        detail = hedged(book, t("report.thinking.share.detail"))
        views.append(Headline(share, t("report.thinking.share"), detail, "think"))
    return views


def steps(book: Book, result: Thinking) -> Table:
    """Loading, prefill, decode: tokens, seconds, rate."""
    t = book.t
    columns = [
        Column(t("report.thinking.step"), numeric=False),
        Column(t("report.thinking.tokens"), book.measured("report.how.tokens")),
        Column(t("report.thinking.time"), book.measured("report.how.clock")),
        Column(t("report.thinking.per_token"), book.derived("report.how.per_token")),
    ]
    decoded = max(result.generated_tokens - 1, 0)

    def row(key: str, tokens: int | None, seconds: float) -> list[Cell]:
        each = numbers.duration(seconds / tokens) if tokens else ""
        count = numbers.count(tokens) if tokens is not None else ""
        return [Cell(t(key), mark="think"), Cell(count), Cell(numbers.duration(seconds)), Cell(each)]

    rows = [
        row("report.thinking.row.load", None, result.load_seconds),
        row("report.thinking.row.prefill", result.prompt_tokens, result.prefill_seconds),
        row("report.thinking.row.decode", decoded, result.decode_seconds),
    ]
    return Table(hedged_caption(book, t("report.thinking.table")), columns, rows)
