"""The one who writes: knows the language, the results, and remembers every basis that was named."""

import re
from collections.abc import Mapping

from markupsafe import Markup, escape

from whygpu.engine.basis import Basis
from whygpu.measure.article import article
from whygpu.report.foreign import printable
from whygpu.report.view import Tag, Value
from whygpu.story import numbers
from whygpu.story.exhibits import Numbers
from whygpu.story.results import Results
from whygpu.story.text import Texts

__all__ = ["Book"]

BEFORE_PUNCTUATION = re.compile(r"(<button [^>]*>[^<]*</button>)([.,;:)%。，；：、）])")
"""A button is a box of its own to a browser, which would break the line between it and a full stop."""


class Book:
    """Results, pictures and language of one page."""

    def __init__(
        self,
        results: Results,
        t: Texts,
        pictures: Mapping[str, str],
        exhibits: Mapping[str, Numbers] | None = None,
    ) -> None:
        self.results = results
        self.t = t
        self.pictures = pictures
        """Data URIs by file name."""
        self.exhibits = exhibits or {}
        """What each exhibit shows, by name."""
        self.article = article()
        """The figures that the article prints, by experiment."""
        self.tags: dict[tuple[Basis, str], Tag] = {}

    def tag(self, basis: Basis, how: str, *, foreign: bool = False) -> Tag:
        """The basis of a number and a sentence on how it came about; ``foreign``: an English source."""
        name = self.t(f"report.basis.{basis.name.lower()}")
        return self.tags.setdefault((basis, how), Tag(len(self.tags) + 1, basis, name, how, foreign))

    def source(self, basis: str, source: str) -> Tag:
        """The same by the basis's own words, as JSON has them."""
        return self.tag(next(kind for kind in Basis if str(kind) == basis), source, foreign=True)

    def figure(self, exhibit: str, key: str) -> Value | None:
        """A figure of an exhibit; None where that was not shown."""
        found = self.exhibits.get(exhibit)
        if found is None or key not in found.figures:
            return None
        number = found.figures[key]
        text = self.times(number.value) if number.unit == "x" else str(number)
        return Value(text, self.tag(number.basis, number.source, foreign=True))

    def measured(self, key: str, /, **values: object) -> Tag:
        """Measured on this machine, as the sentence of that key says."""
        return self.tag(Basis.MEASURED, self.t(key, **values))

    def derived(self, key: str, /, **values: object) -> Tag:
        """Worked out from other numbers, as the sentence of that key says."""
        return self.tag(Basis.DERIVED, self.t(key, **values))

    def published(self, key: str, /, **values: object) -> Tag:
        """Published by somebody else."""
        return self.tag(Basis.PUBLISHED, self.t(key, **values))

    def times(self, value: float) -> str:
        """How many times as much: ``12,300×``, as the page's language writes it."""
        return self.t("report.times", n=numbers.significant(value))

    def say(self, key: str, /, **values: object) -> Markup:
        """A sentence of the catalogue as HTML: text is escaped, a ``Value`` becomes its button."""
        words = {name: printable(value) if type(value) is str else value for name, value in values.items()}
        sentence = str(Markup(escape(self.t.catalogue[key])).format(**words))
        return Markup(BEFORE_PUNCTUATION.sub(r'<span class="keep">\1\2</span>', sentence))
