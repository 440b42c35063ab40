"""The same scene stopped after each stage: model, vertex transform, rasterisation, shading, screen."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu import draw, engine
from whygpu.draw.camera import projection_matrix, view_matrix
from whygpu.engine import Basis
from whygpu.story import numbers as written
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, derived, ease, measured
from whygpu.story.exhibits.canvas import Picture, Sheet
from whygpu.story.exhibits.palette import mix

__all__ = ["EXHIBIT", "STAGES"]

SCENE = "character"
SIZE = (1000, 760)
STAGES = ("model", "vertex", "raster", "shade", "screen")
STEPS = 12
"""Moments of a stage: most of them still, the last ones a wipe to the next."""
DOT = (184, 78, 0)


def numbers(job: Job) -> Numbers:
    """Draw once, and keep what each stage leaves behind."""
    job.progress("progress.draw", 0.0, scene=SCENE, path="fast")
    scene = draw.load(SCENE)
    camera = draw.framing(scene, SIZE[0] / SIZE[1])
    draw.render(scene, SIZE, camera=camera)
    tries = [draw.render(scene, SIZE, camera=camera).statistics.seconds for _ in range(3)]
    with engine.ledger() as ledger:
        frame = draw.render(scene, SIZE, camera=camera)
    clear = draw.render(scene, SIZE, camera=camera, background="transparent")
    statistics = frame.statistics
    seconds = {stage: min(one[stage] for one in tries) for stage in ("vertex", "raster", "shade")}
    flop = {row.stage: row.flop for row in ledger.rows(("stage",)) if row.is_product}
    products = ledger.totals("draw").flop
    pictures = [
        Picture(_points(_in_space(scene), SIZE)),
        Picture(_points(_on_screen(scene, camera), SIZE)),
        Picture(_triangles(frame.ids)),
        Picture(clear.rgba),
        Picture(frame.rgba),
    ]
    return Numbers(
        {
            "vertices": derived(statistics.vertices, "", "of the scene"),
            "triangles": derived(statistics.triangles, "", "of the scene"),
            "tested": derived(
                statistics.pixels_tested, "", "pixels whose three edge functions were evaluated"
            ),
            "lit": derived(statistics.pixels_lit, "", "pixels that show a triangle"),
            "products_flop": derived(products, "FLOP", "ledger: the products of the frame"),
            "frame": measured(sum(seconds.values()), "s", "vertex, raster and shade stage, least of 3"),
        },
        {"scene": SCENE, "size": list(SIZE), "seconds": seconds, "flop": flop},
        Basis.MEASURED,
        "draw.render, all threads; FLOP from the ledger",
        pictures,
    )


def _world(scene: draw.Scene) -> NDArray[np.float64]:
    """All vertices in the world, (V, 3)."""
    parts = [
        node.mesh.positions.astype(np.float64) @ node.transform[:3, :3].T + node.transform[:3, 3]
        for node in scene.nodes
    ]
    return np.concatenate(parts)


def _in_space(scene: draw.Scene) -> NDArray[np.float64]:
    """Each mesh as it was made, side by side: nothing is placed yet. (V, 2) from -1 to 1."""
    columns = min(len(scene.nodes), int(np.ceil(np.sqrt(len(scene.nodes) * 1.4))))
    rows = -(-len(scene.nodes) // columns)
    placed = []
    for i, node in enumerate(scene.nodes):
        points = node.mesh.positions.astype(np.float64)
        low, high = points.min(0), points.max(0)
        flat = (points - (low + high) / 2)[:, :2] / max(1e-9, float((high - low)[:2].max()))  # -0.5 to 0.5
        cell = np.array([(i % columns + 0.5) / columns, 1 - (i // columns + 0.5) / rows]) * 2 - 1
        placed.append(cell + flat * 1.9 * np.array([SIZE[1] / SIZE[0], 1.0]) / max(columns, rows))
    return np.concatenate(placed) * 0.94


def _on_screen(scene: draw.Scene, camera: draw.Camera) -> NDArray[np.float64]:
    """(V, 2) from -1 to 1, by one product with the chained matrices."""
    matrix = projection_matrix(camera, SIZE[0] / SIZE[1]) @ view_matrix(camera)
    points = _world(scene)
    homogeneous = np.concatenate([points, np.ones((len(points), 1))], 1)
    clip = engine.matmul(homogeneous, matrix.T, name="projection-view")  # (V, 4)
    seen: NDArray[np.float64] = clip[:, :2] / clip[:, 3:]
    return seen


def _points(places: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Dots on a transparent sheet, (height, width, 4); more dots in a pixel, more colour."""
    width, height = size
    x = ((places[:, 0] + 1) / 2 * (width - 1)).round().astype(int)
    y = ((1 - places[:, 1]) / 2 * (height - 1)).round().astype(int)
    inside = (x >= 0) & (x < width - 1) & (y >= 0) & (y < height - 1)
    count = np.zeros((height, width))
    for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
        np.add.at(count, (y[inside] + dy, x[inside] + dx), 1.0)
    rgba = np.zeros((height, width, 4), np.uint8)
    rgba[..., :3] = DOT
    rgba[..., 3] = (255 * (1 - 0.4 ** np.minimum(count, 6))).astype(np.uint8)
    return rgba


