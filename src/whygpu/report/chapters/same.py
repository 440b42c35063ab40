"""Game and LLM row by row: one ledger of drawing and thinking: what is a product, and what is not."""

from whygpu.report.book import Book
from whygpu.report.chapters.drawing import main_scene, step_name
from whygpu.report.chapters.guesses import drawing_share
from whygpu.report.chapters.shares import flop_share, time_share
from whygpu.report.chapters.words import in_order, scope, workload_name
from whygpu.report.exhibits import shown
from whygpu.report.figures import shares
from whygpu.report.palette import LIGHT
from whygpu.report.view import Cell, Chapter, Chart, Column, Table
from whygpu.story import numbers
from whygpu.story.results import LedgerResult, LedgerShare, Shape

__all__ = ["WORKLOADS", "same", "stage_products"]

WORKLOADS = ("draw", "think")
NEARLY_ALL = 0.9
"""The sentence holds where products are at least this share of the FLOP."""


def same(book: Book) -> Chapter | None:
    """The view of the chapter; None where nothing was counted."""
    ledger = book.results.ledger
    if ledger is None or not ledger.totals:
        return None
    heard = [workload for workload in WORKLOADS if workload in ledger.product_flop_share]
    chart = share_chart(book, ledger, heard)
    parts = {
        "heard": heard,
        "names": {workload: workload_name(book, workload) for workload in heard},
        "intro": book.t(f"report.same.intro.{scope(book)}"),
        "largest": book.t(f"report.same.largest.text.{scope(book)}"),
        "chart": chart,
        "shares": {
            workload: {"flop": flop_share(book, workload), "time": time_share(book, workload)}
            for workload in heard
        },
        "verdict": book.t(f"report.same.verdict.{verdict(ledger)}") if len(heard) == 2 else "",
        "stages": stage_table(book, ledger),
        "others": other_table(book, ledger),
        "shapes": [(workload, shape_table(book, ledger, workload)) for workload in heard],
        "beside": beside(book, ledger) if len(heard) == 2 else None,
    }
    return Chapter("same", parts, (chart,), drawing_share(book), shown(book, "same"))


def verdict(ledger: LedgerResult) -> str:
    """Whether the sentence about multiplying holds for both, for thinking alone, or for neither."""
    share = ledger.product_flop_share
    if share["think"] < NEARLY_ALL:
        return "neither"
    return "holds" if share["draw"] >= NEARLY_ALL else "think"


def stage_products(ledger: LedgerResult) -> list[LedgerShare]:
    """The products of each stage that took time: the points of the roofline."""
    return [
        row
        for row in ordered(ledger.stages)
        if row.is_product and row.seconds > 0 and row.flop > 0 and row.bytes > 0
    ]


def ordered(rows: list[LedgerShare]) -> list[LedgerShare]:
    """By workload, then as the pipeline runs, products before the rest."""
    place = {stage: number for number, stage in enumerate(in_order(row.stage for row in rows))}
    return sorted(rows, key=lambda row: (WORKLOADS.index(row.workload), place[row.stage], not row.is_product))


def share_chart(book: Book, ledger: LedgerResult, heard: list[str]) -> Chart:
    """Products against the rest, in FLOP and in time, for each workload."""
    t = book.t
    rows, product, colours = [], [], []
    for workload in heard:
        for what, share in (("flop", ledger.product_flop_share), ("time", ledger.product_time_share)):
            rows.append(t(f"report.same.bar.{what}", workload=workload_name(book, workload)))
            product.append(share[workload])
            colours.append(LIGHT[workload])
    names = (t("report.same.products"), t("report.same.rest"))
    rest = [1 - share for share in product]
    figure = shares(
        rows,
        {names[0]: product, names[1]: rest},
        {names[0]: (colours, LIGHT["paper"]), names[1]: (LIGHT["line"], LIGHT["ink"])},
        {
            names[0]: [f"{names[0]}: {numbers.percent(share)}" for share in product],
            names[1]: [f"{names[1]}: {numbers.percent(share)}" for share in rest],
        },
        legend=False,  # the colour of products differs by row; the caption says it
    )
    return Chart(
        "chart-shares",
        figure,
        t(f"report.same.chart.label.{scope(book)}"),
        t("report.same.chart.caption"),
        height=110 + 50 * len(rows),
        narrow={"yaxis.tickfont.size": 11, "legend.font.size": 11},
    )


