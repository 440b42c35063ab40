"""Line breaks for text with Chinese in it: between any two characters, but not before a full stop."""

import re

from rich.cells import cell_len

__all__ = ["wrapped"]

_PIECES = re.compile(r"[\u2e80-\u9fff\uff00-\uffef“”‘’]|[^\s\u2e80-\u9fff\uff00-\uffef“”‘’]+|\s+")
_NOT_FIRST = "，。；：、！？）》”’%"
_NOT_LAST = "（《“‘"


def wrapped(text: str, width: int) -> str:
    """``text`` with line breaks so that no line is wider than ``width`` cells (a longer word stays whole)."""
    lines, line = [], ""
    for piece in _units(text):
        if line and cell_len((line + piece).rstrip()) > width:
            lines.append(line.rstrip())
            line = piece.lstrip()
        else:
            line += piece
    return "\n".join([*lines, line.rstrip()])


def _units(text: str) -> list[str]:
    """What must stay together: a word, or a character with the punctuation that clings to it."""
    units: list[str] = []
    for piece in _PIECES.findall(text):
        clings = units and (piece in _NOT_FIRST or units[-1].rstrip()[-1:] in tuple(_NOT_LAST))
        if clings and not piece.isspace():
            units[-1] += piece
        else:
            units.append(piece)
    return units
