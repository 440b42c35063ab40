"""Words that others chose: model output, names of models, scenes and machines.

Escaping keeps them from being HTML; this keeps them from being layout.
"""

import html
import unicodedata

__all__ = ["plain", "printable"]

DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that would turn the page's own text round (Unicode Standard Annex 9)."""


def printable(text: str) -> str:
    """The text without control characters (but line breaks and tabs), surrogates, direction overrides."""
    return "".join(
        character
        for character in text
        if character in "\n\t"
        or (character not in DIRECTIONS and unicodedata.category(character) not in ("Cc", "Cs"))
    )


def plain(text: str) -> str:
    """The same for a chart: Plotly reads a little HTML (bold, links), so it is escaped."""
    return html.escape(printable(text), quote=False)
