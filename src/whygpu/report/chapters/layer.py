"""Experiment 2: the layer's eight products beside the article's, and everything that is no product."""

from whygpu.engine.basis import Basis
from whygpu.measure.experiment_2 import Layer, Step
from whygpu.report.book import Book
from whygpu.report.chapters.trials import trials
from whygpu.report.figures import grouped_times
from whygpu.report.palette import LIGHT
from whygpu.report.view import Cell, Chart, Column, Table
from whygpu.story import numbers

__all__ = ["chart", "suspects", "table"]


def name_of(book: Book, step: Step) -> str:
    """A step's name in the page's language."""
    key = f"report.layer.{step.name}"
    return book.t(key) if book.t.has(key) else step.name


def rows_of(one: Layer, many: Layer) -> list[tuple[Step | None, Step | None]]:
    """The steps of both layers side by side, in order."""
    names = list(
        dict.fromkeys(step.name for step in (*one.products, *many.products, *one.others, *many.others))
    )
    left, right = ({step.name: step for step in layer.steps} for layer in (one, many))
    return [(left.get(name), right.get(name)) for name in names]


def chart(book: Book) -> Chart:
    """Times of all steps: one head, twelve heads, the article."""
    t, (_, two, _) = book.t, trials(book)
    pairs = rows_of(two.one_head, two.many_heads)
    rows = [name_of(book, step) for left, right in pairs if (step := left or right) is not None]
    names = (
        t("report.exp2.one"),
        t("report.exp2.heads", n=two.many_heads.heads),
        t("report.exp2.there"),
    )
    series: dict[str, list[float | None]] = {
        names[0]: [left.seconds if left else None for left, _ in pairs],
        names[1]: [right.seconds if right else None for _, right in pairs],
        names[2]: [left.article_ms / 1e3 if left and left.article_ms else None for left, _ in pairs],
    }
    colours = {names[0]: LIGHT["think"], names[1]: LIGHT["draw"], names[2]: LIGHT["here"]}
    texts = {
        name: [
            f"{name}, {row}: {numbers.duration(v) if v else '–'}" for row, v in zip(rows, values, strict=True)
        ]
        for name, values in series.items()
    }
    figure = grouped_times(rows, series, colours, texts, title=t("report.exp1.axis"), hollow=(names[2],))
    return Chart(
        "chart-layer",
        figure,
        t("report.exp2.chart.label"),
        t("report.exp2.chart.caption"),
        height=130 + 34 * len(rows),
        narrow_height=170 + 32 * len(rows),
        narrow={"yaxis.tickfont.size": 11, "xaxis.tickfont.size": 10, "legend.font.size": 11},
    )


def shape_text(step: Step) -> str:
    """``512×768 · 768×768``, or the array's shape where nothing is multiplied."""
    if not step.is_product:
        return " × ".join(f"{side:,}" for side in step.shape)
    batch, m, n, k = step.shape
    product = f"{m:,}×{k:,} · {k:,}×{n:,}"
    return f"{batch:,} × ({product})" if batch > 1 else product


def table(book: Book) -> Table:
    """The same in words, with shapes and rates."""
    t, (_, two, _) = book.t, trials(book)
    here, there = book.measured("report.how.gemm_time"), book.published("report.how.article")
    columns = [
        Column(t("report.exp2.step"), numeric=False),
        Column(t("report.exp2.shape"), book.derived("report.how.layer_shape"), numeric=False),
        Column(t("report.exp2.one"), here),
        Column(t("report.exp1.rate"), book.derived("report.how.rate")),
        Column(t("report.exp2.share"), book.derived("report.how.layer_step_share")),
        Column(t("report.exp2.there"), there),
        Column(t("report.exp2.heads", n=two.many_heads.heads), here),
    ]
    rows = []
    for left, right in rows_of(two.one_head, two.many_heads):
        step = left or right
        if step is not None:
            rows.append(row(book, step, left, right, two.one_head))
    rows.append(sum_row(book))
    caption = t("report.exp2.table", width=two.d_model, length=two.sequence, ff=f"{two.d_ff:,}")
    return Table(caption, columns, rows)


def row(book: Book, step: Step, left: Step | None, right: Step | None, layer: Layer) -> list[Cell]:
    """One step."""
    share = left.seconds / layer.seconds if left else None
    return [
        Cell(name_of(book, step), mark="think" if step.is_product else "rest"),
        Cell(shape_text(step)),
        Cell(numbers.duration(left.seconds) if left else "–", mark="strong"),
        Cell(numbers.si(left.gflops * 1e9, "FLOP/s") if left and left.flop else "–"),
        Cell(numbers.percent(share) if share is not None else "–", share=share),
        Cell(f"{left.article_ms:g} ms" if left and left.article_ms else "–"),
        Cell(numbers.duration(right.seconds) if right else "–"),
    ]


def sum_row(book: Book) -> list[Cell]:
    """All products of the layer: what the article calls a layer."""
    _, two, _ = trials(book)
    one, many = two.one_head, two.many_heads
    flop = sum(step.flop for step in one.products)
    return [
        Cell(book.t("report.exp2.sum"), mark="think"),
        Cell(""),
        Cell(numbers.duration(one.product_seconds), mark="strong"),
        Cell(numbers.si(flop / one.product_seconds, "FLOP/s")),
        Cell(numbers.percent(one.product_time_share), share=one.product_time_share),
        Cell(f"{book.article['experiment_2']['layer_ms']:g} ms"),
        Cell(numbers.duration(many.product_seconds)),
    ]


def suspects(book: Book) -> Table | None:
    """What could make the scores slower than attention x V, and by how much each did here."""
    t, (_, two, _) = book.t, trials(book)
    if not two.layouts.suspects:
        return None
    theirs = book.article["experiment_2"]["ms"]
    columns = [
        Column(t("report.suspect"), numeric=False),
        Column(t("report.suspect.ratio"), book.measured("report.how.suspect")),
        Column(
            t("report.suspect.article"),
            book.published("report.how.article_gap", scores=theirs["scores"], values=theirs["attention x V"]),
        ),
        Column(t("report.suspect.verdict"), book.derived("report.how.verdict"), numeric=False),
    ]
    scaled = book.derived("report.how.suspect_scaled")
    rows = [
        [
            Cell(t(key) if t.has(key := f"report.suspect.{suspect.code}") else suspect.text),
            Cell(
                book.times(suspect.ratio), scaled if suspect.basis is Basis.DERIVED else None, mark="strong"
            ),
            Cell(book.times(suspect.gap)),
            Cell(t(f"report.suspect.{suspect.verdict}")),
        ]
        for suspect in two.layouts.suspects
    ]
    return Table(t("report.suspect.table"), columns, rows)
