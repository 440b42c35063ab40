"""The exhibits' colours: drawing is orange, thinking is blue, told apart by every colour-blind eye.

The first roles are the report's own (``report/palette.py``; a test holds them equal). ``third`` and
``fourth`` are the bluish green and the reddish purple of Okabe and Ito (2008), fitted to the paper.

A colour is a role (``"draw"``), a mixture of two (``mix("draw", "paper", 0.3)``) or ``"#rrggbb"``. Pictures
resolve it by a theme; HTML leaves that to the reader's screen, by CSS variables and ``color-mix``.
"""

import functools

__all__ = ["THEMES", "css", "heat", "mix", "rgb"]

LIGHT = {
    "paper": "#fcfcfa",
    "panel": "#f2f2ee",
    "ink": "#191a1f",
    "soft": "#5b5e68",
    "line": "#d8d8d2",
    "draw": "#b84e00",
    "think": "#1e5bb8",
    "rest": "#a3a49f",
    "here": "#2b2d36",
    "third": "#00745a",
    "fourth": "#95407c",
}

DARK = {
    "paper": "#121318",
    "panel": "#1b1d24",
    "ink": "#ebecf0",
    "soft": "#a2a6b2",
    "line": "#33363f",
    "draw": "#f39a4b",
    "think": "#7fb2ff",
    "rest": "#6f727d",
    "here": "#d6d8e0",
    "third": "#3cc9a0",
    "fourth": "#e39bd0",
}

THEMES = {"light": LIGHT, "dark": DARK}


def mix(color: str, other: str, share: float) -> str:
    """``share`` (0 to 1) of the first colour, the rest of the second; both roles or hexadecimal."""
    percent = round(100 * min(1.0, max(0.0, share)))
    return other if percent == 0 else color if percent == 100 else f"{color}*{percent}*{other}"


def heat(value: float, low: str = "draw", high: str = "think", none: str = "panel") -> str:
    """A value from -1 to 1 as a colour: orange below zero, blue above, the panel's own at zero."""
    return mix(high if value >= 0 else low, none, abs(value))


@functools.lru_cache(4096)
def rgb(color: str, theme: str) -> tuple[int, int, int]:
    """The colour as three bytes."""
    if "*" in color:
        first, percent, rest = color.split("*", 2)
        share = int(percent) / 100
        pairs = zip(rgb(first, theme), rgb(rest, theme), strict=True)
        red, green, blue = (round(a * share + b * (1 - share)) for a, b in pairs)
        return red, green, blue
    text = color if color.startswith("#") else THEMES[theme][color]
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


@functools.lru_cache(4096)
def css(color: str) -> str:
    """The colour as CSS; roles are the variables ``--x-ROLE``."""
    if "*" in color:
        first, percent, rest = color.split("*", 2)
        return f"color-mix(in srgb,{css(first)} {percent}%,{css(rest)})"
    return color if color.startswith("#") else f"var(--x-{color})"
