"""A wireframe cube that turns about Y: eight vertices are eight rows of one product."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu import engine
from whygpu.draw.camera import projection_matrix, view_matrix
from whygpu.draw.scene import Camera
from whygpu.engine import Basis
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, derived
from whygpu.story.exhibits.canvas import Sheet, number
from whygpu.story.exhibits.palette import mix

__all__ = ["EXHIBIT", "VERTICES"]

STEPS = 72
VERTICES = np.array([[x, y, z] for y in (1, -1) for z in (1, -1) for x in (-1, 1)], np.float64)
EDGES = tuple(
    (a, b) for a in range(8) for b in range(a + 1, 8) if np.abs(VERTICES[a] - VERTICES[b]).sum() == 2
)
"""Two vertices that differ in one coordinate: 12 pairs."""
FACES = tuple((axis, sign) for axis in range(3) for sign in (-1, 1))
CAMERA = Camera(eye=(0.0, 2.1, 5.6), fov=36.0)
BOX = (36.0, 92.0, 440.0, 400.0)


def numbers(job: Job) -> Numbers:
    """Every angle: (8, 3) @ (3, 3) gives the coordinates, (8, 4) @ (4, 4) the places in the picture."""
    del job
    angles = np.arange(STEPS) * (2 * np.pi / STEPS)
    turns = np.zeros((STEPS, 3, 3))
    turns[:, 0, 0] = turns[:, 2, 2] = np.cos(angles)
    turns[:, 0, 2], turns[:, 2, 0] = np.sin(angles), -np.sin(angles)
    turns[:, 1, 1] = 1
    seen = projection_matrix(CAMERA, BOX[2] / BOX[3]) @ view_matrix(CAMERA)
    with engine.using("cpu") as backend, engine.ledger() as ledger:
        with engine.scope("draw", "turn"):
            turned = engine.matmul(
                backend.asarray(VERTICES, "float64"), backend.asarray(turns, "float64").mT, name="rotation"
            )  # (72, 8, 3)
        with engine.scope("draw", "project"):
            ones = np.ones((STEPS, 8, 1))
            clip = engine.matmul(np.concatenate([turned, ones], 2), seen.T, name="projection-view")
    screen = clip[:, :, :2] / clip[:, :, 3:]
    flop = next(row.flop for row in ledger.rows(("stage",)) if row.stage == "turn") // STEPS
    return Numbers(
        {
            "vertices": derived(len(VERTICES), "", "all combinations of ±1 on three axes"),
            "edges": derived(len(EDGES), "", "pairs of vertices that differ in one coordinate"),
            "flop": derived(flop, "FLOP", "ledger: 2 m n k = 2 x 8 x 3 x 3"),
        },
        {
            "vertices": VERTICES.tolist(),
            "edges": [list(edge) for edge in EDGES],
            "degrees": np.degrees(angles).tolist(),
            "matrices": turns.tolist(),
            "turned": turned.tolist(),
            "screen": screen.tolist(),
        },
        Basis.DERIVED,
        "engine.matmul in float64",
    )


def hidden(turned: NDArray[np.float64]) -> list[bool]:
    """Whether each edge lies behind: both of its faces look away from the eye."""
    eye = np.asarray(CAMERA.eye)
    away = {}
    for axis, sign in FACES:
        corners = VERTICES[:, axis] == sign
        normal = turned[corners].mean(0)  # of a cube about the origin, the middle of a face is its normal
        away[axis, sign] = bool(normal @ (eye - turned[corners].mean(0)) <= 0)
    result = []
    for a, b in EDGES:
        same = [axis for axis in range(3) if VERTICES[a, axis] == VERTICES[b, axis]]
        result.append(all(away[axis, int(VERTICES[a, axis])] for axis in same))
    return result


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """The cube on the left; matrix and coordinates on the right."""
    step = round(phase * STEPS) % STEPS
    data = found.data
    sheet.head()
    x0, y0, w, h = BOX
    sheet.rect(x0, y0, w, h, fill="panel", radius=8, name="pad")
    turned = np.array(data["turned"][step])
    places = [(x0 + w / 2 + x * w / 2, y0 + h / 2 - y * h / 2) for x, y in data["screen"][step]]
    depth = turned[:, 2]
    behind = hidden(turned)
    for (a, b), is_hidden in sorted(zip(EDGES, behind, strict=True), key=lambda pair: -pair[1]):
        color, wide, dash = ("rest", 1.5, 5.0) if is_hidden else ("draw", 3.0, 0.0)
        sheet.line([places[a], places[b]], color, wide, dash)
    for i in np.argsort(depth):
        x, y = places[i]
        near = (depth[i] + 1.5) / 3
        sheet.circle(x, y, 11, fill=mix("think", "panel", 0.35 + 0.65 * near), stroke="panel", width=1.5)
        sheet.text(x, y + 4.5, str(i + 1), 12, "paper", weight="bold", anchor="m")
    _table(sheet, data, step)


def _table(sheet: Sheet, data: Mapping[str, Any], step: int) -> None:
    left = 520.0
    sheet.text(left, 116, f"θ = {360 * step / STEPS:.0f}°", 22, "think", weight="bold")
    sheet.text(left, 152, "R", 16, "soft")
    sheet.text(left + 11, 156, "y", 11, "soft")
    sheet.text(left + 18, 152, "(θ)  =", 16, "soft")
    sheet.matrix(left + 110, 104, data["matrices"][step], size=16, cell=78, places=3, color="think", row=26)
    top = 212.0
    rights = (left + 150, left + 266, left + 382)
    for right, name in zip(rights, "xyz", strict=True):
        sheet.text(right, top, name, 15, "soft", anchor="r")
    sheet.text(left + 4, top, sheet.say("vertex"), 13, "soft")
    sheet.line([(left, top + 9), (left + 404, top + 9)], "line", 1.5)
    for i, row in enumerate(data["turned"][step]):
        base = top + 34 + i * 29.5
        if i % 2 == 0:
            sheet.rect(left, base - 20, 404, 29, fill="panel", radius=4)
        sheet.text(left + 22, base, str(i + 1), 16, "think", weight="bold", anchor="m")
        for right, value in zip(rights, row, strict=True):
            sheet.text(right, base, number(value), 16, "ink", anchor="r")
    sheet.text(left, 486, sheet.say("note"), 13.5, "soft")


EXHIBIT = Exhibit("cube", numbers, picture, STEPS, 60, drag="slide", poster=0.09)
