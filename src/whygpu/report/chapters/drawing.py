"""Drawing: the pictures, how fast they came, and where the time went."""

from dataclasses import dataclass

from whygpu.report.book import Book
from whygpu.report.chapters.guesses import of_exhibit
from whygpu.report.chapters.words import in_order
from whygpu.report.exhibits import shown
from whygpu.report.figures import shares
from whygpu.report.foreign import plain
from whygpu.report.palette import LIGHT
from whygpu.report.view import Cell, Chapter, Chart, Column, Table, Value
from whygpu.story import numbers
from whygpu.story.results import Drawing

__all__ = ["drawing", "main_scene", "scene_name", "step_name"]

EXHIBITS = ("rotation", "cube", "chain", "sphere", "pipeline")

TINTS = (("draw", "paper"), ("draw2", "ink"), ("draw3", "ink"), ("draw4", "ink"), ("line", "ink"))
"""Fill and text of each stage in turn: from dark to light, so that grey tells them apart too."""


@dataclass(frozen=True, slots=True)
class Plate:
    """A picture with its caption."""

    source: str
    width: int
    height: int
    alt: str
    title: str
    triangles: str
    rate: Value


def drawing(book: Book) -> Chapter | None:
    """The view of the chapter; None where nothing was drawn."""
    drawings = book.results.drawings
    if not drawings:
        return None
    charts = (stage_chart(book, drawings),) if any(drawn.stages for drawn in drawings) else ()
    parts = {
        "plates": plates(book, drawings),
        "scenes": scene_table(book, drawings),
        "stages": stage_table(book, drawings),
        "comparison": comparison(book, drawings),
        "chart": charts[0] if charts else None,
    }
    question = of_exhibit(book, "drawing", "pipeline", "tested", (1e4, 1e6, 1e8), numbers.count)
    return Chapter("drawing", parts, charts, question, shown(book, *EXHIBITS))


def main_scene(drawings: list[Drawing]) -> Drawing:
    """The scene to speak of: the character by its fastest path, else the first."""
    named = [drawn for drawn in drawings if drawn.scene == "character"] or drawings
    return min(named, key=lambda drawn: drawn.seconds)


def scene_name(book: Book, scene: str) -> str:
    """A scene's name in the page's language."""
    return book.t(f"report.scene.{scene}") if book.t.has(f"report.scene.{scene}") else scene


def step_name(book: Book, name: str) -> str:
    """The name of a stage or step in the page's language."""
    return book.t(f"report.step.{name}") if book.t.has(f"report.step.{name}") else name


def path_name(book: Book, path: str) -> str:
    """``fast`` or ``portable`` in the page's language."""
    return book.t(f"report.path.{path}") if book.t.has(f"report.path.{path}") else path


def plates(book: Book, drawings: list[Drawing]) -> list[Plate]:
    """One picture a scene, the main one first."""
    best: dict[str, Drawing] = {}
    for drawn in sorted(drawings, key=lambda drawn: drawn.seconds):
        best.setdefault(drawn.scene, drawn)
    first = main_scene(drawings)
    order = [first, *(drawn for drawn in best.values() if drawn.scene != first.scene)]
    result = []
    for drawn in order:
        source = book.pictures.get(drawn.image or "")
        if source is None:
            continue
        tag = book.measured("report.how.frame", frames=drawn.frames, path=path_name(book, drawn.path))
        result.append(
            Plate(
                source,
                drawn.width,
                drawn.height,
                book.t(
                    "report.drawing.alt",
                    scene=scene_name(book, drawn.scene),
                    n=numbers.count(drawn.triangles),
                ),
                scene_name(book, drawn.scene),
                numbers.count(drawn.triangles),
                Value(numbers.significant(drawn.frames_per_second), tag),
            )
        )
    return result