def ledger_columns(book: Book, first: str) -> list[Column]:
    """The columns that all tables of the ledger share."""
    t = book.t
    counted = book.derived("report.how.counted")
    return [
        Column(first, numeric=False),
        Column(t("report.same.count"), book.measured(f"report.how.ledger.{scope(book)}")),
        Column("FLOP", counted),
        Column(t("report.same.bytes"), counted),
        Column(t("report.same.intensity"), book.derived("report.how.intensity")),
        Column(t("report.same.time"), book.measured("report.how.ledger_time")),
        Column(t("report.same.share"), book.derived("report.how.share")),
    ]


def ledger_cells(book: Book, row: LedgerShare) -> list[Cell]:
    """The same columns of one row; products without bytes say why."""
    reason = book.derived("report.how.registers") if row.is_product and not row.bytes else None
    return [
        Cell(numbers.count(row.products) if row.is_product else "–"),
        Cell(numbers.si(row.flop, "") if row.flop else "–"),
        Cell(numbers.size(row.bytes) if row.bytes else "–", reason),
        Cell(numbers.significant(row.flop_per_byte) if row.bytes else "–", reason),
        Cell(numbers.duration(row.seconds)),
        Cell(numbers.percent(row.share), share=min(row.share, 1.0)),
    ]


def stage_table(book: Book, ledger: LedgerResult) -> Table:
    """By workload and stage."""
    t = book.t
    rows = []
    for row in ordered(ledger.stages):
        kind = t("report.same.products") if row.is_product else t("report.same.rest")
        mark = row.workload if row.is_product else "rest"
        name = step_name(book, row.stage)
        workload = workload_name(book, row.workload)
        note = t("report.same.row.note", workload=workload, kind=kind)
        rows.append([Cell(name, note=note, mark=mark), *ledger_cells(book, row)])
    caption = t(f"report.same.table.{scope(book)}", frames=ledger.frames, tokens=ledger.tokens)
    return Table(caption, ledger_columns(book, t("report.same.stage")), rows)


def other_table(book: Book, ledger: LedgerResult) -> Table | None:
    """What is no product and takes the most time, four of each workload."""
    t = book.t
    rows = []
    for workload in WORKLOADS:
        others = [row for row in ledger.rows if row.workload == workload and not row.is_product]
        for row in sorted(others, key=lambda row: -row.seconds)[:4]:
            note = t(
                "report.same.other.note",
                workload=workload_name(book, workload),
                stage=step_name(book, row.stage),
            )
            name = Cell(step_name(book, row.name), note=note, mark=workload)
            rows.append([name, *ledger_cells(book, row)[1:]])
    columns = ledger_columns(book, t("report.same.step"))
    return Table(t("report.same.others"), [columns[0], *columns[2:]], rows) if rows else None


def shape_table(book: Book, ledger: LedgerResult, workload: str) -> Table:
    """The five largest shapes of a workload."""
    t = book.t
    derived = book.derived("report.how.counted")
    columns = [
        Column(t("report.same.product"), numeric=False),
        Column(t("report.same.shape"), book.measured(f"report.how.ledger.{scope(book)}")),
        Column(t("report.same.times"), book.measured(f"report.how.ledger.{scope(book)}")),
        Column(t("report.same.flop_each"), derived),
        Column(t("report.same.rate"), book.derived("report.how.product_rate")),
    ]
    rows = [
        [
            Cell(step_name(book, shape.name), note=shape.dtype, mark=workload),
            Cell(shape_text(shape)),
            Cell(numbers.count(shape.count)),
            Cell(numbers.si(shape.flop, "")),
            Cell(rate_text(shape)),
        ]
        for shape in ledger.largest
        if shape.workload == workload
    ]
    return Table(t("report.same.shapes", workload=workload_name(book, workload)), columns, rows)


