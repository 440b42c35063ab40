"""Two workloads, two colours that every colour-blind eye can tell apart: drawing is orange, thinking is blue.

Figures are built in the light colours; the page's script swaps each for its dark twin when the reader's
screen is dark. The same values stand in ``templates/base.css``; a test holds them equal.
"""

__all__ = ["DARK", "LIGHT"]

LIGHT = {
    "paper": "#fcfcfa",
    "panel": "#f2f2ee",
    "ink": "#191a1f",
    "soft": "#5b5e68",
    "line": "#d8d8d2",
    "draw": "#b84e00",
    "draw2": "#e08a45",
    "draw3": "#efba8c",
    "draw4": "#f7dcc3",
    "think": "#1e5bb8",
    "rest": "#a3a49f",
    "here": "#2b2d36",
}

DARK = {
    "paper": "#121318",
    "panel": "#1b1d24",
    "ink": "#ebecf0",
    "soft": "#a2a6b2",
    "line": "#33363f",
    "draw": "#f39a4b",
    "draw2": "#92500f",
    "draw3": "#5c3415",
    "draw4": "#3b2512",
    "think": "#7fb2ff",
    "rest": "#6f727d",
    "here": "#d6d8e0",
}
