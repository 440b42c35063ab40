"""Bandwidth: what this machine can do, and where the work of this run stands on its roofline."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from whygpu.engine.basis import Basis
from whygpu.measure import Flag, Rate, Roofline, Timing
from whygpu.report.book import Book
from whygpu.report.chapters.drawing import step_name
from whygpu.report.chapters.guesses import guess
from whygpu.report.chapters.guesses import plain as plain_number
from whygpu.report.chapters.same import stage_products
from whygpu.report.chapters.trials import products
from whygpu.report.chapters.words import hedged_caption, scope, workload_name
from whygpu.report.exhibits import shown
from whygpu.report.figures import Point, Roof, roofline
from whygpu.report.foreign import plain
from whygpu.report.units import binary
from whygpu.report.view import Cell, Chapter, Chart, Column, Headline, Table, Tag, Value
from whygpu.story import numbers

__all__ = ["bandwidth", "host_facts", "launch_table", "ridge"]

STREAMS = ("read", "copy", "triad")
ANOTHER_TIME = timedelta(minutes=10)
"""A roofline and a run that lie further apart than this were not measured together."""
DISTURBED = ("busy", "stolen")
"""Flags that say that the roofs may be too low."""


@dataclass(frozen=True, slots=True)
class Work:
    """One numbered point of the roofline, before it is drawn."""

    name: str
    detail: str
    group: str
    intensity: float
    flops: float


def bandwidth(book: Book) -> Chapter:
    """The view of the chapter."""
    measured = book.results.roofline
    work = all_work(book)
    chart = roofline_chart(book, measured, work)
    parts = {
        "cpu": measured.host.cpu,
        "headlines": headlines(book, measured),
        "chart": chart,
        "points": point_table(book, measured, work),
        "rates": rate_table(book, measured),
        "notes": roof_notes(book, measured),
        "flags": [flag_text(book, flag) for flag in measured.flags if flag.code not in DISTURBED],
        "ridge": ridge(book),
    }
    meet = measured.ridge("fp32")
    question = guess(book, "bandwidth", meet, ridge(book), (0.5, 5, 50, 500), plain_number)
    return Chapter("bandwidth", parts, (chart,), question, shown(book, "roofline"))


def flag_text(book: Book, flag: Flag) -> str:
    """What the probe warns of, in the page's language where it has the sentence."""
    key = f"flag.{flag.code}"
    return book.t(key, **flag.values) if book.t.has(key) else flag.text


def roof_notes(book: Book, measured: Roofline) -> list[str]:
    """What a reader of the chart must know of its roofs: when they were measured, and what disturbed that."""
    notes = []
    if taken_at_another_time(measured.taken_at, book.results.created):
        when = measured.taken_at[:16].replace("T", " ")
        notes.append(book.t("report.machine.roofs.kept", when=when))
    notes += [
        book.t("report.machine.roofs.disturbed", flag=flag_text(book, flag))
        for flag in measured.flags
        if flag.code in DISTURBED
    ]
    return notes


def taken_at_another_time(taken: str, created: str) -> bool:
    """Whether two ISO 8601 times lie more than ten minutes apart; False where one is no time."""
    try:
        return abs(datetime.fromisoformat(created) - datetime.fromisoformat(taken)) > ANOTHER_TIME
    except (TypeError, ValueError):
        return False


def peak_of(measured: Roofline, dtype: str) -> Rate:
    """The fastest product in that number format."""
    return max(measured.all("gemm", dtype), key=lambda rate: rate.best_flops)


def ridge(book: Book) -> Value:
    """FLOP a byte at which the float32 roof meets the bandwidth."""
    return Value(numbers.significant(book.results.roofline.ridge("fp32")), book.derived("report.how.ridge"))