def scene_table(book: Book, drawings: list[Drawing]) -> Table:
    """Every scene and path."""
    t = book.t
    median = book.measured("report.how.frame_median")
    columns = [
        Column(t("report.drawing.scene"), numeric=False),
        Column(t("report.drawing.triangles"), book.derived("report.how.scene")),
        Column(t("report.drawing.pixels"), book.measured("report.how.pixels")),
        Column(t("report.drawing.first"), book.measured("report.how.first_frame")),
        Column(t("report.drawing.frame"), median),
        Column(t("report.drawing.rate"), book.derived("report.how.frame_rate")),
        Column(t("report.drawing.vertices"), book.derived("report.how.vertex_rate")),
    ]
    rows = [
        [
            Cell(scene_name(book, drawn.scene), note=path_name(book, drawn.path), mark="draw"),
            Cell(numbers.count(drawn.triangles)),
            Cell(numbers.count(drawn.pixels_lit)),
            Cell(numbers.duration(drawn.first_seconds)),
            Cell(numbers.duration(drawn.seconds), mark="strong"),
            Cell(numbers.significant(drawn.frames_per_second)),
            Cell(numbers.si(drawn.vertices_per_second, "")),
        ]
        for drawn in drawings
    ]
    first = drawings[0]
    return Table(t("report.drawing.table", width=first.width, height=first.height), columns, rows)


def stage_names(drawings: list[Drawing]) -> list[str]:
    """Every stage, in the order in which a frame goes through them."""
    return in_order(stage for drawn in drawings for stage in drawn.stages)


def stage_chart(book: Book, drawings: list[Drawing]) -> Chart:
    """Shares of a frame by stage, a bar a scene and path."""
    rows, parts, hover, colours = [], {}, {}, {}
    for drawn in drawings:
        name = book.t(
            "report.drawing.bar",
            scene=plain(scene_name(book, drawn.scene)),
            path=path_name(book, drawn.path),
            time=numbers.duration(drawn.seconds),
        )
        rows.append(name)
    for place, stage in enumerate(stage_names(drawings)):
        name = plain(step_name(book, stage))
        times = [drawn.stages.get(stage, 0.0) for drawn in drawings]
        wholes = [sum(drawn.stages.values()) or 1.0 for drawn in drawings]
        parts[name] = [time / whole for time, whole in zip(times, wholes, strict=True)]
        hover[name] = [f"{name}: {numbers.duration(time)}" for time in times]
        fill, text = TINTS[min(place, len(TINTS) - 1)]
        colours[name] = (LIGHT[fill], LIGHT[text])
    figure = shares(rows, parts, colours, hover)
    return Chart(
        "chart-stages",
        figure,
        book.t("report.drawing.chart.label"),
        book.t("report.drawing.chart.caption"),
        height=110 + 52 * len(rows),
        narrow_height=150 + 52 * len(rows),
        narrow={"yaxis.tickfont.size": 11, "legend.font.size": 11},
    )


def stage_table(book: Book, drawings: list[Drawing]) -> Table:
    """The same in words: seconds of every stage."""
    stages = stage_names(drawings)
    tag = book.measured("report.how.stage")
    columns = [Column(book.t("report.drawing.scene"), numeric=False)]
    columns += [Column(step_name(book, stage), tag) for stage in stages]
    rows = [
        [
            Cell(scene_name(book, drawn.scene), note=path_name(book, drawn.path), mark="draw"),
            *(
                Cell(numbers.duration(drawn.stages[stage]) if stage in drawn.stages else "–", mark="")
                for stage in stages
            ),
        ]
        for drawn in drawings
    ]
    return Table(book.t("report.drawing.stages"), columns, rows)


def comparison(book: Book, drawings: list[Drawing]) -> dict[str, Value | str] | None:
    """The fast path beside the portable one on the largest scene that both drew."""
    by_path = {(drawn.scene, drawn.path): drawn for drawn in drawings}
    both = [drawn for drawn in drawings if drawn.path == "fast" and (drawn.scene, "portable") in by_path]
    if not both:
        return None
    fast = max(both, key=lambda drawn: drawn.triangles)
    portable = by_path[fast.scene, "portable"]
    return {
        "scene": scene_name(book, fast.scene),
        "fast": Value(
            numbers.duration(fast.seconds),
            book.measured("report.how.frame", frames=fast.frames, path=path_name(book, "fast")),
        ),
        "portable": Value(
            numbers.duration(portable.seconds),
            book.measured("report.how.frame", frames=portable.frames, path=path_name(book, "portable")),
        ),
        "ratio": Value(
            book.times(portable.seconds / fast.seconds), book.derived("report.how.ratio_of_medians")
        ),
    }
