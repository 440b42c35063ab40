"""The next word's candidates, step by step: what the model thought likely and what was said."""

from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from whygpu.story.numbers import percent
from whygpu.story.text import Texts

__all__ = ["step_lines", "visible"]

WORD, BAR, BEFORE = 18, 44, 72
"""Columns of a candidate's text, of the longest bar, of the text so far."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
_MARKS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍"}


def step_lines(texts: Texts, number: int, token: Any, before: str, *, drawn: bool) -> Text:
    """One step: the text so far, then a bar a candidate, ``▸`` before the one that was said.

    ``drawn`` adds the chance of being drawn (after penalty, temperature and filters), as it differs from the
    model's probability.
    """
    if number == 1:
        lines = Text(texts("candidates.legend.drawn" if drawn else "candidates.legend") + "\n", style="dim")
    else:
        lines = Text()
    lines.append(f"{number:>4}  ", style="bold")
    lines.append(_tail(before, BEFORE), style="dim")
    odds = [(c.text, c.probability, c.chance, c.id == token.id) for c in token.candidates]
    if not any(said for *_, said in odds):
        odds.append((token.text, token.probability, None, True))
    for text, probability, chance, said in odds:
        style = "bold green" if said else ""
        lines.append("\n    ")
        lines.append("▸ " if said else "  ", style=style)
        lines.append(_fixed(visible(text), WORD), style=style)
        lines.append(" " + _bar(probability), style="green" if said else "cyan")
        lines.append(f"{percent(probability):>9}", style=style)
        if drawn and chance is not None:
            lines.append(f"  → {percent(chance) if chance else '–':>7}", style=style or "dim")
    return lines


def visible(text: str) -> str:
    """Text on one line in which spaces, line breaks and control characters can be seen."""
    marked = "".join(_MARKS.get(c, c if c.isprintable() else f"\\x{ord(c):02x}") for c in text)
    return marked or "∅"


def _tail(text: str, width: int) -> str:
    """The end of ``text`` on one line of at most ``width`` columns."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[-4 * width :]).split())
    if cell_len(line) <= width and len(text) <= 4 * width:
        return line
    while cell_len(line) > width - 2:
        line = line[1:]
    return f"… {line}"


def _fixed(text: str, width: int) -> str:
    """Exactly ``width`` columns, cut with an ellipsis."""
    return set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def _bar(share: float) -> str:
    eighths = round(share * BAR * 8)
    full = "█" * (eighths // 8)
    return (full + _EIGHTHS[eighths % 8]).ljust(BAR + 1)
