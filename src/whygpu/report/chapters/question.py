"""The opening: the question, the short answer, three figures."""

from whygpu.report.book import Book
from whygpu.report.chapters.bandwidth import ridge
from whygpu.report.chapters.shares import flop_share
from whygpu.report.chapters.trials import largest_speedup
from whygpu.report.chapters.words import hedged, invented
from whygpu.report.view import Chapter, Headline, Value
from whygpu.story import numbers
from whygpu.story.results import LedgerShare

__all__ = ["decode_products", "question"]

SETS_THE_PACE = 0.5
"""Memory is said to set the pace from this share of its bandwidth on; below, only to be the nearer roof."""


def question(book: Book) -> Chapter:
    """The view of the opening."""
    results = book.results
    heard = set(results.ledger.product_flop_share) if results.ledger is not None else set()
    parts = {
        "cpu": results.roofline.host.cpu,
        "heard": heard,
        "invented": invented(book) and "think" in heard,
        "speedup": speedup(book)[0],
        "shares": {workload: flop_share(book, workload) for workload in heard},
        "limit": limit(book),
        "headlines": [
            view for view in (speedup_headline(book), share_headline(book), limit_headline(book)) if view
        ],
    }
    return Chapter("question", parts)


def decode_products(book: Book) -> LedgerShare | None:
    """The products of decoding, summed up."""
    ledger = book.results.ledger
    if ledger is None:
        return None
    rows = [
        r for r in ledger.stages if (r.workload, r.stage) == ("think", "decode") and r.is_product and r.bytes
    ]
    return rows[0] if rows else None


def speedup(book: Book) -> tuple[Value, str]:
    """How many times faster the library multiplies than plain Python, and the side of the matrices."""
    size = largest_speedup(book)
    tag = book.derived("report.how.speedup", n=size.side)
    return Value(book.times(size.speedup), tag), f"{size.side:,}"


def speedup_headline(book: Book) -> Headline:
    """Plain Python against BLAS."""
    size = largest_speedup(book)
    detail = book.t(
        "report.question.speedup.detail",
        n=f"{size.side:,}",
        fast=numbers.duration(size.timing.median),
        slow=numbers.duration(size.loop_seconds),
    )
    return Headline(speedup(book)[0], book.t("report.question.speedup"), detail)


def share_headline(book: Book) -> Headline | None:
    """The share of FLOP that is products."""
    ledger = book.results.ledger
    if ledger is None or not ledger.product_flop_share:
        return None
    t, share = book.t, ledger.product_flop_share
    if "think" not in share:
        return Headline(
            flop_share(book, "draw"), t("report.question.share.draw"), t("report.question.share.one"), "draw"
        )
    if "draw" not in share:
        return Headline(
            flop_share(book, "think"),
            t("report.question.share.think"),
            hedged(book, t("report.question.share.one")),
            "think",
        )
    much = "most" if share["draw"] >= 0.5 else "part"
    detail = hedged(book, t(f"report.question.share.detail.{much}", draw=numbers.percent(share["draw"])))
    return Headline(flop_share(book, "think"), t("report.question.share.think"), detail, "think")


def limit(book: Book) -> dict[str, Value | str] | None:
    """Which roof a decoded token is under, and how near it came."""
    decode = decode_products(book)
    if decode is None:
        return None
    intensity = Value(numbers.significant(decode.flop_per_byte), book.derived("report.how.intensity"))
    share = bandwidth_share(book)
    if decode.flop_per_byte >= book.results.roofline.ridge("fp32") or share is None:
        return {"binds": "arithmetic", "intensity": intensity, "ridge": ridge(book)}
    thought = book.results.thinking
    near = thought is not None and (thought.bandwidth_share or 0.0) >= SETS_THE_PACE
    return {
        "binds": "memory" if near else "memory_far",
        "intensity": intensity,
        "ridge": ridge(book),
        "share": share,
    }


def bandwidth_share(book: Book) -> Value | None:
    """The share of the measured bandwidth that decoding used."""
    thought = book.results.thinking
    if thought is None or thought.bandwidth_share is None:
        return None
    return Value(numbers.percent(thought.bandwidth_share), book.derived("report.how.bandwidth_share"))


def limit_headline(book: Book) -> Headline | None:
    """What limits a token."""
    thought, found = book.results.thinking, limit(book)
    if thought is None or found is None:
        return None
    t = book.t
    if found["binds"] == "arithmetic" or thought.bandwidth_share is None:
        intensity = found["intensity"]
        assert isinstance(intensity, Value)
        return Headline(
            intensity,
            t("report.question.limit.arithmetic"),
            hedged(book, t("report.question.limit.arithmetic.detail")),
            "think",
        )
    value = Value(numbers.size(thought.bytes_per_token), book.derived("report.how.bytes_per_token"))
    detail = t(
        f"report.question.limit.{found['binds']}.detail",
        rate=numbers.significant(thought.decode_tokens_per_second),
        share=numbers.percent(thought.bandwidth_share),
    )
    return Headline(value, t("report.question.limit.memory"), hedged(book, detail), "think")
