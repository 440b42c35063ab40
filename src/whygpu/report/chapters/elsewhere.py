"""Chapter 7: what the same token would need at least on other machines."""

from whygpu.engine.basis import Basis
from whygpu.measure.machine import Figure
from whygpu.predict import Bound, labels
from whygpu.report.book import Book
from whygpu.report.figures import grouped_times
from whygpu.report.foreign import plain
from whygpu.report.palette import LIGHT
from whygpu.report.units import binary
from whygpu.report.view import Cell, Chapter, Chart, Column, Table, Tag
from whygpu.story import numbers

__all__ = ["elsewhere"]

COLOURS = ("think", "draw", "here", "rest")


def elsewhere(book: Book) -> Chapter | None:
    """The view of the chapter; None where nothing was worked out."""
    bounds = book.results.elsewhere
    if not bounds:
        return None
    picture = chart(book, bounds)
    alike = all(bound.binds == "bandwidth" for bound in bounds)
    parts = {
        "chart": picture,
        "times": time_table(book, bounds),
        "why": book.t("report.elsewhere.why.bandwidth" if alike else "report.elsewhere.why.mixed"),
        "machines": machine_table(book, bounds),
    }
    return Chapter("elsewhere", parts, (picture,))


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
    """Least time a token, a row a machine; outlines where the weights do not fit."""
    t, table = book.t, by_machine(bounds)
    models = models_of(bounds)
    rows = [
        t("report.elsewhere.here") if is_here(book, next(iter(row.values()))) else plain(name)
        for name, row in table.items()
    ]
    series, texts, outlines, colours = {}, {}, {}, {}
    for place, model in enumerate(models):
        name = plain(model_title(book, model))
        cells = [row.get(model) for row in table.values()]
        series[name] = [cell.seconds if cell else None for cell in cells]
        outlines[name] = [cell is not None and cell.fits is False for cell in cells]
        texts[name] = [
            t(
                "report.elsewhere.point",
                machine=row,
                model=name,
                time=numbers.duration(cell.seconds),
                rate=numbers.significant(1 / cell.seconds),
            )
            if cell
            else "–"
            for row, cell in zip(rows, cells, strict=True)
        ]
        colours[name] = LIGHT[COLOURS[place % len(COLOURS)]]
    figure = grouped_times(rows, series, colours, texts, title=t("report.elsewhere.axis"), outlines=outlines)
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
    """The same in words: time and rate, which roof binds, whether it fits."""
    t = book.t
    models = models_of(bounds)
    tag = book.derived("report.how.bound")
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
    note = t(f"report.elsewhere.note.{fits}", bound=t(f"report.elsewhere.{bound.binds}"))
    return Cell(numbers.duration(bound.seconds), note=note, mark="bad" if bound.fits is False else "strong")


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