def headlines(book: Book, measured: Roofline) -> list[Headline]:
    """Arithmetic, memory, and where they meet."""
    t = book.t
    views = []
    for dtype in ("fp32", "fp64"):
        if measured.all("gemm", dtype):
            rate = measured.best("gemm", dtype)
            tag = book.measured(
                "report.how.gemm", n=rate.shape[0], threads=rate.threads, samples=rate.timing.count
            )
            value = Value(numbers.si(rate.flops, "FLOP/s"), tag)
            views.append(Headline(value, t(f"report.machine.{dtype}"), t(f"report.machine.{dtype}.detail")))
    read = measured.best("read")
    tag = book.measured(
        "report.how.read", size=numbers.size(read.bytes), threads=read.threads, samples=read.timing.count
    )
    views.append(
        Headline(
            Value(numbers.si(read.bandwidth, "B/s"), tag),
            t("report.machine.read"),
            t("report.machine.read.detail"),
        )
    )
    views.append(Headline(ridge(book), t("report.machine.ridge"), t("report.machine.ridge.detail")))
    return views


def all_work(book: Book) -> list[Work]:
    """Everything that has FLOP, bytes and seconds: experiments, stages of drawing, prefill and decode."""
    work = [Work(name, detail, "here", intensity, flops) for name, detail, intensity, flops in products(book)]
    ledger = book.results.ledger
    for row in stage_products(ledger) if ledger is not None else []:
        detail = workload_name(book, row.workload)
        work.append(
            Work(step_name(book, row.stage), detail, row.workload, row.flop_per_byte, row.flop / row.seconds)
        )
    return work


def bound(measured: Roofline, intensity: float) -> float:
    """FLOP/s that the roofline allows."""
    here = measured.as_machine()
    return min(here.peak("fp32").value, intensity * here.bandwidth.value)


def roof(book: Book, measured: Roofline, dtype: str) -> Roof:
    """The arithmetic roof of a number format."""
    flops = peak_of(measured, dtype).best_flops
    return Roof(book.t("report.machine.roof", dtype=dtype, rate=numbers.si(flops, "FLOP/s")), flops)


def point(book: Book, place: int, item: Work) -> Point:
    """A numbered point."""
    text = book.t(
        "report.machine.point",
        name=plain(item.name),
        rate=numbers.si(item.flops, "FLOP/s"),
        intensity=numbers.significant(item.intensity),
    )
    return Point(str(place), item.name, item.group, item.intensity, item.flops, text)


def roofline_chart(book: Book, measured: Roofline, work: list[Work]) -> Chart:
    """The chart itself."""
    t = book.t
    roofs = [roof(book, measured, dtype) for dtype in ("fp32", "fp64") if measured.all("gemm", dtype)]
    points = [point(book, place, item) for place, item in enumerate(work, 1)]
    figure = roofline(
        roofs,
        measured.read_bandwidth,
        t("report.machine.slope", rate=numbers.si(measured.read_bandwidth, "B/s")),
        points,
        {
            "here": t("report.group.here"),
            "draw": t("report.group.draw"),
            "think": hedged_caption(book, t("report.group.think")),
        },
        (t("report.machine.axis.intensity"), t("report.machine.axis.rate")),
    )
    bytes_too = scope(book) in ("both", "think")
    return Chart(
        "chart-roofline",
        figure,
        t("report.machine.chart.label"),
        t("report.machine.chart.caption.bytes" if bytes_too else "report.machine.chart.caption.plain"),
        height=520,
        narrow_height=460,
        narrow={
            # one name has room: that of the highest roof, above whatever stands on it
            **{f"annotations.{place}.visible": False for place in range(1, len(roofs) + 1)},
            "annotations.0.font.size": 10,
            "annotations.0.x": figure["layout"]["xaxis"]["range"][1],
            "annotations.0.xanchor": "right",
            "annotations.0.yshift": 24,
            "margin.l": 8,
            "margin.r": 8,
            "yaxis.title.text": "",
            "yaxis.tickfont.size": 10,
            "xaxis.tickfont.size": 10,
            "legend.font.size": 11,
        },
    )


