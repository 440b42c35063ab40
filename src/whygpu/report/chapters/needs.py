"""What this machine would need, and what the same token would take on other machines."""

from whygpu.engine.basis import Basis
from whygpu.measure.machine import Figure
from whygpu.predict import Bound, labels
from whygpu.report.book import Book
from whygpu.report.chapters.guesses import guess, times
from whygpu.report.figures import grouped_times
from whygpu.report.foreign import plain
from whygpu.report.palette import LIGHT
from whygpu.report.units import binary
from whygpu.report.view import Cell, Chapter, Chart, Column, Guess, Table, Tag, Value
from whygpu.story import numbers

__all__ = ["needs"]

PACE = 10
"""Tokens a second: faster than most people read."""
COLOURS = ("think", "draw", "here", "rest")


def needs(book: Book) -> Chapter | None:
    """The view of the chapter; None where nothing was worked out."""
    bounds = book.results.elsewhere
    if not bounds:
        return None
    picture = chart(book, bounds)
    alike = all(bound.binds == "bandwidth" for bound in bounds)
    parts = {
        "needs": need_table(book, bounds),
        "pace": Value(str(PACE), book.tag(Basis.ASSUMED, book.t("report.how.pace"))),
        "chart": picture,
        "times": time_table(book, bounds),
        "why": book.t("report.elsewhere.why.bandwidth" if alike else "report.elsewhere.why.mixed"),
        "machines": machine_table(book, bounds),
    }
    return Chapter("needs", parts, (picture,), question(book, bounds))


def ours(book: Book, bounds: list[Bound]) -> list[Bound]:
    """This machine's bounds, a model each."""
    return [bound for bound in bounds if is_here(book, bound)]


def times_bandwidth(bound: Bound) -> float:
    """How many times its bandwidth the pace would take."""
    return bound.bytes.value * PACE / bound.machine.bandwidth.value


def question(book: Book, bounds: list[Bound]) -> Guess | None:
    """How many times this machine's bandwidth the largest model would need."""
    here = ours(book, bounds)
    if not here:
        return None
    largest = max(here, key=lambda bound: bound.bytes.value)
    value = Value(book.times(times_bandwidth(largest)), book.derived("report.how.need", pace=PACE))
    choices = (2, 10, 100, 1000)
    return guess(
        book, "needs", times_bandwidth(largest), value, choices, times, model=largest.model, pace=PACE
    )


def need_table(book: Book, bounds: list[Bound]) -> Table | None:
    """Memory and bandwidth for a reading pace, against what is here, and who has both."""
    here = ours(book, bounds)
    if not here:
        return None
    t, known = book.t, book.measured("report.how.host")
    columns = [
        Column(t("report.needs.model"), numeric=False),
        Column(t("report.needs.memory"), book.derived("report.how.need_memory")),
        Column(t("report.needs.memory.here"), known),
        Column(t("report.needs.bandwidth"), book.derived("report.how.need", pace=PACE)),
        Column(t("report.needs.times"), book.derived("report.how.need_times")),
        Column(t("report.needs.enough"), book.derived("report.how.need_enough"), numeric=False),
    ]
    rows = []
    for bound in here:
        memory = bound.machine.memory
        rows.append(
            [
                Cell(model_title(book, bound.model), mark="think"),
                Cell(binary(bound.needed.value)),
                Cell("–" if memory is None else binary(memory.value), note=fit(book, bound)),
                Cell(numbers.si(bound.bytes.value * PACE, "B/s")),
                Cell(book.times(times_bandwidth(bound)), mark="strong"),
                Cell(enough(book, bounds, bound.model)),
            ]
        )
    return Table(t("report.needs.table", pace=PACE), columns, rows)


def fit(book: Book, bound: Bound) -> str:
    """Whether the memory holds the model."""
    key = {True: "fits", False: "too_large", None: "unknown"}[bound.fits]
    return book.t(f"report.needs.fits.{key}")


def enough(book: Book, bounds: list[Bound], model: str) -> str:
    """The slowest machine of the comparison that holds the model and keeps the pace."""
    able = [b for b in bounds if b.model == model and b.fits and b.likely * PACE <= 1]
    if not able:
        return book.t("report.needs.nobody")
    slowest = max(able, key=lambda bound: bound.likely)
    return book.t("report.elsewhere.here") if is_here(book, slowest) else slowest.machine.name


def by_machine(bounds: list[Bound]) -> dict[str, dict[str, Bound]]:
    """Bounds by machine and model, in the order given."""
    table: dict[str, dict[str, Bound]] = {}
    for bound in bounds:
        table.setdefault(bound.machine.name, {})[bound.model] = bound
    return table


def models_of(bounds: list[Bound]) -> list[str]:
    """Every model, in the order given."""
    return list(dict.fromkeys(bound.model for bound in bounds))


def model_title(book: Book, model: str) -> str:
    """The model and how its weights are stored."""
    stored = labels().get(model)
    return book.t("report.elsewhere.model", model=model, stored=stored) if stored else model


