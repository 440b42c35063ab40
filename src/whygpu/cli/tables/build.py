"""The one look that all tables share."""

from rich import box
from rich.table import Table

__all__ = ["new_table"]


def new_table(title: str, *headings: str, note: str = "", text_columns: int = 1) -> Table:
    """A table whose first ``text_columns`` columns are text and whose others are right-aligned numbers."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption=note or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < text_columns else "right", overflow="fold")
    return table
