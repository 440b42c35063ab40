"""What ``whygpu draw --json`` prints, documented in ``docs/draw.schema.json``.

Keys are English whatever the language. Times are seconds, sizes bytes, angles degrees.
"""

from __future__ import annotations

from typing import Any

import whygpu
from whygpu.engine import Backend, Ledger
from whygpu.engine.basis import Basis
from whygpu.story.schema import Documented, LedgerLine

__all__ = ["CameraJson", "Drawn", "PictureJson", "document", "ledger_lines", "schema"]

STAGES = ("animate", "vertex", "shadow", "raster", "shade")
"""In the order in which data flows; others come after these."""


class CameraJson(Documented):
    """Where a picture was seen from."""

    name: str
    eye: tuple[float, float, float]
    """In the scene's unit, y up."""
    target: tuple[float, float, float]
    """A point that it looks at."""
    up: tuple[float, float, float]
    fov: float
    """Vertical field of view."""
    near: float
    far: float
    height: float | None
    """Of what an orthographic camera sees; null: perspective."""


class PictureJson(Documented):
    """One scene and the file that shows it."""

    scene: str
    """As it was given."""
    file: str
    """Where it was written; ``-``: stdout."""
    bytes: int | None
    """Size of the file; null on stdout."""
    size: tuple[int, int]
    """Width and height in pixels."""
    frames: int
    """More than one is a film."""
    fps: float
    """Frames a second, where there are more than one."""
    triangles: int
    """In the scene."""
    vertices: int
    """In the scene."""
    pixels_tested: int
    """Points for which a triangle's edge functions were evaluated, in all frames."""
    pixels_lit: int
    """Pixels that show a triangle, in all frames."""
    path: str
    """``fast`` or ``portable``."""
    camera: CameraJson | None
    """Of the first frame; null: the scene's own, which moves."""
    load_seconds: float
    """Reading the scene."""
    draw_seconds: float
    """All frames; without ``--ledger`` with the compiling or loading of kernels."""
    write_seconds: float
    """Packing and writing the file."""
    seconds: dict[str, float]
    """Of drawing, by stage, all frames."""


class Drawn(Documented):
    """What one call drew."""

    schema_version: int = 1
    """Changes when a key changes its meaning or goes."""
    whygpu: str
    """Version of whygpu."""
    device: str
    """The backend."""
    threads: int
    """CPU threads used."""
    pictures: list[PictureJson]
    """One a scene."""
    ledger: list[LedgerLine] | None
    """By stage and name, all scenes together (``--ledger``), else null."""
    basis: str = str(Basis.MEASURED)
    """Where the times come from."""


def document(pictures: list[PictureJson], backend: Backend, ledger: Ledger | None) -> Drawn:
    """Put what was drawn into words that a program reads."""
    return Drawn(
        whygpu=whygpu.__version__,
        device=backend.name,
        threads=backend.threads,
        pictures=pictures,
        ledger=None if ledger is None else ledger_lines(ledger),
    )


def camera_json(camera: Any) -> CameraJson:
    """A ``draw.Camera`` as plain values."""
    keys = ("name", "eye", "target", "up", "fov", "near", "far", "height")
    return CameraJson(**{key: getattr(camera, key) for key in keys})


def ledger_lines(ledger: Ledger) -> list[LedgerLine]:
    """The ledger of drawing: stage by stage the products, then what is not one, the longest first."""
    rows = [row for row in ledger.rows() if row.workload == "draw"]
    whole = sum(row.seconds for row in rows) or 1.0
    place = {stage: at for at, stage in enumerate(STAGES)}
    rows.sort(key=lambda row: (place.get(row.stage, len(place)), row.stage, not row.is_product, -row.seconds))
    return [LedgerLine.of(row, row.seconds / whole) for row in rows]


def schema() -> dict[str, Any]:
    """JSON Schema of what ``--json`` prints."""
    return Drawn.model_json_schema(mode="serialization")
