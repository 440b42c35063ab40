"""What all charts share: no ornaments, colours of the palette, one way to write a log axis."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from whygpu.report.palette import LIGHT

__all__ = ["LEGEND", "axis", "figure", "log_axis"]

LEGEND = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
"""Above the chart, from its left edge."""

PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}


def figure(traces: Sequence[Any], **layout: Any) -> dict[str, Any]:
    """A checked Plotly figure as plain values (``data`` and ``layout``)."""
    import plotly.graph_objects as go

    base = {
        "template": go.layout.Template(),
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": LIGHT["ink"], "size": 13},
        "margin": {"l": 60, "r": 16, "t": 12, "b": 52},
        "hoverlabel": {
            "bgcolor": LIGHT["panel"],
            "bordercolor": LIGHT["line"],
            "font": {"color": LIGHT["ink"]},
        },
        "dragmode": False,
        "legend": LEGEND,
    }
    built = go.Figure(data=list(traces), layout={**base, **layout})
    return {
        "data": [_plain(trace.to_plotly_json()) for trace in built.data],
        "layout": _plain(built.layout.to_plotly_json()),
    }


def axis(**more: Any) -> dict[str, Any]:
    """A quiet axis that a finger cannot drag."""
    return {
        "gridcolor": LIGHT["line"],
        "linecolor": LIGHT["soft"],
        "tickcolor": LIGHT["line"],
        "tickfont": {"color": LIGHT["soft"], "size": 12},
        "zeroline": False,
        "fixedrange": True,
        "automargin": True,
        **more,
    }


def log_axis(low: float, high: float, unit: str, title: str, **more: Any) -> dict[str, Any]:
    """A logarithmic axis over [low, high] with a tick at each power of ten, written with SI prefixes."""
    ticks = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    return axis(
        type="log",
        range=[math.log10(low), math.log10(high)],
        tickvals=ticks,
        ticktext=[_tick(tick, unit) for tick in ticks],
        title={"text": title, "font": {"size": 13, "color": LIGHT["soft"]}, "standoff": 14},
        **more,
    )


def _tick(value: float, unit: str) -> str:
    power = round(math.log10(value))
    if not unit:
        return f"{value:,g}"
    step = min(max(3 * math.floor(power / 3), min(PREFIXES)), max(PREFIXES))
    return f"{value / 10.0**step:g} {PREFIXES[step]}{unit}"


def _plain(value: Any) -> Any:
    """Dictionaries, lists, strings and numbers only."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
