"""A sphere from four triangles by subdivision: what each level costs to transform and to draw."""

from typing import Any

import numpy as np

from whygpu import draw, engine
from whygpu.draw.camera import projection_matrix, view_matrix
from whygpu.engine import Basis
from whygpu.story import numbers as written
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, derived, measured
from whygpu.story.exhibits.canvas import Picture, Sheet
from whygpu.story.exhibits.palette import mix

__all__ = ["EXHIBIT", "LEVELS"]

LEVELS = 8
TURNS = 6
"""Pictures of a level, the camera going round."""
SIZE, SHOWN = (720, 720), (520, 520)
"""Of the frames that are timed, and of those that are shown."""
CAMERA = draw.Camera(eye=(0.0, 1.1, 4.1), fov=31.0, near=1.0, far=10.0)
TRIES = 3
WIRED = 5
"""Levels whose edges can be told apart."""


def numbers(job: Job) -> Numbers:
    """Draw every level: counts from the ledger, times the least of a few."""
    levels: list[dict[str, Any]] = []
    pictures = []
    for level in range(LEVELS):
        job.progress("progress.draw", level / LEVELS, scene=f"sphere:{level}", path="fast")
        scene = draw.load(f"sphere:{level}")
        row, frames = _level(scene, level)
        levels.append(row)
        pictures.append(frames)
    last = levels[-1]
    return Numbers(
        {
            "triangles": derived(last["triangles"], "", f"4 x 4^{LEVELS - 1}"),
            "vertices": derived(last["vertices"], "", f"2 + 2 x 4^{LEVELS - 1}"),
            "flop": derived(last["flop"], "FLOP", "ledger: the products of one frame, 2 m n k each"),
            "transform": measured(last["transform_s"], "s", f"vertex stage, least of {TRIES}"),
            "draw": measured(last["draw_s"], "s", f"all stages at 720 x 720, least of {TRIES}"),
        },
        {"size": list(SIZE), "levels": levels},
        Basis.MEASURED,
        "times: draw.render, all threads; products and FLOP: the ledger of one frame",
        pictures,
    )


def _level(scene: draw.Scene, level: int) -> tuple[dict[str, Any], list[tuple[Picture, Any]]]:
    stages: list[dict[str, float]] = []
    draw.render(scene, SIZE, camera=CAMERA)
    for _ in range(TRIES):
        stages.append(draw.render(scene, SIZE, camera=CAMERA).statistics.seconds)
    with engine.ledger() as ledger:
        draw.render(scene, SIZE, camera=CAMERA)
    total = ledger.totals("draw")
    counts = sum(product.batch * entry.count for product, entry in ledger.products.items())
    frames = []
    for turn in range(TURNS):
        camera = draw.orbit(CAMERA, 60 * (level + turn / TURNS))
        frame = draw.render(scene, SHOWN, camera=camera, background="transparent")
        frames.append((Picture(frame.rgba), _edges(scene, camera) if level < WIRED else []))
    row = {
        "level": level,
        "triangles": scene.triangles,
        "vertices": scene.vertices,
        "products": counts,
        "flop": total.flop,
        "transform_s": min(stage["vertex"] for stage in stages),
        "draw_s": min(sum(stage.values()) for stage in stages),
    }
    return row, frames


def _edges(scene: draw.Scene, camera: draw.Camera) -> list[Any]:
    """The edges of the triangles that face the eye, in fractions of the picture: (2, 2) each."""
    mesh = scene.nodes[0].mesh
    points = mesh.positions.astype(np.float64)
    faces = points[mesh.triangles]
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    front = ((np.asarray(camera.eye) - faces[:, 0]) * normals).sum(1) > 0
    pairs = mesh.triangles[front][:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    pairs = np.unique(np.sort(pairs, 1), axis=0)
    matrix = projection_matrix(camera, SIZE[0] / SIZE[1]) @ view_matrix(camera)
    homogeneous = np.concatenate([points, np.ones((len(points), 1))], 1)
    clip = engine.matmul(homogeneous, matrix.T, name="projection-view")
    place = np.stack([clip[:, 0] / clip[:, 3] + 1, 1 - clip[:, 1] / clip[:, 3]], 1) / 2
    return list(place[pairs].round(4).tolist())


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """The sphere on the left, growing and then shrinking; the table of all levels on the right."""
    stops = 2 * LEVELS - 2
    place = phase * stops % stops
    level = int(place) if place < LEVELS - 1 else int(stops - place) + (place % 1 > 0)
    turn = min(TURNS - 1, int((place % 1) * TURNS))
    turn = turn if place < LEVELS - 1 else TURNS - 1 - turn
    sheet.head()
    x, y, side = 36.0, 92.0, 400.0
    sheet.rect(x, y, side, side, fill="panel", radius=8)
    shown, edges = found.drawn[level][turn]
    sheet.image(x, y, side, side, shown)
    for (ax, ay), (bx, by) in edges:
        sheet.line([(x + ax * side, y + ay * side), (x + bx * side, y + by * side)], "#fcfcfa", 0.8)
    _table(sheet, found.data["levels"], level)


def _table(sheet: Sheet, levels: list[dict[str, Any]], level: int) -> None:
    left, top = 470.0, 118.0
    rights = (left + 68, left + 142, left + 216, left + 286, left + 372, left + 454)
    keys = ("triangles", "vertices", "products", "flop", "transform", "draw")
    for right, key in zip(rights, keys, strict=True):
        sheet.text(right, top, sheet.say(f"column.{key}"), 12.5, "soft", anchor="r")
    sheet.line([(left, top + 10), (left + 454, top + 10)], "line", 1.5)
    for row in levels:
        base = top + 34 + row["level"] * 31
        here = row["level"] == level
        if here:
            sheet.rect(left - 8, base - 21, 470, 31, fill=mix("draw", "paper", 0.16), radius=5)
        cells = (
            written.count(row["triangles"]),
            written.count(row["vertices"]),
            written.si(row["products"], "").strip(),
            written.si(row["flop"], "").strip(),
            written.duration(row["transform_s"]),
            written.duration(row["draw_s"]),
        )
        for right, text in zip(rights, cells, strict=True):
            weight = "bold" if here else "regular"
            sheet.text(right, base, text, 14, "ink" if here else "soft", weight=weight, anchor="r")
    _bars(sheet, levels[level], max(row["draw_s"] for row in levels), left, 416.0)


def _bars(sheet: Sheet, row: dict[str, Any], whole: float, left: float, top: float) -> None:
    """How the frame's time divides between transforming and the rest."""
    scale = 454 / whole
    sheet.text(left, top, sheet.say("one_frame"), 13, "soft")
    sheet.rect(left, top + 10, 454, 26, fill="panel", radius=4)
    sheet.rect(left, top + 10, max(2, row["draw_s"] * scale), 26, fill=mix("draw", "paper", 0.45), radius=4)
    sheet.rect(left, top + 10, max(2, row["transform_s"] * scale), 26, fill="draw", radius=4)
    sheet.rect(left, top + 50, 11, 11, fill="draw")
    sheet.text(left + 18, top + 60, sheet.say("is_transform"), 13, "soft")
    middle = left + 34 + sheet.measure(sheet.say("is_transform"), 13) + 10
    sheet.rect(middle, top + 50, 11, 11, fill=mix("draw", "paper", 0.45))
    sheet.text(middle + 18, top + 60, sheet.say("is_rest"), 13, "soft")


EXHIBIT = Exhibit("sphere", numbers, picture, (2 * LEVELS - 2) * 4, 130, poster=0.29)
