"""The report: everything that the main job found out, as one HTML file that opens offline."""

from whygpu.report.page import html
from whygpu.report.write import write

__all__ = ["html", "write"]
