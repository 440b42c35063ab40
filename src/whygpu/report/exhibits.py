"""The exhibits in the page: each with its frames, and its numbers as a table."""

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from whygpu.report.book import Book
from whygpu.report.tables import TABLES
from whygpu.report.view import Exhibit
from whygpu.story import exhibits
from whygpu.story.exhibits.page import fragment

__all__ = ["shown"]

THIN = {"cube": 3, "chain": 3, "sphere": 3, "pipeline": 3, "parallel": 4, "mlp": 3, "attention": 3}
"""Of how many frames one is kept, so that the page stays below 8 MB; 2 of all others."""

Tables = Callable[[Book, dict[str, Any]], Any]


def shown(book: Book, *names: str) -> tuple[Exhibit, ...]:
    """Those of the exhibits that this run found the numbers of."""
    result = []
    for name in names:
        found = book.exhibits.get(name)
        if found is None:
            continue
        html = fragment(exhibits.load(name), found, book.t.language, thin=THIN.get(name, 2), data_too=False)
        table = TABLES[name](book, found) if name in TABLES else None
        result.append(Exhibit(Markup(html), table))
    return tuple(result)