def is_here(book: Book, bound: Bound) -> bool:
    """Whether this is the machine that the report is about."""
    return (
        bound.machine.bandwidth.basis is Basis.MEASURED
        and bound.machine.name == book.results.roofline.host.cpu
    )


def machine_note(book: Book, bound: Bound) -> str:
    """``this machine`` or what the machine's figures are."""
    return book.t("report.elsewhere.here") if is_here(book, bound) else bound.machine.vendor


def chart(book: Book, bounds: list[Bound]) -> Chart:
    """Time a token to expect with its band, a row a machine; outlines where the weights do not fit."""
    t, table = book.t, by_machine(bounds)
    models = models_of(bounds)
    rows = [
        t("report.elsewhere.here") if is_here(book, next(iter(row.values()))) else plain(name)
        for name, row in table.items()
    ]
    series, texts, outlines, colours, bands = {}, {}, {}, {}, {}
    for place, model in enumerate(models):
        name = plain(model_title(book, model))
        cells = [row.get(model) for row in table.values()]
        series[name] = [cell.likely if cell else None for cell in cells]
        bands[name] = [(c.expected.low, c.expected.high) if c and c.expected else None for c in cells]
        outlines[name] = [cell is not None and cell.fits is False for cell in cells]
        texts[name] = [
            t(
                "report.elsewhere.point",
                machine=row,
                model=name,
                time=numbers.duration(cell.likely),
                rate=numbers.significant(1 / cell.likely),
                band=spread(cell),
            )
            if cell
            else "–"
            for row, cell in zip(rows, cells, strict=True)
        ]
        colours[name] = LIGHT[COLOURS[place % len(COLOURS)]]
    title = t("report.elsewhere.axis")
    figure = grouped_times(rows, series, colours, texts, title=title, outlines=outlines, bands=bands)
    return Chart(
        "chart-elsewhere",
        figure,
        t("report.elsewhere.chart.label"),
        t("report.elsewhere.chart.caption"),
        height=140 + 40 * len(rows),
        narrow_height=200 + 38 * len(rows),
        narrow={"yaxis.tickfont.size": 10, "xaxis.tickfont.size": 9, "legend.font.size": 11},
    )


def time_table(book: Book, bounds: list[Bound]) -> Table:
    """The same in words: time and band, the floor, which roof sets it, whether it fits."""
    t = book.t
    models = models_of(bounds)
    tag = book.tag(Basis.FITTED, t("report.how.expected"))
    columns = [Column(t("report.elsewhere.machine"), numeric=False)]
    columns += [Column(model_title(book, model), tag) for model in models]
    rows = []
    for name, row in by_machine(bounds).items():
        first = next(iter(row.values()))
        cells = [time_cell(book, row.get(model)) for model in models]
        rows.append([Cell(name, note=machine_note(book, first)), *cells])
    return Table(t("report.elsewhere.table"), columns, rows)


def time_cell(book: Book, bound: Bound | None) -> Cell:
    """One machine and model."""
    if bound is None:
        return Cell("–")
    t = book.t
    fits = {True: "fits", False: "too_large", None: "unknown"}[bound.fits]
    note = t(
        f"report.elsewhere.note.{fits}",
        bound=t(f"report.elsewhere.{bound.binds}"),
        floor=numbers.duration(bound.seconds),
        band=spread(bound),
    )
    return Cell(numbers.duration(bound.likely), note=note, mark="bad" if bound.fits is False else "strong")


def spread(bound: Bound) -> str:
    """p10 to p90, or a dash."""
    e = bound.expected
    return "–" if e is None else f"{numbers.duration(e.low)} – {numbers.duration(e.high)}"


def machine_table(book: Book, bounds: list[Bound]) -> Table:
    """The figures that went in, each with its basis."""
    t = book.t
    columns = [
        Column(t("report.elsewhere.machine"), numeric=False),
        Column(t("report.elsewhere.peak")),
        Column(t("report.elsewhere.bandwidth")),
        Column(t("report.elsewhere.memory")),
        Column(t("report.same.intensity"), book.derived("report.how.ridge_of")),
    ]
    rows = []
    for name, row in by_machine(bounds).items():
        bound = next(iter(row.values()))
        machine, here = bound.machine, is_here(book, bound)
        rate = book.measured("report.how.fastest") if here else None
        known = book.measured("report.how.host") if here else None
        memory = machine.memory
        rows.append(
            [
                Cell(name, note=machine_note(book, bound)),
                Cell(numbers.si(bound.peak.value, "FLOP/s"), rate or source(book, bound.peak), bound.dtype),
                Cell(numbers.si(machine.bandwidth.value, "B/s"), rate or source(book, machine.bandwidth)),
                Cell("–") if memory is None else Cell(binary(memory.value), known or source(book, memory)),
                Cell(numbers.significant(bound.ridge)),
            ]
        )
    return Table(t("report.elsewhere.figures"), columns, rows)


def source(book: Book, figure: Figure) -> Tag:
    """A figure's own basis and source, as the catalogue gives them."""
    return book.tag(figure.basis, figure.source)