def point_table(book: Book, measured: Roofline, work: list[Work]) -> Table:
    """The same in words, with what the roofline would allow."""
    t = book.t
    columns = [
        Column(t("report.machine.work"), numeric=False),
        Column(t("report.same.intensity"), book.derived("report.how.intensity")),
        Column(t("report.machine.reached"), book.measured("report.how.reached")),
        Column(t("report.machine.allowed"), book.derived("report.how.allowed")),
        Column(t("report.machine.of_roof"), book.derived("report.how.of_roof")),
        Column(t("report.machine.binds"), book.derived("report.how.binds"), numeric=False),
    ]
    meet = measured.ridge("fp32")
    rows = []
    for place, item in enumerate(work, 1):
        limit = bound(measured, item.intensity)
        rows.append(
            [
                Cell(f"{place}  {item.name}", note=item.detail, mark=item.group),
                Cell(numbers.significant(item.intensity)),
                Cell(numbers.si(item.flops, "FLOP/s"), mark="strong"),
                Cell(numbers.si(limit, "FLOP/s")),
                Cell(numbers.percent(item.flops / limit), share=min(item.flops / limit, 1.0)),
                Cell(t("report.bound.memory" if item.intensity < meet else "report.bound.arithmetic")),
            ]
        )
    return Table(t("report.machine.points"), columns, rows)


def _timed_columns(book: Book) -> list[Column]:
    """What was timed, on how many threads, and how it spread."""
    t = book.t
    return [
        Column(t("report.machine.what"), numeric=False),
        Column(t("report.machine.threads"), book.measured("report.how.sweep")),
        Column(t("report.machine.median"), book.measured("report.how.median")),
        Column(t("report.machine.fastest"), book.measured("report.how.fastest")),
        Column(t("report.machine.spread"), book.derived("report.how.spread")),
    ]


def rate_table(book: Book, measured: Roofline) -> Table:
    """Every kind of rate at its best thread count."""
    rows = []
    for name, dtype in dict.fromkeys((rate.name, rate.dtype) for rate in measured.rates):
        rate = measured.best(name, dtype)
        arithmetic = name == "gemm"
        median = numbers.si(rate.flops, "FLOP/s") if arithmetic else numbers.si(rate.bandwidth, "B/s")
        fastest = (
            numbers.si(rate.best_flops, "FLOP/s") if arithmetic else numbers.si(rate.best_bandwidth, "B/s")
        )
        rows.append(
            [
                Cell(rate_name(book, name), note=dtype),
                Cell(str(rate.threads)),
                Cell(median, mark="strong"),
                Cell(fastest),
                Cell(numbers.percent(rate.timing.spread)),
            ]
        )
    return Table(book.t("report.machine.rates"), _timed_columns(book), rows)


def launch_table(book: Book, measured: Roofline) -> Table:
    """What it costs to start a small piece of work."""
    rows = [launch_row(book, launch.name, launch.threads, launch.timing) for launch in measured.launches]
    return Table(book.t("report.machine.launches"), _timed_columns(book), rows)


def launch_row(book: Book, name: str, threads: int, timing: Timing) -> list[Cell]:
    """The cost of starting one small piece of work."""
    key = f"report.launch.{name}"
    return [
        Cell(book.t(key) if book.t.has(key) else name),
        Cell(str(threads)),
        Cell(numbers.duration(timing.median), mark="strong"),
        Cell(numbers.duration(timing.minimum)),
        Cell(numbers.percent(timing.spread)),
    ]


def rate_name(book: Book, name: str) -> str:
    """``gemm``, ``read`` ... in the page's language."""
    return book.t(f"report.rate.{name}") if book.t.has(f"report.rate.{name}") else name


def host_facts(book: Book, measured: Roofline) -> list[tuple[str, str, Tag]]:
    """What is known of the machine: (name, text)."""
    t, host = book.t, measured.host
    tag = book.tag(Basis.MEASURED, t("report.how.host"))
    unknown = t("report.unknown")
    caches = " · ".join(
        t("report.machine.cache", level=c.level, size=binary(c.size), instances=c.instances)
        for c in host.caches
    )
    accelerators = ", ".join(device.name for device in host.accelerators) or t("report.machine.none")
    blas = host.blas
    facts = {
        "cpu": host.cpu,
        "cores": t("report.machine.cores.value", cores=host.cores or unknown, threads=host.threads),
        "caches": caches or unknown,
        "memory": binary(host.usable_memory),
        "accelerators": accelerators,
        "blas": f"{blas.name} {blas.version} ({blas.kernel})",
        "software": f"{host.python} · NumPy {host.numpy} · {host.system}",
    }
    return [(t(f"report.machine.fact.{name}"), text, tag) for name, text in facts.items()]