def shape_text(shape: Shape) -> str:
    """``12 × (512×64 · 64×512)``."""
    product = f"{shape.m:,}×{shape.k:,} · {shape.k:,}×{shape.n:,}"
    return f"{shape.batch:,} × ({product})" if shape.batch > 1 else product


def rate_text(shape: Shape) -> str:
    """FLOP/s over all products of that shape, where their time is known."""
    return numbers.si(shape.flop * shape.count / shape.seconds, "FLOP/s") if shape.seconds > 0 else "–"


def beside(book: Book, ledger: LedgerResult) -> Table | None:
    """Drawing and thinking row by row: what goes in, the formula, the rate, the result."""
    results = book.results
    thought = results.thinking
    if not results.drawings or thought is None:
        return None
    drawn = main_scene(results.drawings)
    counted, each = book.derived("report.how.counted"), book.derived("report.how.per_item")
    formula = "Cᵢⱼ = Σₖ Aᵢₖ Bₖⱼ"
    share = {w: numbers.percent(ledger.product_flop_share[w]) for w in WORKLOADS}
    rates = {"draw": drawn.frames_per_second, "think": thought.decode_tokens_per_second}
    items = {"draw": drawn.vertices, "think": thought.prompt_tokens}
    flop = flop_per_item(ledger)
    found = book.exhibits.get("same")
    if found is not None:  # one frame of the main scene, one token: the figures that the exhibit shows
        figures = {
            w: found.figures[key] for w, key in zip(WORKLOADS, ("frame_flop", "token_flop"), strict=True)
        }
        flop = {w: str(figure) for w, figure in figures.items()}
        each = book.tag(figures["draw"].basis, "; ".join(f.source for f in figures.values()), foreign=True)
    tags = {
        "items": (book.derived("report.how.scene"), book.measured("report.how.tokens")),
        "share": (counted, counted),
        "flop": (each, each),
        "rate": (book.measured("report.how.frame_median"), book.measured("report.how.clock")),
    }

    def row(name: str, texts: dict[str, str]) -> list[Cell]:
        both = tags.get(name, (None, None))
        cells = [Cell(texts[w], tag) for w, tag in zip(WORKLOADS, both, strict=True)]
        return [Cell(book.t(f"report.same.beside.{name}")), *cells]

    def words(name: str, **values: dict[str, str]) -> dict[str, str]:
        return {
            w: book.t(f"report.same.beside.{name}.{w}", **{key: value[w] for key, value in values.items()})
            for w in WORKLOADS
        }

    rows = [
        row("items", words("items", n={w: numbers.count(items[w]) for w in WORKLOADS})),
        row("product", words("product")),
        row("formula", dict.fromkeys(WORKLOADS, formula)),
        row("share", share),
        row("flop", flop),
        row("rate", words("rate", n={w: numbers.significant(rates[w]) for w in WORKLOADS})),
        row("result", words("result")),
    ]
    columns = [Column("", numeric=False)]
    columns += [Column(workload_name(book, workload), numeric=False) for workload in WORKLOADS]
    return Table(book.t("report.same.beside.table"), columns, rows)


def flop_per_item(ledger: LedgerResult) -> dict[str, str]:
    """FLOP of all products over frames or tokens."""
    items = {"draw": ledger.frames, "think": ledger.tokens}
    total = {row.workload: row.flop for row in ledger.totals if row.is_product}
    return {w: numbers.si(total[w] / items[w], "FLOP") if w in total and items[w] else "–" for w in WORKLOADS}
