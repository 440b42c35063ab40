"""What a page is made of: numbers with their basis, tables, charts. The templates give them form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from whygpu.engine.basis import Basis
from whygpu.report.foreign import printable

__all__ = ["Cell", "Chapter", "Chart", "Column", "Exhibit", "Guess", "Headline", "Table", "Tag", "Value"]


@dataclass(frozen=True, slots=True)
class Tag:
    """The basis of a number: which kind, its name in the page's language, and how the number came about."""

    number: int
    """Place in the page's list of bases."""
    basis: Basis
    name: str
    how: str
    foreign: bool = False
    """Whether ``how`` is an English source on a page of any language."""

    @property
    def kind(self) -> str:
        """``measured``, ``datasheet`` ...: the CSS class."""
        return self.basis.name.lower()

    @property
    def id(self) -> str:
        """The id of the explanation in the page."""
        return f"basis-{self.number}"


@dataclass(frozen=True, slots=True)
class Value:
    """A number in running text: a button that opens its basis, so that keyboard and thumb reach it too."""

    text: str
    tag: Tag

    def __html__(self) -> str:
        """Escaped, for templates and ``Markup.format``."""
        return Markup(
            '<button type="button" class="number" popovertarget="{id}"'
            ' data-kind="{kind}" data-n="{n}">{text}</button>'
        ).format(id=self.tag.id, kind=self.tag.kind, n=self.tag.number, text=printable(self.text))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; its tag is the basis of every number in it, unless a cell has its own."""

    title: str
    tag: Tag | None = None
    numeric: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell."""

    text: str
    tag: Tag | None = None
    note: str = ""
    """A second, quieter line."""
    share: float | None = None
    """0 to 1: drawn as a small bar behind the number."""
    mark: str = ""
    """A CSS class: ``draw``, ``think``, ``rest``, ``good``, ``bad``."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The first cell of a row is its heading."""

    caption: str
    columns: list[Column]
    rows: list[list[Cell]]
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A Plotly figure, what a screen reader says in its place, and a line below it."""

    name: str
    figure: Mapping[str, Any]
    label: str
    caption: str
    height: int = 420
    narrow: Mapping[str, Any] = field(default_factory=dict)
    """Layout attributes (dotted) that change below 600 pixels."""
    narrow_height: int = 0
    """Pixels there; 0: as on a wide screen."""


@dataclass(frozen=True, slots=True)
class Headline:
    """One figure in large type."""

    value: Value
    label: str
    detail: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Guess:
    """A question that is answered when the reader has guessed."""

    name: str
    question: Markup
    choices: list[tuple[str, bool]]
    """Text, and whether it is the nearest to the truth."""
    answer: Markup


@dataclass(frozen=True, slots=True)
class Exhibit:
    """An exhibit and its numbers as a table."""

    html: Markup
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter: its name (template, texts and anchor), its charts, and what its template shows."""

    name: str
    parts: Mapping[str, Any]
    charts: tuple[Chart, ...] = ()
    guess: Guess | None = None
    exhibits: tuple[Exhibit, ...] = ()