def _triangles(ids: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Every triangle in a colour of its own, (height, width, 4)."""
    random = np.random.default_rng(7)
    table = np.concatenate([random.uniform(0.0, 1.0, (int(ids.max()) + 2, 1))] * 3, 1)
    low, high = np.array([120.0, 52.0, 10.0]), np.array([250.0, 196.0, 140.0])
    rgba = np.zeros((*ids.shape, 4), np.uint8)
    rgba[..., :3] = (low + (high - low) * table)[ids]
    rgba[..., 3] = np.where(ids >= 0, 255, 0)
    return rgba


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """The picture in the middle, wiped from one stage to the next; what the stage did on the right."""
    step = round(phase * STEPS * len(STAGES)) % (STEPS * len(STAGES))
    stage, moment = divmod(step, STEPS)
    wipe = ease(max(0.0, (moment - 4) / (STEPS - 4)))
    following = (stage + 1) % len(STAGES)
    sheet.head()
    x, y = 36.0, 126.0
    w, h = 490.0, 490 * SIZE[1] / SIZE[0]
    sheet.rect(x, y, w, h, fill="panel", radius=6)
    sheet.image(x, y, w, h, found.drawn[stage], wipe, 1.0)
    if wipe > 0:
        sheet.image(x, y, w, h, found.drawn[following], 0.0, wipe)
        sheet.line([(x + w * wipe, y), (x + w * wipe, y + h)], "think", 2)
    shown = following if wipe > 0.5 else stage
    _strip(sheet, shown)
    _what(sheet, found, shown)


def _strip(sheet: Sheet, shown: int) -> None:
    for i, stage in enumerate(STAGES):
        x = 36 + 179.5 * i
        here = i == shown
        sheet.rect(x, 86, 170, 28, fill="draw" if here else "panel", radius=14)
        color, weight = ("paper", "bold") if here else ("soft", "regular")
        sheet.text(x + 85, 105, sheet.say(f"stage.{stage}"), 14, color, weight=weight, anchor="m")


def _what(sheet: Sheet, found: Numbers, shown: int) -> None:
    left, wide = 560.0, 364.0
    stage = STAGES[shown]
    sheet.text(left, 152, sheet.say(f"stage.{stage}"), 20, "draw", weight="bold")
    y = sheet.paragraph(left, 180, sheet.say(f"what.{stage}"), wide, 15, "ink") + 8
    for label, value in _facts(sheet, found, stage):
        sheet.line([(left, y + 6), (left + wide, y + 6)], "line", 1)
        y += 30
        sheet.text(left, y, label, 14, "soft")
        sheet.text(left + wide, y, value, 17, "ink", weight="bold", anchor="r")
        y += 4
    _times(sheet, found.data["seconds"], stage, left, wide)


def _facts(sheet: Sheet, found: Numbers, stage: str) -> list[tuple[str, str]]:
    figures, data = found.figures, found.data
    facts: dict[str, list[tuple[str, Any]]] = {
        "model": [("vertices", figures["vertices"]), ("triangles", figures["triangles"])],
        "vertex": [("vertices", figures["vertices"]), ("flop", data["flop"].get("vertex", 0))],
        "raster": [("tested", figures["tested"]), ("flop", data["flop"].get("raster", 0))],
        "shade": [("lit", figures["lit"]), ("flop", data["flop"].get("shade", 0))],
        "screen": [("flop_frame", figures["products_flop"]), ("frame", figures["frame"])],
    }
    return [
        (sheet.say(f"fact.{key}"), written.si(value, "FLOP") if isinstance(value, int) else str(value))
        for key, value in facts[stage]
    ]


def _times(sheet: Sheet, seconds: dict[str, float], stage: str, left: float, wide: float) -> None:
    """One bar, divided as the frame's time was."""
    whole, x = sum(seconds.values()), left
    sheet.text(left, 424, sheet.say("times", time=written.duration(whole)), 14, "soft")
    for key, share in (("vertex", 1.0), ("raster", 0.7), ("shade", 0.42)):
        w = seconds[key] / whole * wide
        lit = stage in (key, "screen", "model")
        sheet.rect(x, 434, max(w - 2, 2), 26, fill=mix("draw", "paper", share if lit else 0.15), radius=3)
        x += w
    for i, key in enumerate(("vertex", "raster", "shade")):
        anchor = ("l", "m", "r")[i]
        at = left + (0, wide / 2, wide)[i]
        color = "ink" if stage == key else "soft"
        sheet.text(at, 478, sheet.say(f"stage.{key}"), 12.5, color, anchor=anchor)
        sheet.text(at, 495, written.duration(seconds[key]), 13, color, weight="bold", anchor=anchor)


EXHIBIT = Exhibit("pipeline", numbers, picture, STEPS * len(STAGES), 120, drag="slide", poster=0.62)
