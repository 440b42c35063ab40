"""The exhibits: what an article shows as animations, every frame computed by the engine.

One file an exhibit; ``base`` says what one is, ``canvas`` what it draws on; ``raster``, ``film``, ``svg``
and ``page`` are what becomes of that. ``load(NAME)`` imports one exhibit alone.
"""

import difflib
import importlib

from whygpu.engine import UserError
from whygpu.story.exhibits.base import Exhibit, Job, Known, Numbers

__all__ = ["NAMES", "Exhibit", "Job", "Known", "Numbers", "load"]

NAMES = (
    "rotation",
    "cube",
    "chain",
    "sphere",
    "pipeline",
    "parallel",
    "embedding",
    "block",
    "mlp",
    "attention",
    "same",
    "roofline",
    "timeline",
    "stack",
    "chips",
    "batch",
)
"""In the order in which the story tells them."""


def load(name: str) -> Exhibit:
    """The exhibit of that name.

    Raises
    ------
    UserError
        For an unknown name; the line lists the known ones.
    """
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, 1, 0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UserError(f"exhibit {name[:80]!r} is unknown; {hint}known: {', '.join(NAMES)}")
    module = importlib.import_module(f"whygpu.story.exhibits.{name}")
    exhibit: Exhibit = module.EXHIBIT
    return exhibit
