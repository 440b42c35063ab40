"""Bars: shares of a whole, and times side by side on a logarithmic axis."""

from collections.abc import Mapping, Sequence
from typing import Any

from whygpu.report.figures.common import LEGEND, axis, figure, log_axis
from whygpu.report.palette import LIGHT

__all__ = ["grouped_times", "shares"]

SYMBOLS = ("circle", "diamond", "square", "triangle-up")


def shares(
    rows: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    colours: Mapping[str, tuple[str | Sequence[str], str]],
    hover: Mapping[str, Sequence[str]],
    *,
    legend: bool = True,
) -> dict[str, Any]:
    """Horizontal bars of full length, one a row, divided into ``parts`` (0 to 1 each, by name).

    ``colours`` gives each part its fill (or one a row) and its text's colour, ``hover`` what it says when
    pointed at.
    """
    import plotly.graph_objects as go

    traces = [
        go.Bar(
            name=name,
            orientation="h",
            y=list(rows),
            x=list(values),
            customdata=list(hover[name]),
            hovertemplate="%{customdata}<extra></extra>",
            text=[f"{value:.0%}" for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            marker={
                "color": colours[name][0] if isinstance(colours[name][0], str) else list(colours[name][0]),
                "line": {"color": LIGHT["paper"], "width": 1.5},
            },
            textfont={"color": colours[name][1]},
        )
        for name, values in parts.items()
    ]
    return figure(
        traces,
        barmode="stack",
        showlegend=legend,
        uniformtext={"mode": "hide", "minsize": 11},  # a share that has no room is in the table
        bargap=0.36,
        margin={"l": 60, "r": 28, "t": 12, "b": 36},
        xaxis=axis(range=[0, 1], tickformat=".0%", showgrid=False, tickvals=[0, 0.25, 0.5, 0.75, 1]),
        yaxis=axis(
            autorange="reversed",
            showgrid=False,
            tickfont={"color": LIGHT["ink"], "size": 13},
            ticklen=6,
            tickcolor="rgba(0,0,0,0)",
        ),
        legend={**LEGEND, "traceorder": "normal"},
    )


def _band(
    values: Sequence[float | None], bands: Sequence[tuple[float, float] | None] | None, colour: str
) -> dict[str, Any] | None:
    """Whiskers from low to high; None where there are none."""
    if bands is None:
        return None
    pairs = list(zip(values, bands, strict=True))
    return {
        "type": "data",
        "symmetric": False,
        "array": [b[1] - v if v and b else 0.0 for v, b in pairs],
        "arrayminus": [v - b[0] if v and b else 0.0 for v, b in pairs],
        "color": colour,
        "thickness": 1.2,
        "width": 3,
    }


def grouped_times(
    rows: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    colours: Mapping[str, str],
    texts: Mapping[str, Sequence[str]],
    *,
    title: str,
    hollow: Sequence[str] = (),
    outlines: Mapping[str, Sequence[bool]] | None = None,
    bands: Mapping[str, Sequence[tuple[float, float] | None]] | None = None,
) -> dict[str, Any]:
    """Times (seconds) side by side, on a logarithmic axis: a row of dots for each of ``rows``.

    A bar on a logarithmic axis has no honest length, so each value is a dot. ``hollow`` names the series
    drawn as outlines (figures not measured here), ``outlines`` single dots of a series. Symbols differ as
    well as colours.
    """
    import plotly.graph_objects as go

    known = [value for values in series.values() for value in values if value]
    low, high = min(known) / 2, max(known) * 2
    traces = []
    for place, (name, values) in enumerate(series.items()):
        open_ones = [name in hollow or each for each in (outlines or {}).get(name, [False] * len(rows))]
        symbol = SYMBOLS[place % len(SYMBOLS)]
        marker = {
            "size": 11,
            "symbol": [f"{symbol}-open" if hollow_one else symbol for hollow_one in open_ones],
            "color": colours[name],
            "line": {"width": 2, "color": colours[name]},
        }
        traces.append(
            go.Scatter(
                name=name,
                mode="markers",
                x=list(values),
                y=list(rows),
                customdata=list(texts[name]),
                hovertemplate="%{customdata}<extra></extra>",
                marker=marker,
                error_x=_band(values, (bands or {}).get(name), colours[name]),
            )
        )
    return figure(
        traces,
        xaxis=log_axis(low, high, "s", title),
        yaxis=_names_axis(rows),
        hovermode="closest",
    )


def _names_axis(rows: Sequence[str]) -> dict[str, Any]:
    """Names from top to bottom, each with its line."""
    return axis(
        type="category",
        categoryorder="array",
        categoryarray=list(reversed(rows)),
        tickfont={"color": LIGHT["ink"], "size": 13},
    )
