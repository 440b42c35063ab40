"""One vertex on its way to its pixel: projection x view x model, every matrix with its numbers."""

from typing import Any

import numpy as np

from whygpu import draw, engine
from whygpu.draw.camera import projection_matrix, view_matrix
from whygpu.draw.scene import Camera, Node, Scene
from whygpu.draw.shapes.cube import cube
from whygpu.engine import Basis
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, derived
from whygpu.story.exhibits.canvas import Picture, Sheet, number

__all__ = ["CAMERA", "EXHIBIT", "SIZE", "VERTEX"]

STEPS = 36
SIZE = (640, 360)
VERTEX = (1.0, 1.0, 1.0)
CAMERA = Camera(eye=(1.8, 1.9, 4.6), fov=38.0, near=1.0, far=10.0)
COLORS = {"P": "fourth", "V": "third", "M": "think"}


def numbers(job: Job) -> Numbers:
    """Every step of the chain at every angle, and the frame that the engine draws with it."""
    del job
    width, height = SIZE
    projection, view = projection_matrix(CAMERA, width / height), view_matrix(CAMERA)
    steps: list[dict[str, Any]] = []
    pictures = []
    mesh = cube()
    with engine.using("cpu"), engine.ledger() as ledger, engine.scope("draw", "chain"):
        for step in range(STEPS):
            steps.append(_step(projection, view, 2 * np.pi * step / STEPS))
    flop = ledger.totals("draw").flop // STEPS
    for step in range(STEPS):
        scene = Scene((Node(mesh, np.array(steps[step]["model"])),))
        frame = draw.render(scene, SIZE, camera=CAMERA, background="transparent")
        pictures.append(Picture(frame.rgba))
    return Numbers(
        {
            "products": derived(3, "", "projection x (view x (model x vertex))"),
            "flop": derived(flop, "FLOP", "ledger: three times 2 m n k = 2 x 4 x 1 x 4"),
            "chained": derived(
                2 * 4 * 4, "FLOP", "where the three matrices are multiplied once a frame: 2 x 4 x 1 x 4"
            ),
        },
        {
            "vertex": [*VERTEX, 1.0],
            "size": list(SIZE),
            "projection": projection.tolist(),
            "view": view.tolist(),
            "steps": steps,
        },
        Basis.DERIVED,
        "engine.matmul in float64; the picture by draw.render",
        pictures,
    )


def _step(projection: Any, view: Any, angle: float) -> dict[str, Any]:
    """The vertex in every space, the model turned by ``angle`` about Y."""
    width, height = SIZE
    model = np.eye(4)
    model[0, 0] = model[2, 2] = np.cos(angle)
    model[0, 2], model[2, 0] = np.sin(angle), -np.sin(angle)
    column = np.array([[*VERTEX, 1.0]]).T  # (4, 1)
    world = engine.matmul(model, column, name="model")
    eye = engine.matmul(view, world, name="view")
    clip = engine.matmul(projection, eye, name="projection")
    x, y, z = (clip[:3, 0] / clip[3, 0]).tolist()
    pixel = [(x + 1) / 2 * width, (1 - y) / 2 * height]
    return {
        "model": model.tolist(),
        "world": world[:, 0].tolist(),
        "eye": eye[:, 0].tolist(),
        "clip": clip[:, 0].tolist(),
        "ndc": [x, y, z],
        "pixel": pixel,
    }


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """Three matrices above; the vertex in six spaces and its pixel below."""
    step = round(phase * STEPS) % STEPS
    data = found.data
    here = data["steps"][step]
    sheet.head()
    x = 36.0
    for letter, key, rows in (
        ("P", "projection", data["projection"]),
        ("V", "view", data["view"]),
        ("M", "model", here["model"]),
    ):
        sheet.text(x + 8, 112, letter, 17, COLORS[letter], weight="bold")
        sheet.text(x + 28, 112, sheet.say(key), 14, "soft")
        edge = sheet.matrix(x, 122, rows, size=15, cell=53, color=COLORS[letter], row=24)
        sheet.text(edge + 15, 122 + 57, "×", 18, "soft", anchor="m")
        x = edge + 30
    sheet.text(x + 8, 112, "v", 17, "draw", weight="bold")
    sheet.matrix(x, 122, [[v] for v in data["vertex"]], size=15, cell=26, places=0, color="draw", row=24)
    _spaces(sheet, data, here)
    _pixel(sheet, found, here, step)


def _spaces(sheet: Sheet, data: Any, here: dict[str, list[float]]) -> None:
    """The vertex in every space, with what leads from one to the next."""
    columns = [
        ("object", data["vertex"], "M ×", "think"),
        ("world", here["world"], "V ×", "third"),
        ("eye", here["eye"], "P ×", "fourth"),
        ("clip", here["clip"], "÷ w", "soft"),
        ("ndc", here["ndc"], "", ""),
    ]
    x = 36.0
    for place, (key, values, then, color) in enumerate(columns):
        sheet.text(x + 37, 274, sheet.say(f"space.{key}"), 13, "soft", anchor="m")
        sheet.matrix(x, 286, [[v] for v in values], size=15, cell=62, row=26)
        if then:
            sheet.arrow((x + 80, 341), (x + 110, 341), color, 2, 8)
            sheet.text(x + 95, 329, then, 14, color, weight="bold", anchor="m")
        x += 118 if place < 4 else 0
    sheet.text(36, 440, sheet.say("viewport"), 14, "soft")
    px, py = here["pixel"]
    for row, (axis, value, side, sign) in enumerate(
        (("x", here["ndc"][0], data["size"][0], "+"), ("y", here["ndc"][1], data["size"][1], "−"))
    ):
        base = 466 + 25 * row
        out = (px, py)[row]
        sheet.text(36, base, axis, 16, "draw", weight="bold")
        first = f"({number(value, 3)} + 1)" if sign == "+" else f"(1 − {_bracket(value)})"
        sheet.text(56, base, f"=  {first} ÷ 2 × {side}", 16)
        sheet.text(292, base, "=", 16, "soft")
        sheet.text(388, base, number(out, 2), 17, "draw", weight="bold", anchor="r")


def _bracket(value: float) -> str:
    text = number(value, 3)
    return f"({text})" if text.startswith("−") else text


def _pixel(sheet: Sheet, found: Numbers, here: dict[str, list[float]], step: int) -> None:
    x0, y0, w = 612.0, 278.0, 312.0
    h = w * SIZE[1] / SIZE[0]
    px, py = here["pixel"]
    x, y = x0 + px / SIZE[0] * w, y0 + py / SIZE[1] * h
    sheet.rect(x0, y0, w, h, fill="panel", radius=4)
    sheet.image(x0, y0, w, h, found.drawn[step])
    sheet.line([(x0, y), (x, y)], "draw", 1.5, dash=4)
    sheet.line([(x, y0), (x, y)], "draw", 1.5, dash=4)
    sheet.circle(x, y, 6, fill="draw", stroke="paper", width=2)
    sheet.text(x0, y0 + h + 22, sheet.say("pixel", width=SIZE[0], height=SIZE[1]), 13.5, "soft")
    text = f"({number(px, 1)}, {number(py, 1)})"
    sheet.text(x0 + w, y0 + h + 22, text, 15, "draw", weight="bold", anchor="r")


EXHIBIT = Exhibit("chain", numbers, picture, STEPS, 100, drag="slide", poster=0.06)
