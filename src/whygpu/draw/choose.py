"""One of several named things, by name or by number."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from whygpu.engine import UserError

__all__ = ["choose"]

SHOWN = 8


def choose(what: str, wanted: str | int, names: Sequence[str], where: str) -> int:
    """The place in ``names`` of a name, or of a number from 0 on. A name goes before a number.

    Raises
    ------
    UserError
        Where there is none; it says which there are, and which is nearest.
    """
    if wanted in names:
        return names.index(str(wanted))
    text = str(wanted)
    if text.isascii() and text.isdigit() and int(text[:9]) < len(names):
        return int(text)
    if not names:
        raise UserError(f"{where}: the scene has no {what}; leave out {text!r}")
    near = difflib.get_close_matches(text.lower(), [name.lower() for name in names], 1, 0.5)
    hint = f"did you mean {next(name for name in names if name.lower() == near[0])}? " if near else ""
    known = ", ".join(f"{place} {name}" for place, name in enumerate(names[:SHOWN]))
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    raise UserError(f"{where}: no {what} {text!r}; {hint}there are {known}{more}")
