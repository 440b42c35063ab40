"""The article's three experiments, here and there, and what agrees."""

from whygpu.report.book import Book
from whygpu.report.chapters import layer
from whygpu.report.chapters.findings import findings
from whygpu.report.chapters.guesses import loop
from whygpu.report.chapters.trials import trials
from whygpu.report.figures import grouped_times
from whygpu.report.palette import LIGHT
from whygpu.report.view import Cell, Chapter, Chart, Column, Table, Value
from whygpu.story import numbers

__all__ = ["experiments"]


def experiments(book: Book) -> Chapter:
    """The view of the chapter."""
    one, two, three = trials(book)
    charts = (loop_chart(book), layer.chart(book))
    article_share = Value(
        numbers.percent(two.one_head.product_time_share), book.measured("report.how.layer_share")
    )
    parts = {
        "findings": findings(book),
        "loop": {
            "time": Value(
                numbers.duration(one.loop.timing.median),
                book.measured("report.how.loop", n=one.loop.side, samples=one.loop.timing.count),
            ),
            "long": Value(
                numbers.duration(one.loop.seconds(one.extrapolated_side)),
                book.derived("report.how.loop_long", n=one.loop.side),
            ),
            "n": one.loop.side,
            "big": f"{one.extrapolated_side:,}",
        },
        "loop_chart": charts[0],
        "loop_table": loop_table(book),
        "layer_chart": charts[1],
        "layer_table": layer.table(book),
        "layer_share": article_share,
        "layer_flop_share": Value(
            numbers.percent(two.one_head.product_flop_share), book.derived("report.how.flop_share")
        ),
        "suspects": layer.suspects(book),
        "disturbed": two.layouts.disturbed,
        "elementwise": elementwise_table(book),
        "exact": Value(
            numbers.count(three.exact_operations_ratio), book.derived("report.how.exact", n=three.matmul.side)
        ),
        "convention": Value(numbers.count(three.operations_ratio), book.derived("report.how.convention")),
        "time_ratio": Value(book.times(three.time_ratio), book.derived("report.how.ratio_of_medians")),
    }
    return Chapter("experiments", parts, charts, loop(book))


def library_name(library: str) -> str:
    """``NumPy`` and ``PyTorch`` as they write themselves."""
    return {"numpy": "NumPy", "torch": "PyTorch"}.get(library, library)


def loop_chart(book: Book) -> Chart:
    """Times on a logarithmic axis, a row a size."""
    t, (one, _, _) = book.t, trials(book)
    sides = list(dict.fromkeys(size.side for size in one.sizes))
    rows = [f"{side:,} × {side:,}" for side in sides]
    loop = t("report.exp1.python")
    series: dict[str, list[float | None]] = {loop: [one.loop.seconds(side) for side in sides]}
    colours: dict[str, str] = {loop: LIGHT["rest"]}
    for library in dict.fromkeys(size.library for size in one.sizes):
        by_side = {size.side: size for size in one.sizes if size.library == library}
        name = t("report.exp1.here", library=library_name(library))
        series[name] = [by_side[side].timing.median if side in by_side else None for side in sides]
        colours[name] = LIGHT["think"] if library == "numpy" else LIGHT["draw"]
    theirs = {size.side: size.article_ms for size in one.sizes}
    there = t("report.exp1.there")
    series[there] = [ms / 1e3 if (ms := theirs[side]) is not None else None for side in sides]
    colours[there] = LIGHT["here"]
    texts = {
        name: [
            f"{name}, {row}: {numbers.duration(value) if value else '–'}"
            for row, value in zip(rows, values, strict=True)
        ]
        for name, values in series.items()
    }
    figure = grouped_times(rows, series, colours, texts, title=t("report.exp1.axis"), hollow=(there,))
    return Chart(
        "chart-loop",
        figure,
        t("report.exp1.chart.label"),
        t("report.exp1.chart.caption"),
        height=150 + 58 * len(rows),
        narrow_height=190 + 50 * len(rows),
        narrow={"yaxis.tickfont.size": 10, "xaxis.tickfont.size": 9, "legend.font.size": 11},
    )


def loop_table(book: Book) -> Table:
    """The same in words."""
    t, (one, _, _) = book.t, trials(book)
    here = book.measured("report.how.gemm_time")
    there = book.published("report.how.article")
    measured = book.measured("report.how.loop", n=one.loop.side, samples=one.loop.timing.count)
    extrapolated = book.derived("report.how.loop_long", n=one.loop.side)
    columns = [
        Column(t("report.exp1.size"), numeric=False),
        Column(t("report.exp1.python")),
        Column(t("report.exp1.library"), here),
        Column(t("report.exp1.rate"), book.derived("report.how.rate")),
        Column(t("report.exp1.speedup"), book.derived("report.how.ratio_of_times")),
        Column(t("report.exp1.article.time"), there),
        Column(t("report.exp1.article.speedup"), there),
    ]
    rows = [
        [
            Cell(f"{size.side:,} × {size.side:,}", note=library_name(size.library)),
            Cell(
                numbers.duration(size.loop_seconds), measured if size.side == one.loop.side else extrapolated
            ),
            Cell(numbers.duration(size.timing.median), mark="strong"),
            Cell(numbers.si(size.gflops * 1e9, "FLOP/s")),
            Cell(book.times(size.speedup), mark="strong"),
            Cell(
                f"{size.article_ms:g} ms" if size.article_ms is not None and size.library == "numpy" else "–"
            ),
            Cell(
                book.times(size.article_speedup) if size.article_speedup and size.library == "numpy" else "–"
            ),
        ]
        for size in one.sizes
    ]
    return Table(t("report.exp1.table", libraries=" · ".join(one.libraries)), columns, rows)


def elementwise_table(book: Book) -> Table:
    """Experiment 3."""
    t, (_, _, three) = book.t, trials(book)
    counted, here = book.derived("report.how.counted"), book.measured("report.how.gemm_time")
    there = book.published("report.how.article")
    columns = [
        Column(t("report.exp3.operation"), numeric=False),
        Column("FLOP", counted),
        Column(t("report.same.bytes"), counted),
        Column(t("report.same.intensity"), counted),
        Column(t("report.same.time"), here),
        Column(t("report.exp1.rate"), book.derived("report.how.rate")),
        Column(t("report.exp1.article.time"), there),
        Column(t("report.exp3.article.rate"), there),
    ]
    theirs = book.article["experiment_3"]
    rows = [
        [
            Cell(t(f"report.exp3.{operation.name}"), note=f"{operation.side:,} × {operation.side:,}"),
            Cell(numbers.count(operation.flop)),
            Cell(numbers.size(operation.bytes)),
            Cell(numbers.significant(operation.intensity)),
            Cell(numbers.duration(operation.timing.median), mark="strong"),
            Cell(numbers.si(operation.gflops * 1e9, "FLOP/s")),
            Cell(f"{theirs[f'{operation.name}_ms']:g} ms"),
            Cell(f"{theirs[f'{operation.name}_gflops']:g} GFLOP/s"),
        ]
        for operation in (three.matmul, three.elementwise)
    ]
    return Table(t("report.exp3.table"), columns, rows)
