"""The roofline (Williams, Waterman and Patterson 2009): FLOP/byte against FLOP/s, both logarithmic."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from whygpu.report.figures.common import figure, log_axis
from whygpu.report.palette import LIGHT

__all__ = ["Point", "Roof", "roofline"]

DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True, slots=True)
class Roof:
    """Arithmetic of one number format: FLOP/s, under the machine's read bandwidth."""

    name: str
    flops: float


@dataclass(frozen=True, slots=True)
class Point:
    """One kind of work: its number in the table beside the chart, FLOP/byte and FLOP/s."""

    label: str
    name: str
    group: str
    """``draw``, ``think`` or ``here`` (the experiments)."""
    intensity: float
    flops: float
    text: str
    """What it says when pointed at."""


SYMBOLS = {"here": "square", "draw": "diamond", "think": "circle"}


def roofline(
    roofs: Sequence[Roof],
    bandwidth: float,
    slope_name: str,
    points: Sequence[Point],
    groups: dict[str, str],
    titles: tuple[str, str],
) -> dict[str, Any]:
    """Roofs as lines and work as numbered points; ``groups`` names each group, ``titles`` both axes."""
    import plotly.graph_objects as go

    xs = [roof.flops / bandwidth for roof in roofs] + [point.intensity for point in points]
    ys = [roof.flops for roof in roofs] + [point.flops for point in points]
    left, right = min(xs) / 4, max(xs) * 6
    bottom, top = min(ys) / 4, max(ys) * 3
    traces: list[Any] = []
    for place, roof in enumerate(sorted(roofs, key=lambda roof: -roof.flops)):
        ridge = roof.flops / bandwidth
        # the slope belongs to the highest roof; a lower one branches off it
        x = [left, ridge, right] if place == 0 else [ridge, right]
        y = [left * bandwidth, roof.flops, roof.flops] if place == 0 else [roof.flops, roof.flops]
        traces.append(
            go.Scatter(
                x=x, y=y, mode="lines", name=roof.name, hoverinfo="skip", showlegend=False,
                line={"color": LIGHT["here"], "width": 2, "dash": DASHES[place % len(DASHES)]},
            )
        )  # fmt: skip
    for group, name in groups.items():
        chosen = [point for point in points if point.group == group]
        if chosen:
            traces.append(_points(name, group, chosen))
    return figure(
        traces,
        xaxis=log_axis(left, right, "", titles[0]),
        yaxis=log_axis(bottom, top, "FLOP/s", titles[1]),
        annotations=_names(roofs, bandwidth, slope_name, left, right, points),
        hovermode="closest",
    )


def _names(
    roofs: Sequence[Roof],
    bandwidth: float,
    slope_name: str,
    left: float,
    right: float,
    points: Sequence[Point],
) -> list[dict[str, Any]]:
    """The names of the roofs and, last, of the slope, where work seldom stands."""
    highest = max(roof.flops for roof in roofs)
    notes = [
        _note(
            _free(roof.flops, 1.3 * roof.flops / bandwidth, right, points),
            roof.flops,
            roof.name,
            "left",
            "bottom" if roof.flops == highest else "top",
        )
        for roof in roofs
    ]
    # Nothing stands above the slope, so its name does; it touches the line a quarter of the way down.
    touch = highest / bandwidth * (left * bandwidth / highest) ** 0.25
    return [*notes, _note(touch, touch * bandwidth, slope_name, "right", "bottom")]


def _free(flops: float, left: float, right: float, points: Sequence[Point]) -> float:
    """Where along a roof a name has the most room from all points; it takes about a decade and a half."""
    wide = 1.5

    def room(start: float) -> float:
        return min(
            (
                math.hypot(
                    max(start - math.log10(p.intensity), 0.0, math.log10(p.intensity) - start - wide),
                    math.log10(p.flops / flops),
                )
                for p in points
            ),
            default=0.0,
        )

    first, last = math.log10(left), max(math.log10(right) - wide, math.log10(left))
    starts = [first + (last - first) * step / 20 for step in range(21)]
    return float(10.0 ** max(starts, key=room))


def _points(name: str, group: str, points: Sequence[Point]) -> Any:
    import plotly.graph_objects as go

    return go.Scatter(
        name=name,
        mode="markers+text",
        x=[point.intensity for point in points],
        y=[point.flops for point in points],
        text=[point.label for point in points],
        textfont={"color": LIGHT["paper"], "size": 11},
        customdata=[point.text for point in points],
        hovertemplate="%{customdata}<extra></extra>",
        marker={
            "size": 20,
            "symbol": SYMBOLS[group],
            "color": LIGHT[group],
            "line": {"color": LIGHT["paper"], "width": 1},
        },
    )


def _note(x: float, y: float, text: str, anchor: str, edge: str) -> dict[str, Any]:
    return {
        "x": math.log10(x),
        "y": math.log10(y),
        "text": text,
        "showarrow": False,
        "xanchor": anchor,
        "yanchor": edge,
        "font": {"size": 12, "color": LIGHT["soft"]},
        "borderpad": 3,
    }
