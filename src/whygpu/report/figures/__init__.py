"""The charts, built in Python with Plotly (scatter and bar traces only) and drawn in the page."""

from whygpu.report.figures.bars import grouped_times, shares
from whygpu.report.figures.roofline import Point, Roof, roofline

__all__ = ["Point", "Roof", "grouped_times", "roofline", "shares"]
